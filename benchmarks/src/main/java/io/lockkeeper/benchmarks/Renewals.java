/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.testing.JavaProcess;
import io.lockkeeper.testing.RedisServer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * What it costs to keep many locks. Arguments, all optional: {@code --locks} in one JVM, {@code --warm} in s after the
 * first lease, {@code --seconds} of the measurement, {@code --lease} in s, {@code --rounds}, {@code --peers} by parts
 * of their names, {@code --out} a folder.
 */
final class Renewals {

    private static final int RENEWALS_IN_A_LEASE = 3;
    private static final long IDLE_SECONDS = 10;

    private final int locks;
    private final long warmSeconds;
    private final long seconds;
    private final long leaseMillis;

    private Renewals(Settings settings) {
        locks = settings.number("--locks", 10_000);
        warmSeconds = settings.number("--warm", 60);
        seconds = settings.number("--seconds", 30);
        leaseMillis = TimeUnit.SECONDS.toMillis(settings.number("--lease", 30));
    }

    public static void main(String[] arguments) {
        Settings settings = Settings.of(arguments);
        Renewals renewals = new Renewals(settings);
        Table table = new Table("renewals", settings);
        table.begin(
                "renewal of many locks",
                renewals.locks + " locks in one JVM, each peer in its own, with a lease of " + renewals.leaseMillis
                        + " ms that is renewed every third, for " + renewals.seconds
                        + " s that begin three renewals and " + renewals.warmSeconds
                        + " s after all are held. CPU is ms in"
                        + " each s; that of an idle peer is taken off Redis' and shown beside the client's, which is"
                        + " that of its threads; that of the process has the compilation and the collector, too. Heap is"
                        + " used heap after a collection, with the locks less before, for each lock. Requests and executed"
                        + " commands are for each lock and renewal.",
                "peer",
                "Redis CPU ms/s",
                "client CPU ms/s",
                "of it idle",
                "process CPU ms/s",
                "heap bytes a lock",
                "threads",
                "lost",
                "requests",
                "commands",
                "taking all, ms");
        for (int round = 0; round < settings.number("--rounds", 1); round++) {
            for (Holders holder : Holders.values()) {
                if (settings.takes("--peers", holder.title())) {
                    renewals.measure(holder, table);
                }
            }
        }
        table.plot();
        table.end();
        System.exit(0);
    }

    private void measure(Holders holder, Table table) {
        try (RedisServer redis = RedisServer.start();
                JavaProcess worker = holder.start(redis, leaseMillis)) {
            WorkerLoop.ask(worker, "prepare", locks);
            long heap = WorkerLoop.ask(worker, "heap");
            Span idle = span(redis, worker, IDLE_SECONDS);
            long taken = WorkerLoop.ask(worker, "take");
            span(redis, worker, TimeUnit.MILLISECONDS.toSeconds(leaseMillis) + warmSeconds);
            long fullHeap = WorkerLoop.ask(worker, "heap");
            Span full = span(redis, worker, seconds);
            long threads = WorkerLoop.ask(worker, "threads");
            long held = WorkerLoop.ask(worker, "held");
            double renewals = (double) locks * full.nanos * RENEWALS_IN_A_LEASE / (leaseMillis * 1e6);
            table.row(
                    holder.title(),
                    holder != Holders.REDISSON,
                    full.serverMillis() - idle.serverMillis(),
                    full.clientMillis(),
                    idle.clientMillis(),
                    full.processMillis(),
                    (fullHeap - heap) / (locks - 1.0),
                    threads,
                    locks - held,
                    full.server.scripts().calls() / renewals,
                    full.server.calls() / renewals,
                    taken / 1e6);
        }
    }

    /** What a time cost. */
    private record Span(ServerFigures server, long clientNanos, long processNanos, long nanos) {

        double serverMillis() {
            return server.cpuNanos() * 1e3 / nanos;
        }

        double clientMillis() {
            return clientNanos * 1e3 / nanos;
        }

        double processMillis() {
            return processNanos * 1e3 / nanos;
        }
    }

    private static Span span(RedisServer redis, JavaProcess worker, long seconds) {
        ServerFigures before = ServerFigures.of(redis);
        long process = WorkerLoop.ask(worker, "cpu");
        long begin = System.nanoTime();
        long work = WorkerLoop.ask(worker, "work");
        long worked = 0;
        for (long i = 0; i < seconds; i++) {
            pause(TimeUnit.SECONDS.toNanos(1));
            worked = WorkerLoop.ask(worker, "work") - work;
        }
        long nanos = System.nanoTime() - begin;
        ServerFigures server = ServerFigures.of(redis).since(before);
        return new Span(server, worked, WorkerLoop.ask(worker, "cpu") - process, nanos);
    }

    static void pause(long nanos) {
        long end = System.nanoTime() + nanos;
        for (long left = nanos; left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
