/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What a thread does while it waits for an answer. */
class CallerThreadTest {

    @Test
    void aWorkerThatWaitsRunsNoOtherTask() throws Exception {
        ForkJoinPool pool = new ForkJoinPool(1);
        CompletableFuture<Thread> other = new CompletableFuture<>();
        CountDownLatch waits = new CountDownLatch(1);
        CompletableFuture<String> answer = new CompletableFuture<>() {
            @Override
            public Executor defaultExecutor() {
                // As that of the common pool's futures: its workers help while they wait.
                return pool;
            }
        };
        try {
            CompletableFuture<Thread> waiting = CompletableFuture.supplyAsync(
                    () -> {
                        CompletableFuture.runAsync(() -> other.complete(Thread.currentThread()), pool);
                        waits.countDown();
                        assertThat(CallerThread.join(answer)).isEqualTo("answer");
                        return Thread.currentThread();
                    },
                    pool);
            waits.await();
            Thread helped = other.get(20, TimeUnit.SECONDS);
            answer.complete("answer");
            assertThat(helped).isNotSameAs(waiting.get(20, TimeUnit.SECONDS));
        } finally {
            pool.shutdownNow();
        }
    }

    /** As the common pool when 257 of its workers wait, for locks or for something else. */
    @Test
    void aWorkerWaitsAlsoWhereItsPoolHasNoThreadLeft() throws Exception {
        ForkJoinPool full = new ForkJoinPool(
                1, ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, false, 1, 1, 1, null, 1, TimeUnit.SECONDS);
        CompletableFuture<String> answer = new CompletableFuture<>();
        try {
            CompletableFuture<String> waiting = CompletableFuture.supplyAsync(() -> CallerThread.join(answer), full);
            await().until(() -> waiting.isDone() || answer.getNumberOfDependents() > 0);
            answer.complete("answer");
            assertThat(waiting.get(20, TimeUnit.SECONDS)).isEqualTo("answer");
        } finally {
            full.shutdownNow();
        }
    }
}
