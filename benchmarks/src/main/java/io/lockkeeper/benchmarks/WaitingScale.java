/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.testing.JavaProcess;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Waiters in one JVM, a hundred for each name, which this JVM holds: {@code --seconds} of the measurement. */
final class WaitingScale {

    static final int EACH_NAME = 100;

    private static final Duration HELD = Duration.ofHours(1);
    private static final long SETTLED_SECONDS = 3;

    private WaitingScale() {}

    static void measure(Settings settings, Table table) {
        int seconds = settings.number("--seconds", 15);
        table.begin(
                "waiting callers",
                "`acquireAsync` in one JVM over Jedis, " + EACH_NAME
                        + " for each name, all names held by another JVM. The" + " requests of " + seconds
                        + " s that begin when all wait.",
                "waiters",
                "heap bytes a waiter",
                "names",
                "threads",
                "asking for all, ms",
                "requests/s",
                "requests/s a name",
                "Redis CPU ms/s",
                "client CPU ms/s",
                "still waiting");
        for (int waiters : settings.numbers("--waiters", "1000,10000,100000")) {
            row(waiters, seconds, table);
        }
        table.plot();
    }

    private static void row(int waiters, int seconds, Table table) {
        int names = Math.max(1, waiters / EACH_NAME);
        try (RedisServer redis = RedisServer.start();
                JavaProcess worker =
                        WorkerLoop.start("1g", WaitingWorker.class, "" + redis.port(), "" + waiters, "" + names)) {
            RedisConnectionFactory connections = Connections.jedis(redis.port());
            try (LockTemplate holder = LockTemplate.builder(
                            new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                    .shutdownWait(Duration.ZERO)
                    .build()) {
                // A fixed lease: no renewals of the holder are counted.
                IntStream.range(0, names)
                        .forEach(name -> holder.acquire(
                                LockRequest.of(ManyLocks.name(name)).withLeaseTime(HELD)));
                WorkerLoop.awaitReady(worker);
                whileWaiting(redis, worker, waiters, seconds, table);
            } finally {
                Connections.close(connections);
            }
        }
    }

    private static void whileWaiting(RedisServer redis, JavaProcess worker, int waiters, int seconds, Table table) {
        int names = Math.max(1, waiters / EACH_NAME);
        WorkerLoop.ask(worker, "prepare");
        long heap = WorkerLoop.ask(worker, "heap");
        long asked = WorkerLoop.ask(worker, "ask");
        Renewals.pause(TimeUnit.SECONDS.toNanos(SETTLED_SECONDS));
        long fullHeap = WorkerLoop.ask(worker, "heap");
        ServerFigures before = ServerFigures.of(redis);
        long cpu = WorkerLoop.ask(worker, "cpu");
        Renewals.pause(TimeUnit.SECONDS.toNanos(seconds));
        ServerFigures server = ServerFigures.of(redis).since(before);
        long clientNanos = WorkerLoop.ask(worker, "cpu") - cpu;
        double requests = (double) server.scripts().calls() / seconds;
        table.row(
                String.format("%,d", waiters),
                true,
                (double) (fullHeap - heap) / waiters,
                names,
                WorkerLoop.ask(worker, "threads"),
                asked / 1e6,
                requests,
                requests / names,
                server.cpuNanos() / 1e6 / seconds,
                clientNanos / 1e6 / seconds,
                WorkerLoop.ask(worker, "waiting"));
    }
}
