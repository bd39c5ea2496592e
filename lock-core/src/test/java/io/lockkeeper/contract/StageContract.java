/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.LockUpgradeException;
import io.lockkeeper.LockedAction;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Holds of a thread while the work runs, and then of a stage. */
public abstract class StageContract extends StoreContract {

    private LockRequest request() {
        return LockRequest.of(name);
    }

    private LockRequest trying() {
        return request().withWaitTime(Duration.ZERO);
    }

    @ParameterizedTest
    @EnumSource
    void theThreadIsInsideWhileTheWorkRunsAndTheStageUntilItIsCompleted(LockMode mode) {
        LockTemplate template = instance();
        CompletableFuture<String> stage = new CompletableFuture<>();
        CountDownLatch begun = new CountDownLatch(1);
        CompletableFuture<String> result = template.executeStage(request().withMode(mode), lease -> {
            assertThat(LockContext.current()).containsSame(lease);
            long again = template.execute(request().withMode(mode), LockLease::fencingToken);
            assertThat(again).isEqualTo(lease.fencingToken());
            begun.countDown();
            return stage;
        });
        await(begun);
        assertThat(LockContext.current()).isEmpty();
        assertThat(template.lock(name).isHeldByCurrentThread()).isFalse();
        assertThat(instance().tryAcquire(request().withMode(LockMode.WRITE))).isEmpty();
        assertThat(result).isNotDone();

        stage.complete("done");

        assertThat(result).succeedsWithin(SOON).isEqualTo("done");
        assertFree();
    }

    @Test
    void theStageDoesNotLetItsCallerEnterAgain() {
        LockTemplate template = instance();
        CompletableFuture<String> stage = new CompletableFuture<>();
        CompletableFuture<String> first = begin(template, stage);

        CompletableFuture<String> second = template.executeStage(trying(), lease -> stage);

        assertThat(failureOf(second)).isInstanceOf(LockNotAcquiredException.class);
        stage.complete("done");
        assertThat(first).succeedsWithin(SOON);
    }

    @Test
    void aThreadThatHoldsTheLockEntersItAgainAtOnce() {
        LockTemplate template = instance();
        Thread caller = Thread.currentThread();
        AtomicReference<CompletableFuture<Long>> inner = new AtomicReference<>();
        CompletableFuture<Long> stage = new CompletableFuture<>();
        long token = template.execute(trying(), outer -> {
            inner.set(template.executeStage(trying(), lease -> {
                assertThat(Thread.currentThread()).isSameAs(caller);
                assertThat(template.lock(name).getHoldCount()).isEqualTo(2);
                return stage;
            }));
            assertThat(template.lock(name).getHoldCount()).isEqualTo(1);
            return outer.fencingToken();
        });
        assertThat(template.lock(name).isHeldByCurrentThread()).isFalse();
        assertThat(instance().tryAcquire(name)).isEmpty();

        stage.complete(token);

        assertThat(inner.get()).succeedsWithin(SOON).isEqualTo(token);
        assertFree();
    }

    @Test
    void anInnerStageEndsOnlyItself() {
        LockTemplate template = instance();
        template.run(trying(), outer -> {
            CompletableFuture<String> inner =
                    template.executeStage(trying(), lease -> CompletableFuture.completedFuture("done"));
            assertThat(inner).succeedsWithin(SOON);
            assertThat(outer.isHeld()).isTrue();
            assertThat(instance().tryAcquire(name)).isEmpty();
        });
        assertFree();
    }

    @Test
    void theExclusiveLevelEndsAndTheReadingStageGoesOnAsAReader() {
        LockTemplate template = instance();
        CompletableFuture<String> stage = new CompletableFuture<>();
        LockRequest reading = request().withMode(LockMode.READ);
        AtomicReference<CompletableFuture<String>> inner = new AtomicReference<>();
        template.run(trying(), outer -> inner.set(template.executeStage(reading, lease -> stage)));

        LockTemplate other = instance();
        assertThat(other.tryAcquire(reading)).hasValueSatisfying(LockLease::close);
        assertThat(other.tryAcquire(name)).isEmpty();

        stage.complete("done");
        assertThat(inner.get()).succeedsWithin(SOON);
        assertFree();
    }

    @Test
    void failuresArriveThroughTheStageAndReleaseTheLock() {
        LockTemplate template = instance();
        IOException thrown = new IOException("before the stage");
        IllegalStateException failed = new IllegalStateException("in the stage");
        LockedAction<CompletionStage<String>, IOException> throwing = lease -> {
            throw thrown;
        };

        assertThat(failureOf(template.executeStage(request(), throwing))).isSameAs(thrown);
        assertFree();
        assertThat(failureOf(template.executeStage(request(), lease -> CompletableFuture.failedFuture(failed))))
                .isSameAs(failed);
        assertFree();
        assertThat(template.executeStage(request(), lease -> null))
                .succeedsWithin(SOON)
                .isNull();
        assertFree();
    }

    @Test
    void theThreadThatCompletesTheStageDoesNotRelease() {
        LockTemplate template = instance();
        CompletableFuture<String> stage = new CompletableFuture<>();
        CompletableFuture<Thread> completed = begin(template, stage).thenApply(done -> Thread.currentThread());

        stage.complete("done");

        assertThat(completed).succeedsWithin(SOON).isNotSameAs(Thread.currentThread());
    }

    @Test
    void whoCancelsTheResultGivesUpThePlace() {
        LockTemplate template = instance();
        LockLease blocker = instance().acquire(name);
        CompletableFuture<String> waiting = template.executeStage(request(), lease -> {
            throw new AssertionError("must not begin");
        });
        assertThat(waiting.cancel(true)).isTrue();
        blocker.close();
        assertFree();
    }

    @Test
    void whoCancelsTheResultCancelsTheStageAndEndsTheHold() {
        LockTemplate template = instance();
        CompletableFuture<String> stage = new CompletableFuture<>();
        CompletableFuture<String> result = begin(template, stage);

        assertThat(result.cancel(true)).isTrue();

        Awaitility.await().until(stage::isCancelled);
        assertFree();
    }

    @Test
    void aStageThatCannotBeCancelledEndsTheHoldAllTheSame() {
        LockTemplate template = instance();
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> result = begin(template, work.minimalCompletionStage());

        assertThat(result.complete("mine")).isTrue();

        assertFree();
        assertThat(work).isNotDone();
    }

    @Test
    void aStageThatWasCancelledCancelsTheResult() {
        LockTemplate template = instance();
        CompletableFuture<String> stage = new CompletableFuture<>();
        CompletableFuture<String> result = begin(template, stage);
        stage.cancel(true);
        Awaitility.await().until(result::isDone);
        assertThat(result).isCancelled();
        assertThat(failureOf(result)).isInstanceOf(CancellationException.class);
    }

    @Test
    void aReaderIsNotUpgradedAndALostHoldIsNotEntered() {
        LockTemplate template = instance();
        template.run(request().withMode(LockMode.READ), lease -> {
            CompletableFuture<String> upgrade = template.executeStage(request(), inner -> null);
            assertThat(failureOf(upgrade)).isInstanceOf(LockUpgradeException.class);
        });
        template.run(request().withLeaseTime(Duration.ofMillis(100)), lease -> {
            Awaitility.await().until(() -> !lease.isHeld());
            CompletableFuture<String> lost = template.executeStage(request(), inner -> null);
            assertThat(failureOf(lost)).isInstanceOf(LockLostException.class);
        });
    }

    @Test
    void whatIsMissingOfSeveralNamesIsWaitedForWithoutTheThread() {
        LockTemplate template = instance();
        String second = name + " 2";
        LockLease blocker = instance().acquire(second);
        CompletableFuture<List<String>> stage = new CompletableFuture<>();
        AtomicReference<CompletableFuture<List<String>>> both = new AtomicReference<>();
        template.run(trying(), outer -> {
            both.set(template.executeStage(LockRequest.of(name, second), lease -> {
                // On another thread, which is inside both.
                template.run(trying(), again -> assertThat(again.fencingToken()).isEqualTo(outer.fencingToken()));
                template.run(second, again -> {});
                stage.complete(lease.names());
                return stage;
            }));
            assertThat(both.get()).isNotDone();
        });
        assertThat(instance().tryAcquire(name)).isEmpty();
        blocker.close();
        assertThat(both.get()).succeedsWithin(SOON).isEqualTo(List.of(name, second));
        assertFree();
        assertThat(instance().tryAcquire(second)).hasValueSatisfying(LockLease::close);
    }

    @Test
    void leasesAroundTheCallerAreEnteredAgainOnAnyThread() {
        LockTemplate template = instance();
        CompletableFuture<LockLease> outer = new CompletableFuture<>();
        CompletableFuture<String> stage = new CompletableFuture<>();
        CompletableFuture<String> result = template.executeStage(request(), lease -> {
            outer.complete(lease);
            return stage;
        });
        LockLease around = outer.join();
        long token = CompletableFuture.supplyAsync(() -> template.executeUntil(
                        trying(),
                        List.of(around),
                        lease -> {
                            assertThat(template.lock(name).isHeldByCurrentThread())
                                    .isTrue();
                            return lease.fencingToken();
                        },
                        made -> {
                            assertThat(template.lock(name).isHeldByCurrentThread())
                                    .isFalse();
                            assertThat(LockContext.current()).isEmpty();
                            return CompletableFuture.completedFuture(made);
                        }))
                .join()
                .join();
        assertThat(token).isEqualTo(around.fencingToken());
        assertThat(around.isHeld()).isTrue();
        stage.complete("done");
        assertThat(result).succeedsWithin(SOON);
        CompletableFuture<String> after =
                instance().executeUntil(trying(), List.of(around), lease -> "free", CompletableFuture::completedFuture);
        assertThat(after).succeedsWithin(SOON);
    }

    private CompletableFuture<String> begin(LockTemplate template, CompletionStage<String> stage) {
        CountDownLatch begun = new CountDownLatch(1);
        CompletableFuture<String> result = template.executeStage(request(), lease -> {
            begun.countDown();
            return stage;
        });
        await(begun);
        return result;
    }

    private static Throwable failureOf(CompletableFuture<?> result) {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Awaitility.await().until(result::isDone);
        result.whenComplete((value, thrown) -> failure.set(thrown));
        return failure.get();
    }

    /** Nobody waits for a release after a cancellation, so it may come a little later. */
    private void assertFree() {
        LockTemplate other = instance();
        Awaitility.await().atMost(SOON).until(() -> other.tryAcquire(name)
                .map(lease -> {
                    lease.close();
                    return lease;
                })
                .isPresent());
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(10, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException interrupt) {
            throw new AssertionError(interrupt);
        }
    }
}
