package io.lockkeeper.testing;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A network between a client and a server that does what networks do: it sees whole requests and their replies, and a
 * rule decides what becomes of those that it matches. Every client connection has a server connection of its own.
 */
public final class FaultProxy implements AutoCloseable {

    /** What happens to a request that matches. */
    public enum Fault {
        /** It runs, but the connection is cut before the reply. */
        CUT_REPLY,
        /** It is kept back, the connection stays silent; it is delivered by {@link FaultProxy#deliver}. */
        HOLD,
        /** It runs and is answered, and is remembered; {@link FaultProxy#deliver} has it run again. */
        REMEMBER
    }

    private record Rule(Predicate<String> matches, Fault fault, Semaphore hits, Semaphore left) {}

    private final ServerSocket server;
    private final int upstreamPort;
    private final AtomicReference<@Nullable Rule> rule = new AtomicReference<>();
    private final List<byte[]> kept = new CopyOnWriteArrayList<>();
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "fault-proxy");
        thread.setDaemon(true);
        return thread;
    });

    /** Starts a proxy on a free port. */
    public FaultProxy(RedisServer upstream) {
        upstreamPort = upstream.port();
        try {
            server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        threads.execute(this::accept);
    }

    public int port() {
        return server.getLocalPort();
    }

    /**
     * Sets the rule for the next requests whose text matches.
     *
     * @param times how many requests
     * @param matches looks at the whole text of a request
     * @param fault what happens to it
     */
    public void next(int times, Predicate<String> matches, Fault fault) {
        rule.set(new Rule(matches, fault, new Semaphore(0), new Semaphore(times)));
    }

    /** Waits until the rule was applied so often. */
    public void awaitHits(int hits, Duration timeout) throws InterruptedException {
        Rule current = rule.get();
        if (current == null || !current.hits.tryAcquire(hits, timeout.toMillis(), TimeUnit.MILLISECONDS)) {
            throw new AssertionError("The fault was not met " + hits + " times within " + timeout);
        }
    }

    /** Runs all requests that were held or remembered, over a new connection, and forgets them. Returns the replies. */
    public List<String> deliver() {
        List<byte[]> requests = List.copyOf(kept);
        kept.clear();
        return requests.stream().map(this::run).toList();
    }

    private String run(byte[] request) {
        try (Socket upstream = new Socket(InetAddress.getLoopbackAddress(), upstreamPort)) {
            upstream.getOutputStream().write(request);
            byte[] reply = Resp.raw(new BufferedInputStream(upstream.getInputStream()));
            return reply == null ? "" : new String(reply, StandardCharsets.UTF_8);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    @Override
    public void close() {
        quietly(server);
        sockets.forEach(FaultProxy::quietly);
        threads.shutdownNow();
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket client = server.accept();
                Socket upstream = new Socket(InetAddress.getLoopbackAddress(), upstreamPort);
                sockets.add(client);
                sockets.add(upstream);
                Pair pair = new Pair(client, upstream);
                threads.execute(pair::requests);
                threads.execute(pair::replies);
            } catch (IOException closed) {
                return;
            }
        }
    }

    private static void quietly(AutoCloseable resource) {
        try {
            resource.close();
        } catch (Exception alreadyGone) {
            // Closing is all that matters here.
            return;
        }
    }

    private final class Pair {

        private final Socket client;
        private final Socket upstream;
        private volatile boolean cut;

        Pair(Socket client, Socket upstream) {
            this.client = client;
            this.upstream = upstream;
        }

        void requests() {
            try (BufferedInputStream in = new BufferedInputStream(client.getInputStream())) {
                byte[] request;
                while ((request = Resp.raw(in)) != null) {
                    forward(request);
                }
            } catch (IOException gone) {
                end();
            }
        }

        private void forward(byte[] request) throws IOException {
            Rule current = rule.get();
            String text = new String(request, StandardCharsets.UTF_8);
            if (current != null && current.matches.test(text) && current.left.tryAcquire()) {
                if (current.fault != Fault.CUT_REPLY) {
                    kept.add(request);
                }
                cut = current.fault == Fault.CUT_REPLY;
                if (current.fault != Fault.HOLD) {
                    upstream.getOutputStream().write(request);
                }
                current.hits.release();
            } else {
                upstream.getOutputStream().write(request);
            }
        }

        void replies() {
            try (BufferedInputStream in = new BufferedInputStream(upstream.getInputStream())) {
                byte[] reply;
                while ((reply = Resp.raw(in)) != null && !cut) {
                    client.getOutputStream().write(reply);
                }
            } catch (IOException gone) {
                cut = true;
            }
            end();
        }

        private void end() {
            quietly(client);
            quietly(upstream);
        }
    }
}
