/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.testing.JavaProcess;
import io.lockkeeper.testing.RedisServer;
import java.util.concurrent.TimeUnit;

/** Held locks: {@code --lease} in s. */
final class HeldScale {

    private static final long LEAST_MARGIN_MILLIS = 100;

    private HeldScale() {}

    static void measure(Settings settings, Table table) {
        long leaseMillis = TimeUnit.SECONDS.toMillis(settings.number("--lease", 10));
        table.begin(
                "held locks",
                "All in one JVM over Jedis, taken one after the other by one thread, with a lease of " + leaseMillis
                        + " ms that is renewed every third. The lag is how far the least remaining time of all leases was"
                        + " below what it is when a renewal is due, as it was seen during two renewals.",
                "locks",
                "heap bytes a lock",
                "threads",
                "taking all, ms",
                "taking one, us",
                "renewal lag, ms",
                "Redis CPU ms/s",
                "client CPU ms/s with sampling",
                "lost");
        for (int locks : settings.numbers("--held", "1000,10000,100000")) {
            row(locks, leaseMillis, table);
        }
        table.plot();
    }

    private static void row(int locks, long leaseMillis, Table table) {
        try (RedisServer redis = RedisServer.start();
                JavaProcess worker = Holders.LOCKKEEPER_JEDIS.start(redis, leaseMillis)) {
            WorkerLoop.ask(worker, "prepare", locks);
            long heap = WorkerLoop.ask(worker, "heap");
            long taken = WorkerLoop.ask(worker, "take");
            long fullHeap = WorkerLoop.ask(worker, "heap");
            long watched = 2 * leaseMillis / 3;
            ServerFigures before = ServerFigures.of(redis);
            long cpu = WorkerLoop.ask(worker, "cpu");
            long left = WorkerLoop.ask(worker, "left", watched);
            ServerFigures server = ServerFigures.of(redis).since(before);
            long clientNanos = WorkerLoop.ask(worker, "cpu") - cpu;
            long due = (leaseMillis - Math.max(LEAST_MARGIN_MILLIS, leaseMillis / 100)) * 2 / 3;
            table.row(
                    String.format("%,d", locks),
                    true,
                    (fullHeap - heap) / (locks - 1.0),
                    WorkerLoop.ask(worker, "threads"),
                    taken / 1e6,
                    taken / 1e3 / (locks - 1.0),
                    due - left,
                    server.cpuNanos() / 1e3 / watched,
                    clientNanos / 1e3 / watched,
                    locks - WorkerLoop.ask(worker, "held"));
        }
    }
}
