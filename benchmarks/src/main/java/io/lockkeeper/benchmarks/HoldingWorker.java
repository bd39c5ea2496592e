/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/** A JVM that holds as many locks as it is told to, with one library. */
final class HoldingWorker {

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private final ManyLocks locks;
    private int count;

    private HoldingWorker(ManyLocks locks) {
        this.locks = locks;
    }

    /** Arguments: who holds, the port of Redis, the lease in ms. */
    public static void main(String[] arguments) throws Exception {
        int threads = ProcessFigures.threads();
        try (ManyLocks locks =
                Holders.valueOf(arguments[0]).open(Integer.parseInt(arguments[1]), Long.parseLong(arguments[2]))) {
            HoldingWorker worker = new HoldingWorker(locks);
            WorkerLoop.answer(Map.of(
                    "prepare", number -> worker.prepare((int) number),
                    "take", number -> worker.take(),
                    "held", number -> worker.held(),
                    "left", worker::left,
                    "heap", number -> ProcessFigures.heap(),
                    "cpu", number -> ProcessFigures.cpuNanos(),
                    "work", number -> ProcessFigures.threadNanos(),
                    "threads", number -> ProcessFigures.threads() - threads));
        }
        System.exit(0);
    }

    /** Loads what is needed. The first lock stays: Redisson starts a further timer when there is none. */
    private long prepare(int number) {
        count = number;
        int warm = Math.min(number, 1_000);
        locks.expect(number);
        IntStream.range(0, warm).forEach(locks::take);
        IntStream.range(0, warm).forEach(locks::isHeld);
        IntStream.range(1, warm).forEach(locks::release);
        return warm;
    }

    /** Returns how long it took, in ns. */
    private long take() {
        long begin = System.nanoTime();
        IntStream.range(1, count).forEach(locks::take);
        return System.nanoTime() - begin;
    }

    private long held() {
        return IntStream.range(0, count).filter(locks::isHeld).count();
    }

    /** Returns the least that was left of any lease in a time, in ms. */
    private long left(long millis) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        long least = ManyLocks.UNKNOWN;
        while (System.nanoTime() < end) {
            for (int i = 0; i < count; i++) {
                least = Math.min(least, locks.remainingMillis(i));
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return least;
    }
}
