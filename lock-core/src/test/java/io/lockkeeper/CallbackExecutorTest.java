/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Callbacks that are quick need few threads, and those that block hold nobody up for long. */
@Timeout(60)
class CallbackExecutorTest {

    private final CallbackExecutor threads = new CallbackExecutor();
    private final Set<Thread> used = ConcurrentHashMap.newKeySet();

    @Test
    void tenThousandQuickCallbacksRunOnFewThreads() throws Exception {
        CountDownLatch ran = new CountDownLatch(10_000);
        for (int i = 0; i < 10_000; i++) {
            threads.execute(() -> {
                used.add(Thread.currentThread());
                LockSupport.parkNanos(10_000);
                ran.countDown();
            });
        }
        ran.await();
        assertThat(used).hasSizeBetween(2, 20);
    }

    @Test
    void callbacksThatWaitForALaterOneDoNotHoldItUp() throws Exception {
        CountDownLatch open = new CountDownLatch(1);
        CountDownLatch passed = new CountDownLatch(20);
        for (int i = 0; i < 20; i++) {
            threads.execute(() -> {
                awaitQuietly(open);
                passed.countDown();
            });
        }
        threads.execute(open::countDown);
        assertThat(passed.await(60, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void anUrgentCallbackDoesNotWaitForThoseThatCameBefore() throws Exception {
        CountDownLatch open = new CountDownLatch(1);
        try {
            for (int i = 0; i < 1_000; i++) {
                threads.execute(() -> awaitQuietly(open));
            }
            CompletableFuture<Void> told = new CompletableFuture<>();
            threads.urgent().execute(() -> told.complete(null));
            told.get(20, TimeUnit.SECONDS);
        } finally {
            open.countDown();
        }
    }

    /** A wait that ends at its time is to be heard of soon after that, whatever others do. */
    @Test
    void callbacksThatBlockHoldUpALaterOneForAMoment() throws Exception {
        CountDownLatch open = new CountDownLatch(1);
        Set<Integer> sizes = ConcurrentHashMap.newKeySet();
        ThreadFactory factory = threads.getThreadFactory();
        threads.setThreadFactory(task -> {
            sizes.add(threads.getCorePoolSize());
            return factory.newThread(task);
        });
        try {
            for (int i = 0; i < 60; i++) {
                threads.execute(() -> awaitQuietly(open));
            }
            CompletableFuture<Void> told = new CompletableFuture<>();
            threads.execute(() -> told.complete(null));
            told.get(20, TimeUnit.SECONDS);

            // Each is a moment of 25 ms; with one more thread each time there would be 57.
            assertThat(sizes).hasSizeLessThan(8);
            assertThat(threads.getPoolSize()).isLessThanOrEqualTo(64);
        } finally {
            open.countDown();
        }
    }

    @Test
    void aThreadThatCouldNotBeStartedIsTriedAgain() throws Exception {
        CountDownLatch open = new CountDownLatch(1);
        try {
            for (int i = 0; i < 4; i++) {
                threads.execute(() -> awaitQuietly(open));
            }
            AtomicInteger started = new AtomicInteger();
            ThreadFactory factory = threads.getThreadFactory();
            threads.setThreadFactory(task -> {
                if (started.incrementAndGet() == 1) {
                    throw new OutOfMemoryError("unable to create native thread");
                }
                return factory.newThread(task);
            });
            CompletableFuture<Void> told = new CompletableFuture<>();
            threads.execute(() -> told.complete(null));

            told.get(20, TimeUnit.SECONDS);
            assertThat(started.get()).isGreaterThan(1);
        } finally {
            open.countDown();
        }
    }

    @Test
    void aThreadSurvivesWhatACallbackDoes() throws Exception {
        for (int i = 0; i < 10; i++) {
            threads.execute(() -> {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("from a callback");
            });
        }
        CompletableFuture<Boolean> flag = new CompletableFuture<>();
        threads.execute(() -> flag.complete(Thread.currentThread().isInterrupted()));
        assertThat(flag.get(20, TimeUnit.SECONDS)).isFalse();
    }

    @Test
    void noCallbackIsForgotten() throws Exception {
        AtomicInteger ran = new AtomicInteger();
        List<CompletableFuture<Void>> callers = new ArrayList<>();
        for (int caller = 0; caller < 4; caller++) {
            callers.add(CompletableFuture.runAsync(() -> {
                for (int i = 0; i < 20_000; i++) {
                    (i % 3 == 0 ? threads.urgent() : threads).execute(ran::incrementAndGet);
                    if (i % 100 == 0) {
                        // Lets the threads go idle, and be called, at any moment.
                        LockSupport.parkNanos(50_000);
                    }
                }
            }));
        }
        CompletableFuture.allOf(callers.toArray(CompletableFuture<?>[]::new)).join();
        for (int i = 0; i < 200; i++) {
            CompletableFuture<Void> alone = new CompletableFuture<>();
            long begin = System.nanoTime();
            threads.execute(() -> alone.complete(null));
            alone.get(20, TimeUnit.SECONDS);
            // A thread that sleeps and is not called looks again after ten seconds
            assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(8));
        }
        Awaitility.await().untilAsserted(() -> assertThat(ran).hasValue(80_000));
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }
}
