/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.contract.DelegatingStore;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.RenewCommand;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class AcquisitionInterceptorTest {

    private final MemoryLockStore store = new MemoryLockStore();
    private final List<LockLease> kept = new CopyOnWriteArrayList<>();
    private final List<Boolean> reentries = new ArrayList<>();
    private final LockTemplate template = LockTemplate.builder(store)
            .interceptor((request, reentry) -> {
                reentries.add(reentry);
                return kept::add;
            })
            .build();
    private final LockTemplate elsewhere =
            LockTemplate.builder(store.peer()).shutdownWait(Duration.ZERO).build();

    @AfterEach
    void close() {
        kept.forEach(LockLease::close);
        template.close();
        elsewhere.close();
    }

    enum Form {
        RUN {
            @Override
            void lockAndRelease(LockTemplate template) {
                template.run("stock", lease -> assertThat(lease.isHeld()).isTrue());
            }
        },
        EXECUTE {
            @Override
            void lockAndRelease(LockTemplate template) {
                assertThat(template.<Boolean, RuntimeException>execute("stock", LockLease::isHeld))
                        .isTrue();
            }
        },
        TRY_RUN {
            @Override
            void lockAndRelease(LockTemplate template) {
                assertThat(template.tryRun("stock", lease -> {})).isTrue();
            }
        },
        ACQUIRE {
            @Override
            void lockAndRelease(LockTemplate template) {
                LockLease lease = template.acquire("stock");
                assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
                assertThat(lease.isHeld()).isFalse();
            }
        },
        TRY_ACQUIRE {
            @Override
            void lockAndRelease(LockTemplate template) {
                template.tryAcquire("stock").orElseThrow().close();
            }
        },
        LOCK {
            @Override
            void lockAndRelease(LockTemplate template) {
                template.lock("stock").lock();
                template.lock("stock").unlock();
            }
        };

        abstract void lockAndRelease(LockTemplate template);
    }

    @ParameterizedTest
    @EnumSource
    void aLockThatIsKeptOutlivesItsRelease(Form form) {
        form.lockAndRelease(template);
        assertThat(elsewhere.tryAcquire("stock")).isEmpty();
        kept.forEach(LockLease::close);
        assertThat(elsewhere.tryAcquire("stock")).isPresent();
    }

    @Test
    void aLeaseOfAnotherTemplateAroundTheCallerIsNoReentry() {
        try (LockTemplate other = LockTemplate.builder(new MemoryLockStore()).build();
                LockLease around = other.acquire("stock")) {
            template.executeUntil(
                            LockRequest.of("stock"),
                            List.of(around),
                            lease -> lease,
                            CompletableFuture::completedFuture)
                    .join();
        }

        assertThat(reentries).containsExactly(false);
    }

    @ParameterizedTest
    @EnumSource
    void aLockThatIsKeptIsEnteredAgainInEveryForm(Form form) {
        form.lockAndRelease(template);
        for (Form again : Form.values()) {
            again.lockAndRelease(template);
        }
        assertThat(reentries).startsWith(false, true).doesNotContainSequence(true, false);
        kept.forEach(LockLease::close);
        assertThat(elsewhere.tryAcquire("stock")).isPresent();
    }

    @Test
    void aLeaseThatBelongsToNoThreadIsKeptWhenItIsReleased() throws Exception {
        LockLease lease = template.acquireAsync(LockRequest.of("stock")).get(10, TimeUnit.SECONDS);
        assertThat(lease.isHeld()).isTrue();
        lease.ensureHeld();
        assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
        assertThat(lease.isHeld()).isFalse();
        assertThat(lease.remaining()).isZero();
        assertThatThrownBy(lease::ensureHeld).isInstanceOf(LockLostException.class);
        assertThat(elsewhere.tryAcquire("stock")).isEmpty();
        kept.forEach(LockLease::close);
        assertThat(elsewhere.tryAcquire("stock")).isPresent();
    }

    @Test
    void theLeaseOfAStageIsKeptWhenTheStageHasEnded() throws Exception {
        assertThat(template.executeAsync(
                                LockRequest.of("stock"), lease -> CompletableFuture.completedFuture(lease.isHeld()))
                        .get(10, TimeUnit.SECONDS))
                .isTrue();
        assertThat(kept).hasSize(1);
        assertThat(elsewhere.tryAcquire("stock")).isEmpty();
        kept.forEach(LockLease::close);
        assertThat(elsewhere.tryAcquire("stock")).isPresent();
    }

    @Test
    void aLockThatAFutureBroughtIsEnteredAgainBeforeTheCallerLooksAtTheFuture() {
        ExecutorService one = Executors.newSingleThreadExecutor();
        CompletableFuture<Void> open = new CompletableFuture<>();
        one.execute(open::join);
        List<LockLease> heldOn = new CopyOnWriteArrayList<>();
        try (LockTemplate busy = LockTemplate.builder(store.peer())
                .executor(one)
                .shutdownWait(Duration.ZERO)
                .interceptor((request, reentry) -> heldOn::add)
                .build()) {
            CompletableFuture<LockLease> later = busy.acquireAsync(LockRequest.of("stock"));

            assertThat(busy.tryRun("stock", lease -> {})).isTrue();
            assertThat(later).isNotDone();

            open.complete(null);
            assertThat(later).succeedsWithin(Duration.ofSeconds(30));
            later.join().close();
            heldOn.forEach(LockLease::close);
        } finally {
            open.complete(null);
            one.shutdownNow();
        }
        assertThat(elsewhere.tryAcquire("stock")).isPresent();
    }

    @Test
    void aCallerThatCancelsItsFutureLeavesNothingBehind() throws Exception {
        LockLease other = elsewhere.acquire("stock");
        CompletableFuture<LockLease> waiting = template.acquireAsync(LockRequest.of("stock"));
        waiting.cancel(true);
        other.close();
        assertThat(elsewhere.acquireAsync(LockRequest.of("stock")).get(10, TimeUnit.SECONDS))
                .isNotNull();
        assertThat(kept).isEmpty();
    }

    /** The surrounding work has the lock by then, and relies on it until it ends. */
    @Test
    void aCallerThatCancelsItsFutureWhileTheLockIsKeptDoesNotTakeItAway() {
        AtomicReference<CompletableFuture<?>> future = new AtomicReference<>();
        LockLease other = elsewhere.acquire("stock");
        try (LockTemplate keeping = LockTemplate.builder(store.peer())
                .shutdownWait(Duration.ZERO)
                .interceptor((request, reentry) -> lease -> {
                    future.get().cancel(true);
                    kept.add(lease);
                })
                .build()) {
            future.set(keeping.acquireAsync(LockRequest.of("stock")));
            other.close();
            Awaitility.await().until(() -> !kept.isEmpty());

            Awaitility.await().during(Duration.ofMillis(200)).until(kept.get(0)::isHeld);
            assertThat(elsewhere.tryAcquire("stock")).isEmpty();

            kept.get(0).close();
            assertThat(keeping).hasToString("LockTemplate[held=0, names=0]");
        }
    }

    @Test
    void aLockThatIsLostBeforeItIsKeptIsAFailureAndNotSilence() {
        MemoryLockStore other = store.peer();
        AtomicReference<LockTemplate> own = new AtomicReference<>();
        LockListener losing = new LockListener() {
            @Override
            public void onAcquired(Acquired event) {
                LockInspector inspector = own.get().inspector();
                inspector.forceRelease("stock");
                Awaitility.await().until(() -> inspector.heldHere().isEmpty());
            }
        };
        try (LockTemplate template = LockTemplate.builder(other)
                .listener(losing)
                .interceptor((request, reentry) -> kept::add)
                .build()) {
            own.set(template);
            assertThat(template.executeStage(
                            LockRequest.of("stock"), lease -> CompletableFuture.completedFuture("done")))
                    .failsWithin(Duration.ofSeconds(10))
                    .withThrowableThat()
                    .withCauseInstanceOf(LockLostException.class);
            assertThat(kept).isEmpty();
        }
    }

    @Test
    void whatIsOnlyKeptIsNotLockedByItsThread() {
        DistributedLock lock = template.lock("stock");
        lock.lock();
        assertThat(lock.getHoldCount()).isOne();
        lock.lock();
        assertThat(lock.getHoldCount()).isEqualTo(2);

        while (lock.isHeldByCurrentThread()) {
            lock.unlock();
        }

        assertThat(lock.getHoldCount()).isZero();
        assertThat(lock.currentLease()).isEmpty();
        assertThat(lock.isLocked()).isTrue();
        assertThat(kept).singleElement().satisfies(lease -> assertThat(lease.isHeld())
                .isTrue());
        assertThat(elsewhere.tryAcquire("stock")).isEmpty();
        assertThat(lock.tryLock()).as("as it is kept").isTrue();
        lock.unlock();
    }

    @Test
    void whatSurroundsMayRefuse() {
        IllegalStateException refusal = new IllegalStateException("not here");
        try (LockTemplate refusing = LockTemplate.builder(store.peer())
                .interceptor((request, reentry) -> {
                    throw refusal;
                })
                .build()) {
            for (Form form : Form.values()) {
                assertThatIllegalStateException()
                        .isThrownBy(() -> form.lockAndRelease(refusing))
                        .isSameAs(refusal);
            }
        }
        assertThat(elsewhere.tryAcquire("stock")).isPresent();
    }

    @Test
    void whatCannotBeKeptIsReleased() {
        try (LockTemplate failing = LockTemplate.builder(store.peer())
                .interceptor((request, reentry) -> lease -> {
                    lease.close();
                    throw new IllegalStateException("full");
                })
                .build()) {
            assertThatIllegalStateException().isThrownBy(() -> failing.run("stock", lease -> {}));
            assertThatIllegalStateException()
                    .isThrownBy(() -> failing.lock("stock").lock());
            assertThat(elsewhere.tryAcquire("stock")).isPresent();
        }
    }

    @ParameterizedTest
    @EnumSource
    void aFixedLeaseIsKeptWithoutAskingTheStoreAgain(FixedForm form) {
        ExecutorService one = Executors.newSingleThreadExecutor();
        AtomicInteger renewals = new AtomicInteger();
        DelegatingStore counting = new DelegatingStore(store.peer()) {
            @Override
            public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
                renewals.addAndGet(commands.size());
                return super.renew(commands);
            }
        };
        LockLease other = elsewhere.acquire("stock");
        try (LockTemplate keeping = LockTemplate.builder(counting)
                .executor(one)
                .shutdownWait(Duration.ZERO)
                .interceptor((request, reentry) -> kept::add)
                .build()) {
            LockRequest request = LockRequest.of("stock").withLeaseTime(Duration.ofSeconds(20));
            CompletableFuture<?> done = form.lockAndRelease(keeping, request);
            Awaitility.await().until(() -> !elsewhere
                    .inspector()
                    .status("stock")
                    .orElseThrow()
                    .waiters()
                    .isEmpty());
            other.close();

            assertThat(done).succeedsWithin(Duration.ofSeconds(30));
            assertThat(kept).hasSize(1);
            assertThat(renewals).hasValue(0);
        } finally {
            one.shutdownNow();
        }
    }

    enum FixedForm {
        RUN {
            @Override
            CompletableFuture<?> lockAndRelease(LockTemplate template, LockRequest request) {
                return CompletableFuture.runAsync(() -> template.run(request, lease -> {}));
            }
        },
        STAGE {
            @Override
            CompletableFuture<?> lockAndRelease(LockTemplate template, LockRequest request) {
                return template.executeStage(request, lease -> CompletableFuture.completedFuture("done"));
            }
        },
        ACQUIRE_ASYNC {
            @Override
            CompletableFuture<?> lockAndRelease(LockTemplate template, LockRequest request) {
                return template.acquireAsync(request).thenAccept(LockLease::close);
            }
        };

        abstract CompletableFuture<?> lockAndRelease(LockTemplate template, LockRequest request);
    }

    @ParameterizedTest
    @EnumSource
    void aKeeperThatThrowsReachesTheCallerAndTheLockIsFree(Form form) {
        IllegalStateException failure = new IllegalStateException("no transaction takes it, as the test wants it");
        try (LockTemplate refusing = LockTemplate.builder(store.peer())
                .interceptor((request, reentry) -> lease -> {
                    throw failure;
                })
                .build()) {
            assertThatThrownBy(() -> form.lockAndRelease(refusing))
                    .satisfiesAnyOf(thrown -> assertThat(thrown).isSameAs(failure), thrown -> assertThat(thrown)
                            .hasRootCause(failure));
            assertThat(elsewhere.tryAcquire(LockRequest.of("stock").withWaitTime(Duration.ofSeconds(20))))
                    .isPresent();
            assertThat(refusing).hasToString("LockTemplate[held=0, names=0]");
        }
    }
}
