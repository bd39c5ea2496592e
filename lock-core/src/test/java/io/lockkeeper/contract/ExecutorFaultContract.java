/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** An executor that throws, whatever it is and whenever: no lease, no loss and no caller is forgotten. */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(60)
public abstract class ExecutorFaultContract {

    private static final Duration LEASE = Duration.ofSeconds(6);

    /** Much less than a lease that nobody releases would last. */
    private static final Duration SOON = Duration.ofSeconds(20);

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<LockTemplate> templates = new ArrayList<>();
    private String name = "none";

    /** Returns a new store over the locks that all stores of one test share. */
    protected abstract LockStore store();

    @BeforeEach
    void nameTheLock(TestInfo test) {
        name = test.getDisplayName().replaceAll("\\W+", "-") + System.nanoTime();
    }

    @AfterEach
    void close() {
        for (LockTemplate template : templates) {
            assertThat(CompletableFuture.runAsync(template::close)).succeedsWithin(SOON);
        }
        threads.shutdownNow();
    }

    /** What is thrown. */
    private enum Refusal {
        REJECTED {
            @Override
            void refuse() {
                throw new RejectedExecutionException("full");
            }
        },
        ILLEGAL_STATE {
            @Override
            void refuse() {
                throw new IllegalStateException("not started");
            }
        },
        NO_THREAD {
            @Override
            void refuse() {
                throw new OutOfMemoryError("unable to create native thread, as the test wants it");
            }
        };

        abstract void refuse();
    }

    /** When it is thrown. */
    private enum When {
        ALWAYS,
        FIRST,
        SECOND,
        AFTER_IT_TOOK_THE_TASK
    }

    static Stream<Arguments> refusals() {
        return Stream.of(Refusal.values())
                .flatMap(refusal -> Stream.of(When.values()).map(when -> Arguments.of(refusal, when)));
    }

    private Executor executor(Refusal refusal, When when) {
        AtomicInteger calls = new AtomicInteger();
        return task -> {
            int call = calls.incrementAndGet();
            boolean refuses =
                    switch (when) {
                        case ALWAYS -> true;
                        case FIRST -> call == 1;
                        case SECOND -> call == 2;
                        case AFTER_IT_TOOK_THE_TASK -> false;
                    };
            if (refuses) {
                refusal.refuse();
            }
            threads.execute(task);
            if (when == When.AFTER_IT_TOOK_THE_TASK) {
                refusal.refuse();
            }
        };
    }

    private LockTemplate template() {
        LockTemplate template = LockTemplate.builder(store()).build();
        templates.add(template);
        return template;
    }

    private LockTemplate template(Refusal refusal, When when) {
        LockTemplate template = LockTemplate.builder(store())
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .executor(executor(refusal, when))
                .build();
        templates.add(template);
        return template;
    }

    private void isFree(LockTemplate template) {
        try (LockLease free = template().acquire(LockRequest.of(name).withWaitTime(SOON))) {
            assertThat(free.isHeld()).isTrue();
        }
        Awaitility.await().atMost(SOON).untilAsserted(() -> assertThat(template.toString())
                .contains("held=0", "names=0"));
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void aLeaseReachesItsCaller(Refusal refusal, When when) {
        LockTemplate template = template(refusal, when);
        for (LockMode mode : List.of(LockMode.EXCLUSIVE, LockMode.FAIR)) {
            CompletableFuture<LockLease> future =
                    template.acquireAsync(LockRequest.of(name).withMode(mode));
            assertThat(future).succeedsWithin(SOON).satisfies(LockLease::close);
            isFree(template);
        }
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void aStageRunsOnceAndItsLockIsReleased(Refusal refusal, When when) {
        LockTemplate template = template(refusal, when);
        AtomicInteger runs = new AtomicInteger();
        LockLease held = template.acquire(name);
        CompletableFuture<Integer> first = template.executeAsync(
                LockRequest.of(name), lease -> CompletableFuture.completedFuture(runs.incrementAndGet()));
        CompletableFuture<Integer> second = template.executeUntil(
                LockRequest.of(name),
                List.of(),
                lease -> CompletableFuture.completedFuture(runs.incrementAndGet()),
                stage -> stage);
        held.close();
        assertThat(first).succeedsWithin(SOON);
        assertThat(second).succeedsWithin(SOON);
        assertThat(runs).hasValue(2);
        isFree(template);
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void aCallerWhoCancelsLeavesNothingBehind(Refusal refusal, When when) {
        LockTemplate template = template(refusal, when);
        LockLease held = template().acquire(name);
        CompletableFuture<LockLease> future = template.acquireAsync(LockRequest.of(name));
        CompletableFuture<Object> execution =
                template.executeAsync(LockRequest.of(name), lease -> new CompletableFuture<>());
        future.cancel(true);
        execution.cancel(true);
        held.close();
        isFree(template);
        // Nobody is in its way: the lease may be on its way, too.
        template.executeAsync(LockRequest.of(name), lease -> CompletableFuture.completedFuture(lease))
                .cancel(true);
        CompletableFuture<LockLease> last = template.acquireAsync(LockRequest.of(name));
        if (!last.cancel(true)) {
            last.join().close();
        }
        isFree(template);
    }

    @Test
    void callbacksThatBlockTakeAFewThreadsOnly() {
        int losses = 100;
        LockTemplate template = template(Refusal.REJECTED, When.ALWAYS);
        LockTemplate other = template();
        CountDownLatch end = new CountDownLatch(1);
        CountDownLatch told = new CountDownLatch(losses);
        AtomicInteger begun = new AtomicInteger();
        for (int i = 0; i < losses; i++) {
            LockLease lease = template.acquire(name + i);
            lease.onLost(loss -> {
                begun.incrementAndGet();
                awaitUninterruptibly(end);
                told.countDown();
            });
            other.inspector().forceRelease(name + i);
            Awaitility.await().atMost(SOON).until(() -> !lease.isHeld());
            lease.close();
        }
        assertThat(begun.get()).isBetween(1, losses / 2);
        end.countDown();
        Awaitility.await().atMost(SOON).until(() -> told.getCount() == 0);
    }

    private static void awaitUninterruptibly(CountDownLatch end) {
        try {
            end.await();
        } catch (InterruptedException foreign) {
            throw new IllegalStateException(foreign);
        }
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void aLossIsToldOnceToEachAndThoseWhoWaitGoOn(Refusal refusal, When when) {
        LockTemplate template = template(refusal, when);
        LockLease lost = template.acquire(name);
        AtomicInteger first = new AtomicInteger();
        AtomicInteger second = new AtomicInteger();
        lost.onLost(loss -> first.incrementAndGet());
        lost.onLost(loss -> second.incrementAndGet());
        CompletableFuture<LockLease> next = template.acquireAsync(LockRequest.of(name));
        template().inspector().forceRelease(name);
        assertThat(next).succeedsWithin(SOON).satisfies(LockLease::close);
        Awaitility.await().atMost(SOON).until(() -> first.get() > 0 && second.get() > 0);
        lost.close();
        isFree(template);
        assertThat(first).hasValue(1);
        assertThat(second).hasValue(1);
    }

    @Test
    void aCallerWhomTheExecutorNeverTellsCanStillCancel() {
        LockTemplate silent = LockTemplate.builder(store())
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .executor(task -> {})
                .build();
        templates.add(silent);
        LockTemplate other = LockTemplate.builder(store())
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .build();
        templates.add(other);
        CompletableFuture<LockLease> lost = silent.acquireAsync(LockRequest.of(name));
        Awaitility.await().until(() -> silent.inspector().heldHere().size() == 1);

        lost.cancel(true);

        assertThat(other.tryAcquire(LockRequest.of(name).withWaitTime(SOON))).isPresent();
    }
}
