/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.lockkeeper.testing.JavaProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** The timer goes on, whatever a task throws, and however long there is no memory. */
class SchedulerTest {

    private static final Duration SOON = Duration.ofSeconds(30);

    @Test
    void aTaskThatThrowsAnErrorIsRepeated() throws Exception {
        CountDownLatch done = new CountDownLatch(3);
        try (Scheduler.OnThread timer = new Scheduler.OnThread("timer")) {
            timer.schedule(
                    () -> {
                        done.countDown();
                        if (done.getCount() > 0) {
                            throw new OutOfMemoryError("as the test wants it");
                        }
                    },
                    0);
            assertThat(done.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void whatHasEndedIsToldAlthoughItsTimeCannotBeTakenBack() {
        Scheduler time = new EngineFixture.DelegatingScheduler(new ManualTime()) {
            @Override
            public Timeout schedule(Runnable task, long delayNanos) {
                return () -> {
                    throw new InternalError("as the test wants it");
                };
            }
        };
        CompletableFuture<String> awaited = new CompletableFuture<>();
        CompletableFuture<?> told = time.atMost(1, awaited);

        awaited.complete("done");

        assertThat(told).isCompleted();
    }

    @Test
    void theTimerGoesOnAfterTheHeapWasFull() {
        List<String> options = List.of("-Xmx32m", "-XX:-UseGCOverheadLimit", "-Xlog:disable");
        try (JavaProcess process = JavaProcess.start(options, FullHeap.class)) {
            process.expect("all is well", SOON.multipliedBy(2));
        }
    }

    /** The process. */
    static final class FullHeap {

        private static final int LENGTH = 1_000;
        private static final AtomicInteger RUNS = new AtomicInteger();
        private static final Object[] NOTHING = {};

        private static Object[] last = NOTHING;

        public static void main(String[] args) throws Exception {
            ((Logger) LoggerFactory.getLogger(Scheduler.class)).setLevel(Level.OFF);
            Scheduler.OnThread timer = new Scheduler.OnThread("timer");
            tick(timer);
            for (int i = 0; i < 3; i++) {
                fill(System.nanoTime() + TimeUnit.SECONDS.toNanos(2));
                last = NOTHING;
                int before = RUNS.get();
                long end = System.nanoTime() + SOON.toNanos();
                while (RUNS.get() < before + 3) {
                    if (System.nanoTime() > end) {
                        throw new AssertionError("The timer has stopped after " + before + " runs");
                    }
                    Thread.onSpinWait();
                }
            }
            System.out.println("all is well");
            System.exit(0);
        }

        /** Keeps itself on, as the looks of the engine do. */
        private static void tick(Scheduler timer) {
            timer.schedule(
                    () -> {
                        List<byte[]> work = new ArrayList<>();
                        work.add(new byte[LENGTH]);
                        RUNS.addAndGet(work.size());
                        tick(timer);
                    },
                    TimeUnit.MILLISECONDS.toNanos(1));
        }

        /** Takes what is left of the heap, down to its last bytes. */
        private static void fill(long untilNanos) {
            int length = LENGTH * LENGTH;
            while (System.nanoTime() - untilNanos < 0) {
                try {
                    Object[] next = new Object[Math.max(1, length)];
                    next[0] = last;
                    last = next;
                } catch (OutOfMemoryError full) {
                    length /= 2;
                }
            }
        }
    }
}
