/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.EngineFixture.BELIEVED;
import static io.lockkeeper.engine.EngineFixture.LEASE_MILLIS;
import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** When holds are renewed, when they are given up for lost, and what is said of renewals that fail. */
class LeaseRenewerTest {

    /** Two looks at all holds are at most so far apart from what is due between them. */
    private static final Duration PAUSE = Duration.ofMillis(6);

    /** How much earlier than after a third of the time a renewal may come, to come with others: a 60th of the lease. */
    private static final Duration EARLY = Duration.ofMillis(500);

    /** Within so much time the clocks are compared. */
    private static final Duration LOOK = Duration.ofMillis(100);

    private static final Duration THIRD = BELIEVED.dividedBy(3);
    private static final Duration UNTIL_RENEWED = THIRD.plus(PAUSE);
    private static final AcquireSpec SPEC = EngineFixture.SPEC;
    private static final List<String> NAMES = EngineFixture.REQUEST.names();

    private final ManualTime time = new ManualTime();
    private final RecordingStore store = new RecordingStore();
    private final Events events = new Events();
    private final LeaseRegistry registry = new LeaseRegistry();
    private final LeasePolicy policy =
            new LeasePolicy(5_000, 0, false, (origin, bound) -> origin, this::nextAttempt, null);
    private final List<String> lost = new ArrayList<>();
    private final AtomicInteger attempts = new AtomicInteger();
    private final AtomicInteger refusals = new AtomicInteger();
    private final AtomicInteger lossesThatFail = new AtomicInteger();
    private final Executor background = task -> {
        if (refusals.getAndDecrement() > 0) {
            throw new OutOfMemoryError("unable to create native thread");
        }
        task.run();
    };
    private final EngineContext context =
            new EngineContext(time, background, Runnable::run, Runnable::run, events, EngineContext::random, () -> {});
    private final LeaseRenewer renewer = new LeaseRenewer(store, context, registry, this::lose);

    private void lose(StoreHold hold, String reason) {
        if (lossesThatFail.getAndDecrement() > 0) {
            throw new OutOfMemoryError("Java heap space");
        }
        lost.add(reason);
        hold.lose(reason);
        registry.untrack(hold.id);
    }

    // ---- renewals ----

    @Test
    void aHoldIsRenewedAfterAThirdOfItsTimeOrALittleEarlier() {
        StoreHold hold = watched();
        time.pass(THIRD.minus(EARLY));
        assertThat(store.renewals).isEmpty();

        time.pass(EARLY.plus(PAUSE));

        assertThat(last(store.renewals).command())
                .isEqualTo(new RenewCommand("stock", hold.attempt(), 30_000, false, 0));
        assertThat(remaining(hold))
                .isBetween(BELIEVED.multipliedBy(2).dividedBy(3).minus(PAUSE), BELIEVED.minusSeconds(9));
        time.pass(Duration.ofSeconds(1));
        last(store.renewals).answer(true);
        // Counted from the moment at which the command was sent.
        assertThat(remaining(hold))
                .isBetween(BELIEVED.minusSeconds(1).minus(EARLY.plus(PAUSE)), BELIEVED.minusSeconds(1));
        assertThat(events.renewed).hasSize(1);
    }

    /** The store was in doubt whether the command was a late copy. */
    @Test
    void aHoldThatIsShortIsRenewedAtOnce() {
        StoreHold hold = tracked(LeasePolicy.hold(
                NAMES, SPEC, nextAttempt(), new AcquireReply.Acquired(290, List.of(1L)), context.now(), context.now()));
        renewer.watch(hold);

        time.pass(PAUSE);

        assertThat(store.renewals).hasSize(1);
        last(store.renewals).answer(true);
        assertThat(remaining(hold)).isBetween(BELIEVED.minus(PAUSE), BELIEVED);
    }

    /** It has begun when an earlier one takes its place. */
    @Test
    void aLookThatIsTakenBackTooLateDoesNotGoOnBesideTheNextOne() {
        AtomicInteger tooLate = new AtomicInteger(1);
        Scheduler timer = new EngineFixture.DelegatingScheduler(time) {
            @Override
            public Timeout schedule(Runnable task, long delayNanos) {
                Timeout timeout = super.schedule(task, delayNanos);
                return () -> {
                    if (tooLate.getAndDecrement() <= 0) {
                        timeout.cancel();
                    }
                };
            }
        };
        EngineContext own = new EngineContext(
                timer, background, Runnable::run, Runnable::run, events, EngineContext::random, () -> {});
        LeaseRenewer looking = new LeaseRenewer(store, own, registry, this::lose);
        for (long leaseMillis : List.of(30_000L, 290L)) {
            AcquireReply.Acquired reply = new AcquireReply.Acquired(leaseMillis, List.of(1L));
            looking.watch(tracked(LeasePolicy.hold(NAMES, SPEC, nextAttempt(), reply, time.now(), time.now())));
        }

        time.pass(Duration.ofSeconds(1));

        assertThat(tooLate).hasValueLessThan(1);
        assertThat(time.pending()).isEqualTo(1);
    }

    /** It is due long after the others, which the look that begins just then must see. */
    @Test
    void aHoldThatIsWatchedWhileALookBeginsPutsOffNoOther() throws Exception {
        AtomicReference<Runnable> meanwhile = new AtomicReference<>(() -> {});
        Scheduler timer = new EngineFixture.DelegatingScheduler(time) {
            @Override
            public long nanoTime() {
                meanwhile.getAndSet(() -> {}).run();
                return super.nanoTime();
            }
        };
        EngineContext own = new EngineContext(
                timer, background, Runnable::run, Runnable::run, events, EngineContext::random, () -> {});
        LeaseRenewer looking = new LeaseRenewer(store, own, registry, this::lose);
        AcquireReply.Acquired reply = EngineFixture.acquiredReply(1);
        looking.watch(tracked(LeasePolicy.hold(NAMES, SPEC, nextAttempt(), reply, time.now(), time.now())));
        AcquireSpec hour = AcquireSpec.fixed(ClaimMode.EXCLUSIVE, TimeUnit.HOURS.toMillis(1));
        AcquireReply.Acquired given = new AcquireReply.Acquired(hour.leaseMillis(), List.of(1L));
        StoreHold late = tracked(LeasePolicy.hold(NAMES, hour, nextAttempt(), given, time.now(), time.now()));
        Thread other = new Thread(() -> looking.watch(late));
        meanwhile.set(() -> {
            other.start();
            // It watches the hold now, or as soon as the look lets it.
            Awaitility.await().until(() -> !other.isAlive() || other.getState() == Thread.State.BLOCKED);
        });

        time.pass(UNTIL_RENEWED);

        other.join();
        assertThat(store.renewals).hasSize(1);
    }

    @Test
    void aHoldIsRenewedAgainAndAgain() {
        StoreHold hold = watched();
        for (int i = 1; i <= 10; i++) {
            time.pass(UNTIL_RENEWED);
            assertThat(store.renewals).hasSize(i);
            last(store.renewals).answer(true);
        }

        assertThat(remaining(hold)).isBetween(BELIEVED.minus(EARLY.plus(PAUSE)), BELIEVED);
        assertThat(lost).isEmpty();
        assertThat(time.pending()).isEqualTo(1);
    }

    @Test
    void holdsThatAreDueTogetherAreRenewedTogether() {
        watched();
        time.pass(Duration.ofMillis(50));
        watched();
        time.pass(EARLY);
        watched();

        time.pass(UNTIL_RENEWED);

        assertThat(store.renewalBatches).containsExactly(2, 1);
    }

    @Test
    void aHoldThatEndsLeavesTheOthersInTheirPlaces() {
        List<StoreHold> holds = Stream.generate(this::watched).limit(5).toList();
        release(holds.get(1));
        holds.get(4).lose("the store says that it ended");
        release(holds.get(0));

        time.pass(UNTIL_RENEWED);

        assertThat(store.renewalBatches).containsExactly(2);
        release(holds.get(2));
        store.renewals.forEach(sent -> sent.answer(true));
        time.pass(UNTIL_RENEWED);
        assertThat(store.renewalBatches).containsExactly(2, 1);
    }

    @Test
    void aRenewalThatFailsIsRepeatedUntilItWorks() {
        StoreHold hold = watched();
        time.pass(UNTIL_RENEWED);
        last(store.renewals).fail();
        assertThat(events.failedRenewals).hasSize(1);
        time.pass(Duration.ofMillis(900));
        assertThat(store.renewals).hasSize(1);

        time.pass(Duration.ofMillis(100).plus(PAUSE));
        assertThat(store.renewals).hasSize(2);
        last(store.renewals).answer(true);

        assertThat(remaining(hold)).isBetween(BELIEVED.minus(PAUSE), BELIEVED);
        assertThat(lost).isEmpty();
    }

    /** What may go wrong once on the way to the store, and back. */
    static Stream<Named<Consumer<LeaseRenewerTest>>> troubles() {
        return Stream.of(
                Named.of(
                        "the store throws an Error",
                        test -> test.store.uponRenewal = sent -> {
                            throw new NoClassDefFoundError("of the driver");
                        }),
                Named.of("the store gives no answers", test -> test.store.renewalsUnanswered = 1),
                Named.of(
                        "the answer is null",
                        test -> test.store.uponRenewal = sent -> sent.reply().complete(null)),
                Named.of("no thread can be had", test -> test.refusals.set(1)));
    }

    @ParameterizedTest
    @MethodSource("troubles")
    void oneErrorDoesNotCostTheLock(Consumer<LeaseRenewerTest> trouble) {
        StoreHold hold = watched();
        trouble.accept(this);
        time.pass(UNTIL_RENEWED);
        assertThat(lost).isEmpty();
        int before = store.renewals.size();
        store.uponRenewal = sent -> sent.answer(true);

        time.pass(Duration.ofSeconds(1).plus(PAUSE));

        assertThat(store.renewals).hasSizeGreaterThan(before);
        time.pass(BELIEVED);
        assertThat(hold.isValid(context.now())).isTrue();
        assertThat(lost).isEmpty();
    }

    // ---- losses ----

    @Test
    void aHoldIsLostAtItsDeadlineWhenNoRenewalWorks() {
        watched();
        Duration step = Duration.ofMillis(1);
        for (Duration passed = step; passed.compareTo(BELIEVED) < 0; passed = passed.plus(step)) {
            time.pass(step);
            store.renewals.stream().filter(sent -> !sent.reply().isDone()).forEach(RecordingStore.Sent::fail);
            assertThat(lost).isEmpty();
        }
        assertThat(store.renewals).hasSizeGreaterThan(20);

        time.pass(step);

        assertThat(lost).containsExactly("its lease ended before it was renewed");
    }

    @Test
    void aHoldIsLostAtItsDeadlineWhenNoRenewalIsAnswered() {
        watched();
        time.pass(BELIEVED.minusMillis(1));
        assertThat(store.renewals).hasSize(1);
        assertThat(lost).isEmpty();

        time.pass(Duration.ofMillis(1));

        assertThat(lost).hasSize(1);
    }

    @Test
    void aHoldIsLostWhenTheStoreSaysSo() {
        watched();
        time.pass(UNTIL_RENEWED);

        last(store.renewals).answer(false);

        assertThat(lost).containsExactly("the store says that it ended");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void severalLocksAreLostWhenTheStoreSaysSoOfOne(int gone) {
        LockRequest both = LockRequest.of("order", "stock");
        AcquireSpec spec = AcquireSpec.single(both, LEASE_MILLIS);
        ClockReading now = context.now();
        AcquireReply.Acquired reply = new AcquireReply.Acquired(LEASE_MILLIS, List.of(1L, 1L));
        renewer.watch(tracked(LeasePolicy.hold(both.names(), spec, nextAttempt(), reply, now, now)));
        time.pass(UNTIL_RENEWED);

        store.renewals.get(1 - gone).answer(true);
        assertThat(lost).isEmpty();
        store.renewals.get(gone).answer(false);

        assertThat(lost).containsExactly("the store says that it ended");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void oneLockThatIsGoneSaysMoreThanAFailureForAnother(int gone) {
        CompletableFuture<Boolean> failed = new CompletableFuture<>();
        CompletableFuture<Boolean> no = new CompletableFuture<>();
        CompletableFuture<Boolean> all = LeaseRenewer.all(gone == 0 ? List.of(no, failed) : List.of(failed, no));

        failed.completeExceptionally(new StoreException("no answer within 2 s", null));
        no.complete(false);

        assertThat(all).isCompletedWithValue(false);
    }

    @Test
    void aLossThatCannotBeToldIsToldAgain() {
        watched();
        lossesThatFail.set(2);

        time.pass(BELIEVED.plus(LOOK));

        assertThat(lost).hasSize(1);
    }

    /** How time may run on while no timer does. */
    static Stream<Named<Consumer<ManualTime>>> gaps() {
        return Stream.of(
                Named.of("the wall clock jumps", time -> time.jumpWall(BELIEVED)),
                Named.of("the process is stopped", time -> time.passUnnoticed(BELIEVED)),
                Named.of(
                        "the machine is suspended, and its monotonic clock with it",
                        time -> time.jumpWall(Duration.ofDays(1))));
    }

    @ParameterizedTest
    @MethodSource("gaps")
    void aHoldThatEndedWhileNoTimerRanIsToldLostAtTheNextLook(Consumer<ManualTime> gap) {
        watched();
        time.pass(Duration.ofSeconds(5));

        gap.accept(time);
        time.pass(LOOK);

        assertThat(lost).containsExactly("its lease ended before it was renewed");
        assertThat(store.renewals).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("gaps")
    void anAnswerThatComesAfterTheDeadlineBringsNothingBack(Consumer<ManualTime> gap) {
        StoreHold hold = watched();
        time.pass(UNTIL_RENEWED);
        gap.accept(time);

        last(store.renewals).answer(true);

        assertThat(hold.isValid(context.now())).isFalse();
        time.jumpWall(Duration.ofDays(-2));
        assertThat(hold.isValid(context.now()))
                .as("after the wall clock went back")
                .isFalse();
        time.pass(LOOK);
        assertThat(lost).hasSize(1);
    }

    @Test
    void aJumpOfTheClockBringsRenewalsForward() {
        StoreHold hold = watched();
        time.jumpWall(BELIEVED.minusSeconds(1));

        time.pass(LOOK);

        assertThat(store.renewals).hasSize(1);
        last(store.renewals).answer(true);
        assertThat(remaining(hold)).isBetween(BELIEVED.minus(LOOK), BELIEVED);
        assertThat(lost).isEmpty();
    }

    @Test
    void aHoldIsOverAtItsDeadlineOnTheWallClockTooAndStaysSo() {
        StoreHold hold = watched();
        time.jumpWall(BELIEVED.minusMillis(1));
        assertThat(hold.isValid(context.now())).isTrue();

        time.jumpWall(Duration.ofMillis(1));

        assertThat(hold.isValid(context.now())).isFalse();
        time.jumpWall(BELIEVED.negated());
        assertThat(hold.isValid(context.now())).isFalse();
    }

    @Test
    void aWallClockThatGoesBackDoesNotProlongAHold() {
        StoreHold hold = watched();
        time.jumpWall(Duration.ofHours(-1));

        time.pass(BELIEVED.minusMillis(1));
        assertThat(hold.isValid(context.now())).isTrue();
        time.pass(Duration.ofMillis(1));

        assertThat(lost).hasSize(1);
    }

    // ---- the timer ----

    /** Each task that waits costs memory, and each that is due wakes a thread. */
    @Test
    void holdsShareOneTaskOfTheTimerAndLeaveNoneBehind() {
        List<StoreHold> holds = Stream.generate(this::watched).limit(100).toList();
        assertThat(time.pending()).isEqualTo(1);
        time.pass(UNTIL_RENEWED);
        assertThat(store.renewalBatches).containsExactly(100);
        assertThat(time.pending()).isEqualTo(1);
        store.renewals.forEach(sent -> sent.answer(true));
        assertThat(time.pending()).isEqualTo(1);

        holds.forEach(this::release);
        time.pass(LOOK);

        assertThat(time.pending()).isZero();
        time.pass(BELIEVED);
        assertThat(store.renewalBatches).hasSize(1);
    }

    @Test
    void noTaskIsLeftAfterALossEither() {
        watched();

        time.pass(BELIEVED.plus(LOOK));

        assertThat(lost).hasSize(1);
        assertThat(time.pending()).isZero();
    }

    @Test
    void tasksOfReleasedHoldsDoNotPileUp() {
        for (int i = 0; i < 1_000; i++) {
            StoreHold hold = watched();
            time.pass(Duration.ofMillis(200));
            release(hold);
            assertThat(time.pending()).isLessThanOrEqualTo(1);
        }

        assertThat(store.renewals).isEmpty();
    }

    @Test
    void nothingIsRenewedAfterARelease() {
        StoreHold before = watched();
        StoreHold asked = watched();
        release(before);
        time.pass(UNTIL_RENEWED);
        assertThat(store.renewalBatches).containsExactly(1);
        release(asked);

        last(store.renewals).answer(true);
        time.pass(BELIEVED);

        assertThat(store.renewals).hasSize(1);
        assertThat(lost).isEmpty();
        assertThat(time.pending()).isZero();
    }

    // ---- fixed leases ----

    @Test
    void aFixedLeaseIsNotRenewedAndEndsByItself() {
        AcquireSpec fixed = AcquireSpec.fixed(ClaimMode.EXCLUSIVE, 5_000);
        AcquireReply.Acquired reply = new AcquireReply.Acquired(fixed.leaseMillis(), List.of(1L));
        renewer.watch(tracked(LeasePolicy.hold(NAMES, fixed, nextAttempt(), reply, context.now(), context.now())));
        time.pass(Duration.ofMillis(4_999));
        assertThat(lost).isEmpty();

        time.pass(Duration.ofMillis(1));

        assertThat(lost).containsExactly("its lease time is over");
        assertThat(store.renewals).isEmpty();
    }

    @Test
    void aGrantedFixedLeaseIsExtendedOnceToItsEnd() {
        StoreHold hold = grantedFor(Duration.ofSeconds(10));
        assertThat(remaining(hold)).isEqualTo(Duration.ofMillis(2_900));
        renewer.watch(hold);

        time.pass(Duration.ofMillis(2_900).dividedBy(3).plus(PAUSE));
        assertThat(last(store.renewals).command().leaseMillis()).isBetween(9_030L, 9_310L);
        last(store.renewals).answer(true);
        assertThat(hold.deadline()).isEqualTo(hold.fixedEnd());

        time.pass(Duration.ofSeconds(10));
        assertThat(store.renewals).hasSize(1);
        assertThat(lost).containsExactly("its lease time is over");
    }

    @Test
    void theStoreKeepsALongFixedLeaseLongerThanItsHolderBelieves() {
        StoreHold hold = grantedFor(Duration.ofHours(1));
        renewer.watch(hold);

        time.pass(Duration.ofMillis(2_900).dividedBy(3).plus(PAUSE));

        long kept = last(store.renewals).command().leaseMillis();
        ClockReading end = Objects.requireNonNull(hold.fixedEnd());
        assertThat(kept - TimeUnit.NANOSECONDS.toMillis(end.nanosFrom(context.now())))
                .isGreaterThan(35_000);
    }

    // ---- what is said ----

    @Test
    void manyFailedRenewalsAreOneLine() {
        Logger logger = (Logger) LoggerFactory.getLogger(LeaseRenewer.class);
        Level level = logger.getLevel();
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        logger.setLevel(Level.WARN);
        logger.setAdditive(false);
        logger.addAppender(lines);
        try {
            for (int i = 0; i < 1_000; i++) {
                watched(LockRequest.of("order:" + i));
            }
            time.pass(UNTIL_RENEWED);
            List.copyOf(store.renewals).forEach(RecordingStore.Sent::fail);
            String first = store.renewals.get(0).command().name();
            assertThat(lines.list)
                    .extracting(ILoggingEvent::getFormattedMessage)
                    .singleElement()
                    .asString()
                    .contains("'" + first + "'", "(0 other failures");

            time.pass(Duration.ofSeconds(10));
            last(store.renewals).fail();

            assertThat(lines.list)
                    .extracting(ILoggingEvent::getFormattedMessage)
                    .hasSize(2)
                    .last()
                    .asString()
                    .contains("'" + last(store.renewals).command().name() + "'", "(999 other failures");
            assertThat(events.failedRenewals).hasSize(1_001);
        } finally {
            logger.detachAppender(lines);
            logger.setAdditive(true);
            logger.setLevel(level);
        }
    }

    private AcquireSpec.AttemptId nextAttempt() {
        return new AcquireSpec.AttemptId("attempt", attempts.incrementAndGet());
    }

    private StoreHold watched() {
        return watched(EngineFixture.REQUEST);
    }

    private StoreHold watched(LockRequest request) {
        ClockReading now = context.now();
        AcquireReply.Acquired reply = EngineFixture.acquiredReply(1);
        StoreHold hold = tracked(LeasePolicy.hold(request.names(), SPEC, nextAttempt(), reply, now, now));
        renewer.watch(hold);
        return hold;
    }

    private StoreHold grantedFor(Duration leaseTime) {
        AcquireSpec fixed = AcquireSpec.fixed(ClaimMode.EXCLUSIVE, leaseTime.toMillis());
        ClockReading now = context.now();
        long storeMillis = EngineFixture.storeMillis(time);
        AcquireAttempt.State.Queued queued = new AcquireAttempt.State.Queued();
        queued.placed(new AcquireReply.Queued("other1", 20_000, storeMillis), now);
        Grant grant = new Grant("granted", "stock", 1, storeMillis + EngineFixture.GRANT_MILLIS);
        return tracked(Objects.requireNonNull(policy.hold(NAMES, fixed, nextAttempt(), queued, grant, now)));
    }

    /** The renewer finds holds in the local locks that the registry knows. */
    private StoreHold tracked(StoreHold hold) {
        registry.track(hold.id, new LocalLock(hold, policy));
        return hold;
    }

    private void release(StoreHold hold) {
        hold.end();
        registry.untrack(hold.id);
    }

    private Duration remaining(StoreHold hold) {
        return Duration.ofNanos(hold.deadline().nanosFrom(context.now()));
    }
}
