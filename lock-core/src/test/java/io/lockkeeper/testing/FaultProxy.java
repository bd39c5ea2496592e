/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A TCP proxy in front of a Redis server that understands requests and replies, and does to chosen requests what an
 * unlucky network does. Without a fault everything passes.
 *
 * <pre>{@code
 * Fault fault = proxy.when(RedisRequest.command("EVALSHA").and(RedisRequest.containing("orders"))).once().cutReply();
 * ...
 * fault.awaitCompleted(1, Duration.ofSeconds(5)); // Redis has run it, the client has lost its connection
 * }</pre>
 *
 * <p>Of several faults that match a request the oldest takes it. A connection keeps its order as TCP does: what comes
 * after a delayed or held request on the same connection waits, too. Replies to SUBSCRIBE and its kin belong to no
 * request, so only faults on the way to Redis work on these.
 */
public final class FaultProxy implements AutoCloseable {

    private volatile InetSocketAddress upstream;
    private final ServerSocket listener;
    private final List<Fault> faults = new CopyOnWriteArrayList<>();
    private final Set<ProxiedConnection> connections = ConcurrentHashMap.newKeySet();
    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile boolean losingMessages;

    private FaultProxy(InetSocketAddress upstream) {
        this.upstream = upstream;
        try {
            listener = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts a proxy in front of a server, which may be restarted meanwhile. */
    public static FaultProxy inFrontOf(RedisServer server) {
        return inFrontOf(server.host(), server.port());
    }

    /** Starts a proxy in front of whatever speaks RESP at an address. */
    public static FaultProxy inFrontOf(String host, int port) {
        FaultProxy proxy = new FaultProxy(new InetSocketAddress(host, port));
        SocketWork.fork("fault-proxy-accept", proxy::accept);
        return proxy;
    }

    /** The address on which the proxy listens, the loopback. */
    public String host() {
        return listener.getInetAddress().getHostAddress();
    }

    /** The port that clients connect to instead of the server's. */
    public int port() {
        return listener.getLocalPort();
    }

    /** Begins a fault for the requests that match, until it is cleared. */
    public Rule when(Predicate<RedisRequest> matches) {
        return new Rule(matches, Integer.MAX_VALUE);
    }

    /** Ends all faults. Requests held already stay held until delivered. */
    public void clear() {
        faults.forEach(Fault::clear);
        // Long runs have many; those that hold requests are needed for the end
        faults.removeIf(fault -> fault.kind() != Fault.Kind.HOLD);
        losingMessages = false;
    }

    /** Leads new connections to another server; those that are there stay where they are. */
    public void moveTo(RedisServer server) {
        upstream = new InetSocketAddress(server.host(), server.port());
    }

    /** Whether messages of subscriptions are lost on their way to the client. */
    public void loseMessages(boolean lose) {
        losingMessages = lose;
    }

    /** Closes all connections of clients. What Redis was sent or is still to be sent, held requests included, stays. */
    public void disconnectClients() {
        connections.forEach(ProxiedConnection::closeClient);
    }

    /** Closes all connections and drops what is held or delayed. */
    @Override
    public void close() {
        closed.countDown();
        SocketWork.closeQuietly(listener);
        faults.forEach(Fault::abandon);
        connections.forEach(ProxiedConnection::close);
    }

    /** Which requests a fault takes; its last method says what happens to them, and switches it on. */
    public final class Rule {

        private final Predicate<RedisRequest> matches;
        private final int times;

        private Rule(Predicate<RedisRequest> matches, int times) {
            this.matches = matches;
            this.times = times;
        }

        /** Only the next matching request. */
        public Rule once() {
            return times(1);
        }

        /** Only the next so many matching requests. */
        public Rule times(int count) {
            return new Rule(matches, count);
        }

        /** Redis runs the command; instead of the reply the client sees its connection closed. */
        public Fault cutReply() {
            return add(Fault.Kind.CUT_REPLY, Duration.ZERO);
        }

        /** The request reaches Redis later, also if its client has gone by then. */
        public Fault delayRequest(Duration delay) {
            return add(Fault.Kind.DELAY_REQUEST, delay);
        }

        /** Redis runs the command at once; the reply comes later. */
        public Fault delayReply(Duration delay) {
            return add(Fault.Kind.DELAY_REPLY, delay);
        }

        /** The request and all that its connection sends after it never reach Redis; the connection stays open. */
        public Fault swallow() {
            return add(Fault.Kind.SWALLOW, Duration.ZERO);
        }

        /** Redis gets the request, and at the same time a copy on another connection, whose reply nobody sees. */
        public Fault duplicate() {
            return duplicateAfter(Duration.ZERO);
        }

        /** Redis gets the request, and later a copy on another connection, whose reply nobody sees. */
        public Fault duplicateAfter(Duration delay) {
            return add(Fault.Kind.DUPLICATE, delay);
        }

        /** The request waits for {@link Fault#deliver()} and reaches Redis then, also if its client has gone. */
        public Fault hold() {
            return add(Fault.Kind.HOLD, Duration.ZERO);
        }

        private Fault add(Fault.Kind kind, Duration delay) {
            Fault fault = new Fault(matches, times, kind, delay);
            faults.add(fault);
            return fault;
        }
    }

    Fault.@Nullable Hit take(RedisRequest request) {
        for (Fault fault : faults) {
            Fault.Hit hit = fault.take(request);
            if (hit != null) {
                return hit;
            }
        }
        return null;
    }

    /** False: the proxy was closed meanwhile. */
    boolean delay(Duration delay) throws InterruptedException {
        return !closed.await(delay.toNanos(), TimeUnit.NANOSECONDS);
    }

    boolean losesMessages() {
        return losingMessages;
    }

    void sendCopy(byte[] request, Fault fault) {
        SocketWork.fork("fault-proxy-copy", () -> {
            if (!delay(fault.delay())) {
                return;
            }
            try (Socket socket = connectUpstream()) {
                socket.getOutputStream().write(request);
                if (new RespReader(socket.getInputStream()).read() != null) {
                    fault.complete();
                }
            }
        });
    }

    void forget(ProxiedConnection connection) {
        connections.remove(connection);
    }

    private void accept() throws IOException {
        while (closed.getCount() > 0) {
            Socket client = listener.accept();
            try {
                ProxiedConnection connection = new ProxiedConnection(this, client, connectUpstream());
                connections.add(connection);
                connection.start();
            } catch (IOException e) {
                SocketWork.closeQuietly(client);
            }
        }
    }

    private Socket connectUpstream() throws IOException {
        Socket socket = new Socket();
        try {
            socket.connect(upstream, 5_000);
            socket.setTcpNoDelay(true);
            return socket;
        } catch (IOException e) {
            SocketWork.closeQuietly(socket);
            throw e;
        }
    }
}
