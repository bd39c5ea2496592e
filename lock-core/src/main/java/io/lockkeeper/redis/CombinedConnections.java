/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.CallerThread;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;

/**
 * A few connections to a server for all threads: while the replies to one batch are on their way, others are written. A
 * caller takes a connection that is free; where none is, it joins the callers of one of them. The first connection serves
 * alone until somebody finds it taken, and nobody waits for a further one to be made.
 */
final class CombinedConnections implements ConnectionOwner {

    /** More of them make smaller batches, and each batch costs the server a system call to read and one to write. */
    private static final int CONNECTIONS = 3;

    private static final long OPEN_AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final List<CombinedConnection> connections;

    /** Whether the server to which the last one leads has said which one it is. */
    private volatile boolean serversAreKnown;

    private final LongSupplier nanoTime;
    private final AtomicLong openedLast;

    /**
     * Creates connections that are made when they are needed.
     *
     * @param limit within which every command is answered, or fails
     * @param connect makes a connection
     * @param timer looks after commands that are under way
     * @param answers completes what nobody waits for on a thread of its own
     * @param nanoTime the local clock
     */
    CombinedConnections(
            Duration limit,
            Supplier<JedisLink> connect,
            ScheduledExecutorService timer,
            Executor answers,
            LongSupplier nanoTime) {
        this.connections = IntStream.range(0, CONNECTIONS)
                .mapToObj(number ->
                        new CombinedConnection("lockkeeper-redis-" + number, limit, connect, timer, answers, this))
                .toList();
        this.nanoTime = nanoTime;
        this.openedLast = new AtomicLong(nanoTime.getAsLong() - OPEN_AGAIN_NANOS);
    }

    /** Sends a command; where the {@linkplain CallerThread caller waits}, the answer is there when this returns. */
    CompletableFuture<@Nullable Object> call(Request request) {
        return choose().call(request);
    }

    /**
     * A name may lead elsewhere than it did when the others were made, and two servers, each of them a master as far as it
     * knows, would have a holder each: the last word counts for all. Where a server does not say which one it is, there is
     * one connection only.
     */
    @Override
    public void connected(CombinedConnection connection, JedisLink link) {
        String server = link.askServer();
        serversAreKnown = server != null;
        if (server != null) {
            connections.stream()
                    .filter(other -> other != connection)
                    .forEach(other -> other.cutIf(open -> open.leadsElsewhere(server)));
        }
    }

    /** Keeps those that are open from being idle for so long that something on the way forgets them. */
    void keepAlive() {
        connections.stream().filter(CombinedConnection::isOpen).forEach(CombinedConnections::use);
    }

    private CombinedConnection choose() {
        int start = (int) (Thread.currentThread().getId() % CONNECTIONS);
        CombinedConnection taken = null;
        CombinedConnection closed = null;
        for (int i = 0; i < CONNECTIONS; i++) {
            // The first one that is free, but not all callers wait for the same one.
            CombinedConnection connection = connections.get(i);
            if (!connection.isOpen()) {
                closed = closed == null ? connection : closed;
            } else if (connection.isFree()) {
                return connection;
            } else if (taken == null || taken.isSlow() || (i == start && !connection.isSlow())) {
                taken = connection;
            }
        }
        if (taken == null) {
            return connections.get(0);
        }
        if (closed != null && serversAreKnown && taken.isBusy()) {
            openSoon(closed);
        }
        return taken;
    }

    /** A server may refuse further connections: that it is asked for one now and then must cost nobody anything. */
    private void openSoon(CombinedConnection closed) {
        long now = nanoTime.getAsLong();
        long last = openedLast.get();
        if (now - last >= OPEN_AGAIN_NANOS && openedLast.compareAndSet(last, now)) {
            use(closed);
        }
    }

    /** Gives it a command that does nothing, and that whoever may lock may give. */
    private static void use(CombinedConnection connection) {
        CallerThread.notWaiting(() -> connection.call(Request.of(Command.TIME)));
    }

    /** What one of them has found out holds for all. */
    @Override
    public void demoted() {
        connections.forEach(connection -> connection.cutIf(JedisLink::isReady));
    }

    /** Refuses further commands and cuts the connections. */
    void close() {
        connections.forEach(CombinedConnection::close);
    }
}
