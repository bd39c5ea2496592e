/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.DistributedLock;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.contract.DelegatingStore;
import io.lockkeeper.contract.RecordingListener;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoredLock;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Waits and holds that end in unusual ways: by a caller's own timeout, by closing, on a full executor. */
class EndingsTest {

    private static final Set<Thread.State> WAITING = Set.of(Thread.State.WAITING, Thread.State.TIMED_WAITING);

    private static final Duration LONG = Duration.ofDays(30_000);

    private final MemoryLockStore store = new MemoryLockStore();
    private final RecordingListener events = new RecordingListener();
    private final LockTemplate template = LockTemplate.builder(store)
            .shutdownWait(Duration.ZERO)
            .listener(events)
            .build();
    private final LockTemplate other =
            LockTemplate.builder(store.peer()).shutdownWait(Duration.ZERO).build();

    @Test
    void anExecutionThatItsCallerTimedOutNeverKeepsTheLock() {
        LockLease held = other.acquire("x");
        CompletableFuture<String> result = template.<String>executeAsync(
                        LockRequest.of("x"), lease -> CompletableFuture.completedFuture("never"))
                .orTimeout(50, TimeUnit.MILLISECONDS);
        assertThatThrownBy(result::get).hasCauseInstanceOf(TimeoutException.class);
        held.close();
        Awaitility.await().until(() -> {
            other.tryAcquire("x").ifPresent(LockLease::close);
            return template.toString().contains("held=0, names=0");
        });
        assertThat(other.tryAcquire("x")).isPresent();
    }

    /** As where the context of the caller cannot be taken away again. */
    @Test
    void aDecoratorThatThrowsAfterTheBodyDoesNotEndTheLeaseOfTheWork() {
        LockTemplate decorated = LockTemplate.builder(store.peer())
                .shutdownWait(Duration.ZERO)
                .taskDecorator(body -> () -> {
                    body.run();
                    throw new IllegalStateException("as the test wants it");
                })
                .build();
        CompletableFuture<LockLease> inside = new CompletableFuture<>();
        CompletableFuture<String> work = new CompletableFuture<>();
        LockLease held = other.acquire("x");
        CompletableFuture<String> result = decorated.executeAsync(LockRequest.of("x"), lease -> {
            inside.complete(lease);
            return work;
        });
        held.close();
        LockLease lease = inside.join();

        Awaitility.await().during(Duration.ofMillis(200)).until(lease::isHeld);
        assertThat(other.tryAcquire("x")).isEmpty();

        work.complete("done");
        assertThat(result).succeedsWithin(Duration.ofSeconds(20)).isEqualTo("done");
        decorated.close();
        assertThat(other.tryAcquire("x")).isPresent();
    }

    @Test
    void aDecoratorThatDoesNotComeToTheBodyFailsTheResultAndFreesTheLock() {
        IllegalStateException failure = new IllegalStateException("as the test wants it");
        LockTemplate decorated = LockTemplate.builder(store.peer())
                .shutdownWait(Duration.ZERO)
                .taskDecorator(body -> () -> {
                    throw failure;
                })
                .build();
        LockLease held = other.acquire("x");
        CompletableFuture<String> result =
                decorated.executeAsync(LockRequest.of("x"), lease -> CompletableFuture.completedFuture("never"));
        held.close();

        assertThatThrownBy(() -> result.get(20, TimeUnit.SECONDS)).hasCause(failure);
        assertThat(other.tryAcquire("x")).isPresent();
        decorated.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void workWhoseFailureCannotTellItsCauseFreesTheLock(boolean throwsAtOnce) {
        CompletionException failure = new CompletionException("as the test wants it", null) {
            @Override
            public synchronized Throwable getCause() {
                throw new IllegalStateException("as the test wants it");
            }
        };

        CompletableFuture<String> result = template.executeAsync(LockRequest.of("x"), lease -> {
            if (throwsAtOnce) {
                throw failure;
            }
            return CompletableFuture.failedFuture(failure);
        });

        Throwable told = Awaitility.await()
                .atMost(Duration.ofSeconds(5))
                .until(() -> result.handle((value, thrown) -> thrown).getNow(null), Objects::nonNull);
        assertThat(told).isSameAs(failure);
        assertThat(other.tryAcquire("x")).isPresent();
    }

    @Test
    void aStageThatCannotBeCancelledIsAskedOnce() {
        AtomicInteger asked = new AtomicInteger();
        CompletableFuture<String> stage = new CompletableFuture<>() {
            @Override
            public boolean cancel(boolean mayInterrupt) {
                asked.incrementAndGet();
                throw new AssertionError("as the test wants it");
            }
        };

        template.executeStage(LockRequest.of("x"), lease -> stage).cancel(true);

        Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> template.toString()
                .contains("held=0, names=0"));
        assertThat(asked).hasValue(1);
        assertThat(other.tryAcquire("x")).isPresent();
    }

    /** It is asked on the timer's thread, at each look. */
    @Test
    void aStageThatCannotSayWhetherItIsDoneIsAskedAtEachLookOnly() {
        AtomicInteger asked = new AtomicInteger();
        CompletableFuture<String> stage = new CompletableFuture<>() {
            @Override
            public boolean isDone() {
                asked.incrementAndGet();
                throw new AssertionError("as the test wants it");
            }
        };
        CompletableFuture<String> result = template.executeStage(LockRequest.of("x"), lease -> stage);

        Awaitility.await()
                .during(Duration.ofMillis(1_500))
                .atMost(Duration.ofSeconds(20))
                .until(() -> asked.get() < 12);
        assertThat(asked).hasPositiveValue();

        stage.complete("done");
        assertThat(result).succeedsWithin(Duration.ofSeconds(20));
    }

    @Test
    void aLookThatTheStoreNeverAnswersFails() {
        LockTemplate blind = LockTemplate.builder(new DelegatingStore(store.peer()) {
                    @Override
                    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
                        return new CompletableFuture<>();
                    }
                })
                .leaseTime(Duration.ofSeconds(1))
                .shutdownWait(Duration.ZERO)
                .build();
        LockLease lease = blind.acquire("x");

        List<CompletableFuture<?>> looks = List.of(
                CompletableFuture.supplyAsync(lease::verify),
                CompletableFuture.supplyAsync(() -> blind.inspector().status("x")),
                CompletableFuture.supplyAsync(() -> blind.lock("y").isLocked()));

        assertThat(looks).allSatisfy(look -> assertThat(look)
                .failsWithin(Duration.ofSeconds(20))
                .withThrowableThat()
                .withCauseInstanceOf(LockStoreException.class));
        assertThat(lease.isHeld()).isTrue();
        blind.close();
    }

    @Test
    void aMissingRequestLeavesNothing() {
        assertThatThrownBy(() ->
                        template.executeAsync((LockRequest) null, lease -> CompletableFuture.completedFuture("never")))
                .isInstanceOf(NullPointerException.class);

        assertThat(template).hasToString("LockTemplate[held=0, names=0]");
    }

    @Test
    void aStageThatNeverEndsIsForgottenWithItsLease() {
        CompletableFuture<String> never = new CompletableFuture<>();
        template.executeStage(LockRequest.of("x").withLeaseTime(Duration.ofMillis(100)), lease -> never);
        Awaitility.await().until(() -> template.toString().contains("held=0, names=0"));
        assertThat(never).isNotDone();
    }

    @Test
    void anAsynchronousCallerWhoGivesUpIsNotReportedAsAFailure() {
        LockLease held = other.acquire("x");
        assertThat(template.acquireAsync(LockRequest.of("x")).cancel(true)).isTrue();
        held.close();
        template.close();
        assertThat(events.events(LockListener.NotAcquired.class)).isEmpty();
    }

    @Test
    void aLossIsToldThoughTheExecutorIsFull() throws Exception {
        LockTemplate full = LockTemplate.builder(store.peer())
                .executor(task -> {
                    throw new RejectedExecutionException("full");
                })
                .build();
        LockLease lease = full.acquire(LockRequest.of("x").withLeaseTime(Duration.ofMillis(100)));
        CompletableFuture<Object> told = new CompletableFuture<>();
        lease.onLost(told::complete);
        assertThat(told.get(20, TimeUnit.SECONDS)).isNotNull();
        full.close();
    }

    /** Neither those of losses nor what hangs on futures. */
    @Test
    void callbacksThatBlockOnAFullExecutorDoNotKeepCallersWaiting() {
        LockTemplate full = LockTemplate.builder(store.peer())
                .executor(task -> {
                    throw new RejectedExecutionException("full");
                })
                .shutdownWait(Duration.ZERO)
                .build();
        CountDownLatch end = new CountDownLatch(1);
        try {
            for (int i = 0; i < 40; i++) {
                full.acquire("lost " + i).onLost(loss -> awaitQuietly(end));
                other.inspector().forceRelease("lost " + i);
            }
            for (int i = 0; i < 6; i++) {
                LockRequest blocking = LockRequest.of("blocking " + i);
                // On another thread: where the answer is there at once, what hangs on it runs on that of the call.
                new Thread(() -> full.acquireAsync(blocking).thenAccept(lease -> awaitQuietly(end))).start();
            }
            assertThat(full.acquireAsync(LockRequest.of("x")))
                    .succeedsWithin(Duration.ofSeconds(10))
                    .satisfies(LockLease::close);
        } finally {
            end.countDown();
        }
        full.close();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException foreign) {
            throw new IllegalStateException(foreign);
        }
    }

    @Test
    void aLevelThatHasEndedHearsOfNoLoss() throws Exception {
        List<String> told = new CopyOnWriteArrayList<>();
        CountDownLatch lost = new CountDownLatch(1);
        template.run(LockRequest.of("x").withLeaseTime(Duration.ofMinutes(1)), outer -> {
            template.run("x", inner -> inner.onLost(loss -> told.add("inner")));
            outer.extend(Duration.ofMillis(100));
            outer.onLost(loss -> {
                told.add("outer");
                lost.countDown();
            });
            assertThat(lost.await(20, TimeUnit.SECONDS)).isTrue();
        });
        Awaitility.await().during(Duration.ofMillis(100)).until(() -> told, List.of("outer")::equals);
    }

    @Test
    void unlockAfterTheTemplateWasClosedDoesNotMaskTheBody() {
        DistributedLock lock = template.lock("x");
        lock.lock();
        template.close();
        assertThatCode(lock::unlock).doesNotThrowAnyException();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void anInterruptDoesNotCostAFairLockItsPlace() throws Exception {
        LockLease held = other.acquire("x");
        List<String> order = new CopyOnWriteArrayList<>();
        Thread first = waitingFor("first", order);
        Thread second = waitingFor("second", order);
        first.interrupt();
        held.close();
        first.join(20_000);
        second.join(20_000);
        assertThat(order).containsExactly("first interrupted", "second");
    }

    @Test
    void aTemplateTakesTimesWithoutLimit() {
        Duration forever = Duration.ofSeconds(Long.MAX_VALUE);
        try (LockTemplate endless = LockTemplate.builder(store.peer())
                .leaseTime(forever)
                .handover(16, forever)
                .shutdownWait(forever)
                .waitTime(forever)
                .retryDelay(forever)
                .build()) {
            endless.run("x", lease -> assertThat(lease.remaining()).isBetween(LONG, forever));
        }
    }

    @Test
    void aReleaseWaitsNoLongerThanOneCommandMayTake() {
        LockTemplate hasty = LockTemplate.builder(new DelegatingStore(store.peer()) {
                    @Override
                    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
                        return new CompletableFuture<>();
                    }

                    @Override
                    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
                        return new CompletableFuture<>();
                    }
                })
                .leaseTime(Duration.ofSeconds(3))
                .shutdownWait(Duration.ZERO)
                .build();
        LockLease alone = hasty.acquire("alone");
        LockLease wanted = hasty.acquire("wanted");
        hasty.acquireAsync(LockRequest.of("wanted").withLeaseTime(Duration.ofSeconds(1)));
        for (LockLease lease : List.of(alone, wanted)) {
            long begun = System.nanoTime();
            assertThat(lease.release()).isEqualTo(ReleaseResult.UNKNOWN);
            assertThat(Duration.ofNanos(System.nanoTime() - begun))
                    .isBetween(Duration.ofSeconds(1), Duration.ofSeconds(3));
        }
        hasty.close();
    }

    private Thread waitingFor(String name, List<String> order) {
        Thread thread = new Thread(() -> {
            DistributedLock lock = template.fairLock("x");
            lock.lock();
            order.add(Thread.currentThread().isInterrupted() ? name + " interrupted" : name);
            lock.unlock();
        });
        thread.start();
        Awaitility.await().until(() -> WAITING.contains(thread.getState()));
        return thread;
    }
}
