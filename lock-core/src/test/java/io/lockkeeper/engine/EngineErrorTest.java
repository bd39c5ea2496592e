/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.EngineFixture.REQUEST;
import static io.lockkeeper.engine.EngineFixture.acquiredReply;
import static io.lockkeeper.engine.EngineFixture.storeMillis;
import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.lockkeeper.LockManager;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.ReleaseReply;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Errors of the platform in the middle of a step, and threads whose stack has no room: nothing is left half done. */
class EngineErrorTest {

    private static final LockRequest WAITING = REQUEST.withWaitTime(Duration.ofSeconds(4));
    private static final Duration ANSWER = Duration.ofMillis(10);

    /** What says in the log that an error came: here, thousands of times. */
    private static final List<Class<?>> LOGGING = List.of(
            ActionExecutor.class, LeaseRenewer.class, LockTemplate.class, PendingAnswers.class, RetryingExecutor.class);

    @BeforeAll
    static void logNothing() {
        LOGGING.forEach(type -> ((Logger) LoggerFactory.getLogger(type)).setLevel(Level.OFF));
    }

    @AfterAll
    static void logAgain() {
        LOGGING.forEach(type -> ((Logger) LoggerFactory.getLogger(type)).setLevel(null));
    }

    /** The whole of a request or of a lease, at whose steps an error comes, one in each run. */
    enum Scenario {
        A_REFUSAL {
            @Override
            void run(Run run) {
                run.store.uponAcquire = sent ->
                        run.later(() -> sent.answer(new AcquireReply.Queued("other1", 20_000, storeMillis(run.time))));
                run.begin(WAITING);
                run.time.pass(Duration.ofSeconds(6));
            }
        },
        A_TRY_AGAIN_AND_A_REFUSAL {
            @Override
            void run(Run run) {
                run.store.uponAcquire = sent -> run.later(() -> sent.answer(new AcquireReply.Busy("other1")));
                run.begin(REQUEST.withWaitTime(Duration.ZERO).withRetries(1, Duration.ofMillis(100)));
                run.time.pass(Duration.ofSeconds(6));
            }
        },
        TWO_HOLDERS {
            @Override
            void run(Run run) {
                run.answersAcquired();
                run.begin(WAITING);
                run.begin(WAITING);
                run.time.pass(Duration.ofMillis(30));
                run.releaseAll();
                run.time.pass(Duration.ofMillis(100));
                run.releaseAll();
            }
        },
        A_DOWNGRADE {
            @Override
            void run(Run run) {
                run.answersAcquired();
                run.begin(REQUEST.withMode(LockMode.WRITE));
                run.time.pass(Duration.ofMillis(30));
                run.quietly(() -> run.callers.element().thenAccept(ManagedLease::downgrade));
                run.releaseAll();
            }
        },
        A_DOWNGRADE_THAT_IS_ANSWERED_LATE {
            @Override
            void run(Run run) {
                run.firstHandOverFails();
                A_DOWNGRADE.run(run);
            }
        },
        A_HAND_OVER {
            @Override
            void run(Run run) {
                run.answersAcquired();
                run.begin(WAITING);
                run.begin(WAITING);
                run.time.pass(Duration.ofMillis(100));
                run.releaseAll();
                run.time.pass(Duration.ofSeconds(1));
                run.releaseAll();
            }
        },
        A_HAND_OVER_THAT_IS_NOT_ANSWERED {
            @Override
            void run(Run run) {
                run.firstHandOverFails();
                A_HAND_OVER.run(run);
            }
        },
        A_REVOCATION {
            @Override
            void run(Run run) {
                run.answersAcquired();
                run.begin(WAITING);
                run.begin(WAITING);
                run.time.pass(Duration.ofMillis(30));
                run.quietly(() ->
                        run.manager.revoked(run.store.acquires.get(0).command().attempt()));
                run.time.pass(Duration.ofMillis(100));
                run.releaseAll();
            }
        },
        FAIR_CALLERS {
            @Override
            void run(Run run) {
                run.answersAcquired();
                run.begin(WAITING.withMode(LockMode.FAIR));
                run.begin(WAITING.withMode(LockMode.FAIR));
                run.time.pass(Duration.ofMillis(100));
                run.releaseAll();
                run.time.pass(Duration.ofSeconds(5));
                run.releaseAll();
            }
        };

        abstract void run(Run run);
    }

    /** An engine, one of whose readings of the clock or settings of a timer ends with an error. */
    static final class Run extends EngineFixture.DelegatingScheduler {

        final ManualTime time;
        final RecordingStore store = new RecordingStore();
        private final Events events = new Events();
        private final LocalLockManager manager;
        private final Queue<PendingRequest> callers = new ArrayDeque<>();
        private long token = 100;
        private int steps;
        private int failing = Integer.MAX_VALUE;

        Run(ManualTime time) {
            super(time);
            this.time = time;
            RetryingExecutor background = new RetryingExecutor(Runnable::run, null, this);
            RetryingExecutor others = new RetryingExecutor(Runnable::run, Runnable::run, this);
            this.manager = EngineFixture.manager(
                    store,
                    events,
                    new EngineContext(this, background, others, others, events, (origin, bound) -> origin, () -> {}));
            store.uponRelease = sent -> later(() -> sent.answer(ReleaseReply.RELEASED));
            store.uponRenewal = sent -> later(() -> sent.answer(true));
            store.uponHandOver = sent -> later(() -> sent.answer(new HandOverReply(true, acquired())));
            store.described = new CompletableFuture<>();
            time.schedule(
                    () -> store.described.complete(List.of()),
                    Duration.ofMillis(4_030).toNanos());
        }

        static Run whoseCallerHolds() {
            Run run = new Run(new ManualTime());
            run.answersAcquired();
            run.begin(WAITING);
            run.time.pass(Duration.ofMillis(30));
            return run;
        }

        private AcquireReply.Acquired acquired() {
            token += 100;
            return acquiredReply(token);
        }

        void answersAcquired() {
            store.uponAcquire = sent -> later(() -> sent.answer(new AcquireReply.Acquired(
                    sent.command().leaseMillis(),
                    List.of(acquired().firstTokens().get(0)))));
        }

        void firstHandOverFails() {
            var answered = store.uponHandOver;
            store.uponHandOver = sent -> {
                store.uponHandOver = answered;
                later(sent::fail);
            };
        }

        void later(Runnable answer) {
            time.schedule(answer, ANSWER.toNanos());
        }

        void begin(LockRequest request) {
            quietly(() -> {
                PendingRequest caller = manager.asked(request, false, new CompletableFuture<>(), 0);
                manager.begin(caller, 0);
                callers.add(caller);
            });
        }

        void releaseAll() {
            for (PendingRequest caller : List.copyOf(callers)) {
                if (caller.isDone() && !caller.isCompletedExceptionally()) {
                    callers.remove(caller);
                    quietly(() -> caller.join().giveBack());
                }
            }
        }

        void quietly(Runnable step) {
            try {
                step.run();
            } catch (Throwable planted) {
                // Of the caller, who hears of it.
            }
        }

        /** Returns the attempts that were asked for, and are not given back. */
        Set<String> left() {
            Set<String> left = new HashSet<>();
            store.acquires.stream()
                    .map(RecordingStore.Sent::command)
                    .filter(AcquireCommand::queue)
                    .forEach(command -> left.add(command.attempt()));
            store.handOvers.forEach(sent -> left.add(sent.command().next().attempt()));
            store.handOvers.stream()
                    .filter(sent -> !sent.reply().isCompletedExceptionally())
                    .forEach(sent -> left.remove(sent.command().attempt()));
            store.releases.forEach(sent -> left.remove(sent.command().attempt()));
            return left;
        }

        private void step() {
            if (++steps == failing) {
                throw new InternalError("as the test wants it, at step " + steps);
            }
        }

        @Override
        public long nanoTime() {
            step();
            return super.nanoTime();
        }

        @Override
        public Timeout schedule(Runnable task, long delayNanos) {
            step();
            return super.schedule(() -> quietly(task), delayNanos);
        }
    }

    @ParameterizedTest
    @EnumSource
    void anErrorAtAnyStepLeavesNoCallerWithoutAnAnswerAndNothingHeld(Scenario scenario) {
        boolean reached = true;
        for (int failing = 1; reached; failing++) {
            Run run = new Run(new ManualTime());
            run.failing = run.steps + failing;
            scenario.run(run);
            reached = run.steps >= run.failing;
            run.time.pass(Duration.ofSeconds(15));
            run.releaseAll();
            run.time.pass(Duration.ofSeconds(15));

            assertThat(run.callers)
                    .as("callers after an error at step %s", failing)
                    .allMatch(PendingRequest::isDone);
            assertNothingLeft(run, failing);
        }
    }

    @Test
    void anErrorAtAnyStepCostsNoRenewedLease() {
        boolean reached = true;
        for (int failing = 1; reached; failing++) {
            Run run = Run.whoseCallerHolds();
            run.failing = run.steps + failing;
            run.time.pass(Duration.ofMillis(3 * EngineFixture.LEASE_MILLIS));
            reached = run.steps >= run.failing;
            run.failing = Integer.MAX_VALUE;

            assertThat(run.callers.element().join().isHeld())
                    .as("held after an error at step %s", failing)
                    .isTrue();
        }
    }

    @Test
    void anErrorAtAnyStepOfAReleaseLeavesNothingHeld() {
        boolean reached = true;
        for (int failing = 1; reached; failing++) {
            Run run = Run.whoseCallerHolds();
            ManagedLease lease = run.callers.remove().join();
            run.failing = run.steps + failing;
            run.quietly(lease::closeAsync);
            reached = run.steps >= run.failing;
            run.failing = Integer.MAX_VALUE;
            run.time.pass(Duration.ofSeconds(15));

            assertNothingLeft(run, failing);
        }
    }

    /** Closing waits until no lease is left. */
    @Test
    void anErrorWhereALeaseIsLostThatIsJustBeingMadeLeavesNoneThatCounts() {
        boolean reached = true;
        for (int failing = 1; reached; failing++) {
            int step = failing;
            Run run = new Run(new ManualTime());
            run.answersAcquired();
            run.store.clock = () -> {
                run.store.clock = () -> 0;
                run.quietly(() ->
                        run.manager.revoked(run.store.acquires.get(0).command().attempt()));
                run.failing = run.steps + step;
                return 0;
            };
            run.begin(WAITING);
            run.time.pass(Duration.ofMillis(30));
            reached = run.steps >= run.failing;
            run.time.pass(Duration.ofSeconds(1));
            run.releaseAll();
            run.time.pass(Duration.ofSeconds(15));

            assertNothingLeft(run, failing);
        }
    }

    @Test
    void anErrorInACallThatClosesKeepsNoOtherOneWaiting() {
        EngineFixture fixture = new EngineFixture(Duration.ofSeconds(5));
        fixture.holds(100);
        List<CompletableFuture<?>> closed = new ArrayList<>();
        Scheduler broken = new EngineFixture.DelegatingScheduler(fixture.time) {
            @Override
            public Timeout schedule(Runnable task, long delayNanos) {
                closed.add(fixture.manager.close(null, fixture.time));
                throw new InternalError("as the test wants it");
            }
        };
        assertThatThrownBy(() -> fixture.manager.close(null, broken)).isInstanceOf(InternalError.class);

        closed.add(fixture.manager.close(null, fixture.time));
        fixture.time.pass(Duration.ofMinutes(1));

        assertThat(closed).hasSize(2).allMatch(CompletableFuture::isDone);
    }

    private static void assertNothingLeft(Run run, int failing) {
        assertThat(run.manager)
                .as("what is left by an error at step %s", failing)
                .hasToString("held=0, names=0");
        assertThat(run.left())
                .as("attempts left by an error at step %s", failing)
                .isEmpty();
    }

    /** As where there is no memory for what executes the decisions: passed on, or handed over in the store. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void decisionsThatCannotBeExecutedKeepNoCallerWaitingAndNothingHeld(boolean passed) {
        EngineFixture fixture = new EngineFixture();
        fixture.store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);
        ManagedLease first = fixture.holds(100);
        StoreHold hold = first.hold();
        PendingRequest waiter = fixture.begin(REQUEST);
        if (!passed) {
            fixture.time.pass(Duration.ofMillis(100));
        }
        LocalLock lock = Objects.requireNonNull(fixture.manager.registry.lockOf(hold.id));
        hold.remove(first);
        assertThatThrownBy(() -> fixture.manager.executor.on(
                        lock, (known, now) -> failing(Objects.requireNonNull(known.released(hold, 0, now)))))
                .isInstanceOf(InternalError.class);

        fixture.time.pass(Duration.ofSeconds(1));

        assertThat(waiter).isCompletedExceptionally();
        assertThat(fixture.store.releases).as("what is passed on, or asks").isNotEmpty();
        assertThat(fixture.holds(200).isHeld()).isTrue();
    }

    /** As where there is no memory for the lease of a grant: it is renewed, but has no owner. */
    @Test
    void aGrantThatCannotBeExecutedIsNotRenewedForEver() {
        EngineFixture fixture = new EngineFixture();
        fixture.store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);
        PendingRequest caller = fixture.begin(REQUEST);
        LocalLock lock = Objects.requireNonNull(fixture.manager.registry.lockOf(caller));
        AcquireAttempt attempt = Objects.requireNonNull(
                lock.attempt(last(fixture.store.acquires).command().attempt()));
        AcquireReply reply = acquiredReply(100);
        assertThatThrownBy(() -> fixture.manager.executor.on(
                        lock, (known, now) -> failing(known.replied(attempt, now, reply, now))))
                .isInstanceOf(InternalError.class);
        fixture.manager.withdraw(caller);

        fixture.time.pass(Duration.ofSeconds(1));

        fixture.assertEmpty();
        assertThat(fixture.manager.registry.locks()).isEmpty();
        assertThat(last(fixture.store.releases).command().attempt()).isEqualTo(attempt.id.toString());
    }

    /** As where there is no memory for what is decided. */
    @Test
    void anErrorInTheDecisionsOfAReleaseKeepsTheHoldUntilTheStoreIsTold() {
        LocalLockFixture fixture = new LocalLockFixture();
        StoreHold hold = fixture.holds(100);
        fixture.enters();
        fixture.time.pass(Duration.ofMillis(100));
        fixture.noMoreAttempts = true;

        assertThatThrownBy(fixture::released).isInstanceOf(InternalError.class);

        assertThat(hold.isOver()).isFalse();
        assertThat(fixture.lock.hold()).as("what the executor loses").isSameAs(hold);
    }

    @Test
    void anErrorAtAnyStepOfAnAsynchronousCallLeavesNothingHeld() {
        boolean reached = true;
        for (int failing = 1; reached; failing++) {
            Run run = new Run(new ManualTime());
            run.answersAcquired();
            LeaseManager manager = new LeaseManager(run.manager, () -> {}, () -> {});
            CompletableFuture<LockManager.Lease> result = new CompletableFuture<>();
            AtomicBoolean begun = new AtomicBoolean();
            run.failing = run.steps + failing;
            run.quietly(() -> {
                manager.acquireAsync(WAITING, false, result, lease -> lease, false, 0);
                begun.set(true);
            });
            run.time.pass(Duration.ofSeconds(15));
            reached = run.steps >= run.failing;
            if (begun.get() && !result.isCompletedExceptionally()) {
                run.quietly(result.join()::giveBack);
            }
            run.time.pass(Duration.ofSeconds(15));

            assertNothingLeft(run, failing);
        }
    }

    /** As where there is no memory for the task that calls one of them back. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void anErrorWhereALossIsToBeToldCostsNoCallback(int failing) {
        AtomicInteger tasks = new AtomicInteger();
        RecordingStore store = new RecordingStore();
        ManualTime time = new ManualTime();
        Events events = new Events();
        Executor callbacks = task -> {
            if (tasks.incrementAndGet() == failing) {
                throw new InternalError("as the test wants it");
            }
            task.run();
        };
        LocalLockManager manager = EngineFixture.manager(
                store,
                events,
                new EngineContext(
                        time, Runnable::run, callbacks, Runnable::run, events, EngineContext::random, () -> {}));
        PendingRequest caller = EngineFixture.begin(manager, REQUEST, new CompletableFuture<>());
        last(store.acquires).answer(acquiredReply(100));
        ManagedLease lease = caller.join();
        lease.received(caller.number, caller.asked, caller.tries, caller.path);
        List<String> told = new ArrayList<>();
        List.of("one", "two", "three").forEach(name -> lease.onLost(lost -> told.add(name)));

        manager.revoked(lease.hold().attempt());
        time.pass(Duration.ofSeconds(1));

        assertThat(told).containsExactlyInAnyOrder("one", "two", "three");
        assertThat(events.lost).hasSize(1);
    }

    /** Returns actions whose execution ends with an error, but for that of a Watch. */
    private static List<LockAction> failing(List<LockAction> actions) {
        return new AbstractList<>() {
            @Override
            public LockAction get(int index) {
                if (!(actions.get(index) instanceof LockAction.Watch)) {
                    throw new InternalError("as the test wants it");
                }
                return actions.get(index);
            }

            @Override
            public int size() {
                return actions.size();
            }
        };
    }

    @Test
    void errorsInTheLookMakeNoMoreLooks() {
        AtomicInteger looks = new AtomicInteger();
        ManualTime time = new ManualTime();
        Scheduler repeating = new EngineFixture.DelegatingScheduler(time) {
            @Override
            public Timeout schedule(Runnable task, long delayNanos) {
                return super.schedule(() -> repeat(task), delayNanos);
            }

            private void repeat(Runnable task) {
                try {
                    task.run();
                } catch (Throwable error) {
                    schedule(task, Duration.ofMillis(20).toNanos());
                }
            }
        };
        Events events = new Events();
        LocalLockManager manager = EngineFixture.manager(
                new RecordingStore(),
                events,
                new EngineContext(
                        repeating,
                        Runnable::run,
                        Runnable::run,
                        Runnable::run,
                        events,
                        EngineContext::random,
                        () -> {}));
        BooleanSupplier failing = () -> {
            // Enough are seen: without an end they would be too many for the test.
            if (looks.incrementAndGet() > 100) {
                return false;
            }
            throw new InternalError("as the test wants it");
        };
        manager.answers.await(new CompletableFuture<>(), failing, (done, never) -> {});
        manager.armLook();

        time.pass(Duration.ofSeconds(2));

        assertThat(looks).hasValue(8);
    }

    /** The store keeps what an attempt has that waits, for longer than the lease. */
    @Test
    void whatAnAttemptThatWaitsMayHaveIsGivenBackForAsLongAsTheStoreKeepsIt() {
        EngineFixture fixture = new EngineFixture();
        PendingRequest caller = fixture.begin(REQUEST.withLeaseTime(Duration.ofSeconds(1)));
        fixture.queued();
        AtomicLong last = new AtomicLong();
        long begun = fixture.time.nanoTime();
        fixture.store.uponRelease = sent -> {
            last.set(fixture.time.nanoTime() - begun);
            sent.fail();
        };
        fixture.manager.withdraw(caller);

        fixture.time.pass(Duration.ofMinutes(1));

        assertThat(Duration.ofNanos(last.get())).isBetween(Duration.ofSeconds(20), Duration.ofSeconds(23));
    }

    /** The store's answer to the first of them comes while no thread can be had. */
    @Test
    void theNextFairCallerAsksAlthoughAnExecutorThrows() {
        AtomicInteger refusals = new AtomicInteger();
        RecordingStore store = new RecordingStore();
        ManualTime time = new ManualTime();
        LocalLockManager manager = manager(store, time, new Events(), task -> {
            if (refusals.getAndDecrement() > 0) {
                throw new InternalError("no thread, as the test wants it");
            }
            task.run();
        });
        LockRequest fair = REQUEST.withMode(LockMode.FAIR);
        EngineFixture.begin(manager, fair, new CompletableFuture<>());
        EngineFixture.begin(manager, fair, new CompletableFuture<>());
        assertThat(store.acquires).hasSize(1);

        refusals.set(1);
        last(store.acquires).answer(new AcquireReply.Queued("other1", 20_000, storeMillis(time)));
        time.pass(Duration.ofSeconds(1));

        assertThat(store.acquires).hasSize(2);
    }

    @Test
    void aLeaseThatIsLostWhileItsReleaseIsOwedIsReleasedOnce() {
        EngineFixture fixture = new EngineFixture();
        ManagedLease lease = fixture.holds(100);
        releaseWithoutRoom(lease);
        assertThat(lease.owesRelease()).isTrue();
        assertThat(fixture.events.released).isEmpty();

        fixture.manager.revoked(lease.hold().attempt());
        fixture.time.pass(Duration.ofSeconds(1));

        assertThat(fixture.events.lost).hasSize(1);
        assertThat(fixture.events.released).singleElement().satisfies(event -> assertThat(event.result())
                .isEqualTo(ReleaseResult.LOST));
        assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
        fixture.assertEmpty();
    }

    /** As where there is no memory for a moment. Closing waits until no lease is left. */
    @Test
    void aLeaseCountsNoMoreWhenAnErrorCameIntoItsReleaseAfterTheHoldHadEnded() {
        RecordingStore store = new RecordingStore();
        ManualTime time = new ManualTime();
        Runnable failing = () -> {
            throw new InternalError("as the test wants it");
        };
        Events events = new Events();
        LocalLockManager manager = EngineFixture.manager(
                store,
                events,
                new EngineContext(
                        time, Runnable::run, Runnable::run, Runnable::run, events, EngineContext::random, failing));
        PendingRequest caller = EngineFixture.begin(manager, REQUEST, new CompletableFuture<>());
        last(store.acquires).answer(new AcquireReply.Queued("other1", 20_000, storeMillis(time)));
        manager.granted(new Grant(last(store.acquires).command().attempt(), "stock", 100, storeMillis(time) + 3_000));
        ManagedLease lease = caller.join();
        lease.received(caller.number, caller.asked, caller.tries, caller.path);
        store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);

        assertThatThrownBy(lease::release).isInstanceOf(InternalError.class);
        time.pass(Duration.ofSeconds(3));

        assertThat(manager).hasToString("held=0, names=0");
        assertThat(events.lost).isEmpty();
        assertThat(events.released).hasSize(1);
        assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
    }

    /** Goes to the end of the stack, and releases a lease as soon as there is room for the call. */
    @SuppressWarnings("InfiniteRecursion") // It ends with the stack.
    private static void releaseWithoutRoom(ManagedLease lease) {
        try {
            releaseWithoutRoom(lease);
        } catch (StackOverflowError end) {
            // One frame further up there is more room.
        }
        if (lease.isHeld()) {
            lease.closeAsync();
        }
    }

    private static LocalLockManager manager(RecordingStore store, ManualTime time, Events events, Executor background) {
        EngineContext context = new EngineContext(
                time, background, Runnable::run, Runnable::run, events, (origin, bound) -> origin, () -> {});
        return EngineFixture.manager(store, events, context);
    }

    /**
     * A release that keeps the lock taken is followed by a question for those who wait: that is no one's time but
     * theirs.
     */
    @Test
    void aThreadThatReleasesWaitsForOneCommandOnly() {
        Queue<Runnable> background = new ArrayDeque<>();
        RecordingStore store = new RecordingStore();
        LocalLockManager manager = manager(store, new ManualTime(), new Events(), background::add);
        PendingRequest holder = EngineFixture.begin(manager, REQUEST, new CompletableFuture<>());
        background.forEach(Runnable::run);
        background.clear();
        last(store.acquires).answer(acquiredReply(100));
        ManagedLease lease = holder.join();
        PendingRequest waiter = EngineFixture.begin(manager, REQUEST, new CompletableFuture<>());
        store.uponRenewal = sent -> sent.answer(true);
        assertThat(lease.extend(Duration.ofSeconds(20), Duration.ofSeconds(8))).isTrue();
        store.uponRelease = RecordingStore.Sent::fail;
        background.clear();

        assertThat(lease.release()).isEqualTo(ReleaseResult.UNKNOWN);

        assertThat(waiter).isNotDone();
        assertThat(store.releases).hasSize(1);
        assertThat(store.acquires).hasSize(1);
        List.copyOf(background).forEach(Runnable::run);
        assertThat(store.acquires).hasSize(2);
    }
}
