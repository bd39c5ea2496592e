/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.EngineFixture.BELIEVED;
import static io.lockkeeper.engine.EngineFixture.FOREVER;
import static io.lockkeeper.engine.EngineFixture.MAX_PASS_TIME;
import static io.lockkeeper.engine.EngineFixture.REQUEST;
import static io.lockkeeper.engine.EngineFixture.acquiredReply;
import static io.lockkeeper.engine.EngineFixture.assertFailure;
import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockInstance;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStatus;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How requests begin and end, which commands go to the store for them, which are repeated, and what closing leaves. */
class LocalLockManagerTest {

    private static final LockRequest WAITING = REQUEST.withWaitTime(Duration.ofSeconds(4));
    private static final Duration DELAY = Duration.ofMillis(100);

    private final EngineFixture fixture = new EngineFixture();
    private final LocalLockManager manager = fixture.manager;
    private final RecordingStore store = fixture.store;
    private final ManualTime time = fixture.time;

    // ---- when a hold began ----

    @Test
    void aHoldBeganByTheClockOfTheStore() {
        store.clock = () -> 1_234;
        assertHeldSince(1_234);
    }

    @Test
    void aHoldBeganByTheOwnClockWhereTheStoreHasNone() {
        assertHeldSince(time.currentTimeMillis());
    }

    @Test
    void aStoreThatCannotTellItsTimeKeepsNobodyFromTheLock() {
        store.clock = () -> {
            throw new IllegalStateException("no clock");
        };
        assertHeldSince(time.currentTimeMillis());
    }

    private void assertHeldSince(long millis) {
        ManagedLease lease = fixture.holds(7);

        assertThat(manager.inspection.holderOf(lease.hold().attempt(), 0).join())
                .extracting(LockInstance::heldSince)
                .isEqualTo(Instant.ofEpochMilli(millis));
    }

    @Test
    void aStatusGoesOnWithoutNamesThatDoNotComeAndTheNextOneAsksAnew() {
        String client = "otherclient1";
        store.stored = Optional.of(RecordingStore.ownedBy(client + "00000001"));
        store.described = new CompletableFuture<>();
        CompletableFuture<Optional<LockStatus>> first = manager.inspection.describe("stock");
        time.pass(Duration.ofSeconds(3));
        CompletableFuture<Optional<LockStatus>> second = manager.inspection.describe("stock");
        time.pass(Duration.ofSeconds(2));
        store.described = CompletableFuture.completedFuture(List.of(StoredInstance.ofThisProcess(client, "shop", "")));
        CompletableFuture<Optional<LockStatus>> third = manager.inspection.describe("stock");

        assertHolder(first, client);
        assertHolder(second, client);
        assertHolder(third, "shop");
    }

    private static void assertHolder(CompletableFuture<Optional<LockStatus>> status, String application) {
        assertThat(status).isCompleted();
        assertThat(status.join().orElseThrow().holders())
                .extracting(LockInstance::application)
                .containsExactly(application);
    }

    // ---- waits ----

    @Test
    void aWaitEndsWhenItsTimeIsUp() {
        PendingRequest caller = fixture.begin(WAITING);
        fixture.queued();

        time.pass(Duration.ofMillis(3_999));
        assertThat(caller).isNotDone();
        time.pass(Duration.ofMillis(1));
        last(store.releases).fail();

        assertFailure(caller, LockNotAcquiredException.class);
        fixture.assertEmpty();
    }

    @Test
    void aRefusalComesWhenThePlaceIsGoneUnlessThatTakesLong() {
        PendingRequest caller = fixture.begin(WAITING);
        fixture.queued();

        time.pass(Duration.ofSeconds(4));
        assertThat(caller).isNotDone();
        time.pass(Duration.ofNanos(ActionExecutor.PLACE_GONE_NANOS));

        assertFailure(caller, LockNotAcquiredException.class);
    }

    @Test
    void aCallerWhoGivesUpGivesThePlaceUpAndHearsWhenItIsGone() {
        PendingRequest caller = fixture.begin(WAITING);
        fixture.queued();

        CompletableFuture<?> gone = manager.withdraw(caller);

        assertThat(caller).isCancelled();
        assertThat(gone).isNotDone();
        assertThat(last(store.releases).command().attempt()).isEqualTo(lastAttempt());
        fixture.assertEmpty();
        last(store.releases).answer(ReleaseReply.LEFT_QUEUE);
        assertThat(gone).isCompleted();
    }

    @Test
    void aLeaseForACallerWhoGaveUpBeforeItLeftGoesBack() {
        ManagedLease first = fixture.holds(100);
        PendingRequest gaveUp = fixture.begin(REQUEST);
        PendingRequest third = fixture.begin(REQUEST);
        gaveUp.cancel(false);

        first.closeAsync();

        assertThat(third.join().fencingToken()).isEqualTo(102);
        assertThat(store.releases).isEmpty();
    }

    @Test
    void aCallerWhoEndsTheFutureInItsHandsIsNoticedByALook() {
        CompletableFuture<Object> result = new CompletableFuture<>();
        EngineFixture.begin(manager, WAITING.withWaitTime(FOREVER), result);
        fixture.queued();

        result.cancel(false);
        time.pass(Duration.ofMillis(250));

        assertThat(last(store.releases).command().attempt()).isEqualTo(lastAttempt());
        fixture.assertEmpty();
    }

    /** The timer may be sooner than the thread that gives it its task. */
    @Test
    void aWaitWhoseTimeIsUpAtOnceEndsAllTheSame() {
        AtomicInteger immediate = new AtomicInteger(1);
        Scheduler eager = new EngineFixture.DelegatingScheduler(time) {
            @Override
            public Timeout schedule(Runnable task, long delay) {
                if (delay <= Duration.ofMillis(1).toNanos() && immediate.getAndDecrement() > 0) {
                    task.run();
                    return () -> {};
                }
                return super.schedule(task, delay);
            }
        };
        EngineContext context = new EngineContext(
                eager, Runnable::run, Runnable::run, Runnable::run, fixture.events, EngineContext::random, () -> {});
        LocalLockManager own = EngineFixture.manager(store, fixture.events, context);
        PendingRequest caller =
                EngineFixture.begin(own, REQUEST.withWaitTime(Duration.ofMillis(1)), new CompletableFuture<>());

        time.pass(Duration.ofMillis(100));

        assertFailure(caller, StoreException.class);
    }

    @Test
    void aNewcomerAtAHoldWhoseTimeIsOverMakesItLostForGood() {
        List<LockLostException> told = new ArrayList<>();
        ManagedLease late = fixture.holds(100);
        late.onLost(told::add);
        time.pass(BELIEVED.dividedBy(3).plusMillis(6));
        time.passUnnoticed(BELIEVED);

        PendingRequest next = fixture.begin(REQUEST);
        last(store.renewals).answer(true);

        assertThat(late.isHeld()).isFalse();
        assertThat(told).hasSize(1);
        assertThat(fixture.events.lost).hasSize(1);
        fixture.acquired(200);
        assertThat(next.join().isHeld()).isTrue();
    }

    @Test
    void aNewcomerAtAHoldWhoseTimeIsOverDoesNotEndTheWaitsOfOthers() {
        fixture.holds(100);
        PendingRequest old = fixture.begin(REQUEST);
        time.passUnnoticed(Duration.ofSeconds(31));
        fixture.begin(REQUEST);

        last(store.acquires).fail();

        assertThat(old).isNotDone();
    }

    // ---- fair callers ----

    @Test
    void fairCallersAskTheStoreOneAfterTheOther() {
        fixture.begin(WAITING.withMode(LockMode.FAIR));
        fixture.begin(WAITING.withMode(LockMode.FAIR));
        assertThat(store.acquires).hasSize(1);

        fixture.queued();

        assertThat(store.acquires).hasSize(2);
    }

    @Test
    void aFairCallerWhoGaveUpBeforeItsTurnHoldsNoOneUp() {
        fixture.begin(WAITING.withMode(LockMode.FAIR));
        PendingRequest second = fixture.begin(WAITING.withMode(LockMode.FAIR));
        PendingRequest third = fixture.begin(WAITING.withMode(LockMode.FAIR));
        assertThat(manager.withdraw(second)).isCompleted();

        fixture.queued();
        fixture.acquired(100);

        assertThat(third.join().isHeld()).isTrue();
    }

    // ---- retries ----

    @Test
    void aCallerTriesOnceAndThenAsOftenAsItAskedFor() {
        PendingRequest caller = fixture.begin(retrying(2));
        for (int made = 1; made <= 3; made++) {
            assertThat(store.acquires).hasSize(made);
            assertThat(last(store.acquires).command().queue()).isFalse();
            assertThat(caller).isNotDone();
            busy();
            time.pass(DELAY.multipliedBy(2));
        }

        assertThat(store.acquires).hasSize(3);
        assertThat(caller)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .havingCause()
                .isInstanceOfSatisfying(LockNotAcquiredException.class, refusal -> {
                    assertThat(refusal.attempts()).isEqualTo(3);
                    assertThat(refusal.waited()).isBetween(DELAY, DELAY.multipliedBy(5));
                });
        fixture.assertEmpty();
    }

    @Test
    void theDelayVariesByUpToAHalfInBothDirections() {
        List<Duration> delays = new ArrayList<>();
        fixture.begin(retrying(500));
        for (int i = 1; i <= 500; i++) {
            busy();
            Duration waited = Duration.ZERO;
            while (store.acquires.size() == i) {
                time.pass(Duration.ofMillis(1));
                waited = waited.plusMillis(1);
            }
            delays.add(waited);
        }

        assertThat(delays).allMatch(delay -> delay.compareTo(DELAY.dividedBy(2)) >= 0);
        assertThat(delays)
                .allMatch(delay -> delay.compareTo(DELAY.multipliedBy(3).dividedBy(2)) <= 0);
        assertThat(delays).anyMatch(delay -> delay.toMillis() < 70).anyMatch(delay -> delay.toMillis() > 130);
    }

    @Test
    void anOverlongDelayIsWaitedFor() {
        PendingRequest caller = fixture.begin(REQUEST.withRetries(1, Duration.ofSeconds(Long.MAX_VALUE)));
        busy();

        time.pass(Duration.ofMinutes(10));

        assertThat(caller).isNotDone();
        assertThat(store.acquires).hasSize(1);
    }

    @Test
    void aLeaseKnowsHowOftenItsCallerTried() {
        PendingRequest caller = fixture.begin(retrying(5));
        busy();
        time.pass(DELAY.multipliedBy(2));
        fixture.acquired(100);

        fixture.received(caller);

        assertThat(fixture.events.acquired).singleElement().satisfies(event -> assertThat(event.attempts())
                .isEqualTo(2));
    }

    @Test
    void aFailingStoreEndsTheRetries() {
        PendingRequest caller = fixture.begin(retrying(5));

        last(store.acquires).fail();

        assertFailure(caller, StoreException.class);
        time.pass(DELAY.multipliedBy(2));
        assertThat(store.acquires).hasSize(1);
        fixture.assertEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallerWhoGivesUpDoesNotTryAgain(boolean betweenTwoTries) {
        PendingRequest caller = fixture.begin(retrying(5));
        if (betweenTwoTries) {
            busy();
        }

        manager.withdraw(caller);
        if (!betweenTwoTries) {
            busy();
        }
        time.pass(DELAY.multipliedBy(2));

        assertThat(store.acquires).hasSize(1);
        fixture.assertEmpty();
    }

    // ---- messages ----

    /** The second release came first, and the next holder came and went before the first one. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aReleaseThatComesBehindTheOneOfALatePollTellsOfNoLoss(boolean handsOver) {
        List<LockLostException> losses = new ArrayList<>();
        PendingRequest caller = fixture.begin(REQUEST);
        fixture.queued();
        time.pass(RecordingStore.TRAITS.pollInterval().plusSeconds(1));
        fixture.granted(100);
        ManagedLease lease = fixture.received(caller);
        lease.onLost(losses::add);
        if (handsOver) {
            fixture.begin(REQUEST);
            time.pass(Duration.ofSeconds(1));
        }
        CompletableFuture<ReleaseResult> result = lease.closeAsync();
        store.acquires.get(1).answer(new AcquireReply.Acquired(EngineFixture.LEASE_MILLIS, List.of(100L)));
        last(store.releases).answer(ReleaseReply.RELEASED);

        if (handsOver) {
            last(store.handOvers).answer(new HandOverReply(false, new AcquireReply.Ended()));
        } else {
            assertThat(store.releases).hasSize(2);
            store.releases.get(0).answer(ReleaseReply.NOT_HELD);
        }

        assertThat(result).isCompletedWithValue(ReleaseResult.UNKNOWN);
        assertThat(losses).isEmpty();
    }

    @Test
    void aLateAnswerThatTheLockIsHeldDoesNotEndAMinimumHoldTime() {
        PendingRequest caller = fixture.begin(REQUEST.withMinHoldTime(Duration.ofSeconds(2)));
        fixture.queued();
        time.pass(RecordingStore.TRAITS.pollInterval().plusSeconds(1));
        assertThat(store.acquires).hasSize(2);
        fixture.granted(100);
        fixture.received(caller).closeAsync();
        time.pass(Duration.ofSeconds(1));

        fixture.acquired(100);

        assertThat(store.releases).hasSize(2);
        assertThat(last(store.releases).command().keepMillis()).isEqualTo(1_000);
    }

    @Test
    void theNewsOfAGrantThatComesAgainDuringTheReleaseDoesNotReleaseOnceMore() {
        PendingRequest caller = fixture.begin(REQUEST.withMinHoldTime(Duration.ofSeconds(2)));
        fixture.queued();
        Grant grant = fixture.grant(100);
        manager.granted(grant);
        fixture.received(caller).closeAsync();

        manager.granted(grant);

        assertThat(store.releases)
                .singleElement()
                .satisfies(sent -> assertThat(sent.command().keepMillis()).isEqualTo(2_000));
    }

    @Test
    void theNewsOfAGrantAfterALateAnswerDoesNotEndAMinimumHoldTimeEither() {
        PendingRequest caller = fixture.begin(REQUEST.withMinHoldTime(Duration.ofSeconds(2)));
        fixture.queued();
        time.pass(RecordingStore.TRAITS.pollInterval().plusSeconds(1));
        Grant grant = fixture.grant(100);
        manager.granted(grant);
        fixture.received(caller).closeAsync();
        fixture.acquired(100);

        manager.granted(grant);

        assertThat(store.releases)
                .hasSize(2)
                .allSatisfy(sent -> assertThat(sent.command().keepMillis()).isEqualTo(2_000));
    }

    /** Its tokens stay given out: where the news is old they were used, and the true release may come after this one. */
    @Test
    void aGrantForAnAttemptThatHasEndedIsGivenBack() {
        manager.granted(new Grant("CLIENT00000000000009", "stock", 100, 3_000));

        assertThat(last(store.releases).command())
                .isEqualTo(new ReleaseCommand(List.of("stock"), "CLIENT00000000000009", 0, 0));
        last(store.releases).fail();
        time.pass(Duration.ofMillis(300));
        assertThat(store.releases).hasSize(2);
    }

    @Test
    void aGrantGoesToTheOneWhoWaitsAndASecondCopyOfItToNoOne() {
        PendingRequest caller = fixture.begin(REQUEST);
        fixture.queued();
        fixture.granted(100);

        fixture.granted(100);

        assertThat(caller.join().fencingToken()).isEqualTo(100);
        assertThat(store.releases).isEmpty();
    }

    @Test
    void aHoldThatIsTakenAwayByForceIsLost() {
        ManagedLease lease = fixture.holds(100);

        manager.revoked(lease.hold().attempt());

        assertThat(lease.isHeld()).isFalse();
        assertThat(fixture.events.lost).hasSize(1);
    }

    @Test
    void aWaitingAttemptAsksAgainWhenTheHoldMayBeOver() {
        fixture.begin(REQUEST);
        last(store.acquires).answer(new AcquireReply.Queued("other1", 1_000, fixture.storeMillis()));
        time.pass(Duration.ofMillis(1_004));
        assertThat(store.acquires).hasSize(1);

        time.pass(Duration.ofMillis(75));

        assertThat(store.acquires).hasSize(2);
        assertThat(last(store.acquires).command())
                .isEqualTo(store.acquires.get(0).command());
    }

    @Test
    void aWaitingAttemptAsksAgainAfterThePollIntervalAtTheLatest() {
        fixture.begin(REQUEST);
        fixture.queued();

        time.pass(Duration.ofMillis(5_275));

        assertThat(store.acquires).hasSize(2);
    }

    @Test
    void everyWaitingAttemptAsksAtOnceWhenGrantsMayHaveBeenMissed() {
        fixture.begin(REQUEST);
        fixture.queued();

        manager.channelRestored();

        assertThat(store.acquires).hasSize(2);
    }

    @Test
    void anAttemptThatHasTheLockDoesNotAskAgain() {
        PendingRequest caller = fixture.begin(REQUEST);
        fixture.queued();
        fixture.granted(100);
        store.uponRenewal = sent -> sent.answer(true);

        time.pass(Duration.ofSeconds(30));

        assertThat(store.acquires).hasSize(1);
        assertThat(caller.join().isHeld()).isTrue();
    }

    /** The refusal of another caller brings the news while the poll is not set yet. */
    @Test
    void theNewsThatALockIsSoonFreeIsNotUndoneByTheAnswerBeforeIt() {
        fixture.begin(REQUEST);
        PendingRequest impatient = fixture.begin(REQUEST.withWaitTime(Duration.ZERO));
        impatient.whenComplete((lease, refusal) -> manager.freeIn(lastAttempt(), 300));

        fixture.queued();
        time.pass(Duration.ofMillis(400));

        assertThat(store.acquires).hasSize(2);
    }

    // ---- commands that are repeated ----

    @Test
    void whatIsGivenUpIsReleasedOnceMoreWhenItsLastCommandMayHaveArrived() {
        PendingRequest caller = fixture.begin(REQUEST);
        fixture.queued();
        manager.withdraw(caller);
        last(store.releases).answer(ReleaseReply.NOT_HELD);

        assertOneMoreReleaseWhenTheLastCommandMayHaveArrived();
    }

    /** A poll may still be on its way, and nothing in the store would refuse it. */
    @Test
    void whatTheStoreDoesNotKnowIsReleasedOnceMoreWhenItsLastCommandMayHaveArrived() {
        ManagedLease lease = fixture.holds(100);
        CompletableFuture<ReleaseResult> released = lease.closeAsync();
        last(store.releases).answer(ReleaseReply.NOT_HELD);
        assertThat(released).isCompletedWithValue(ReleaseResult.LOST);

        assertOneMoreReleaseWhenTheLastCommandMayHaveArrived();
    }

    private void assertOneMoreReleaseWhenTheLastCommandMayHaveArrived() {
        time.pass(Duration.ofMillis(1_999));
        assertThat(store.releases).hasSize(1);
        time.pass(Duration.ofMillis(1));

        assertThat(store.releases).hasSize(2);
        assertThat(last(store.releases).command()).isEqualTo(new ReleaseCommand(List.of("stock"), lastAttempt(), 0, 0));
        last(store.releases).answer(ReleaseReply.NOT_HELD);
        time.pass(Duration.ofMinutes(1));
        assertThat(store.releases).hasSize(2);
    }

    @Test
    void aReleaseThatIsNotAnsweredIsUnknownAndRepeated() {
        ManagedLease lease = fixture.holds(100);
        CompletableFuture<ReleaseResult> released = lease.closeAsync();
        last(store.releases).fail();
        assertThat(released).isCompletedWithValue(ReleaseResult.UNKNOWN);

        time.pass(Duration.ofMillis(300));
        assertThat(store.releases).hasSize(2);
        assertThat(last(store.releases).command())
                .isEqualTo(store.releases.get(0).command());

        last(store.releases).answer(ReleaseReply.RELEASED);
        time.pass(Duration.ofMinutes(1));
        assertThat(store.releases).hasSize(2);
    }

    /** Two command timeouts are all that closing waits for releases. */
    @ParameterizedTest
    @ValueSource(longs = {1, 300, 2_000, 20_000})
    void theRepetitionsOfAReleaseAreHalfACommandTimeoutApartAtMost(long commandMillis) {
        EngineFixture quick = new EngineFixture(Duration.ZERO, Duration.ofMillis(commandMillis));
        quick.holds(100).closeAsync();
        Duration longest = Duration.ofMillis(Math.max(200, Math.min(1_600, commandMillis / 2)));

        for (int repeated = 1; repeated <= 12; repeated++) {
            last(quick.store.releases).fail();
            quick.time.pass(longest);

            assertThat(quick.store.releases).hasSize(repeated + 1);
        }
    }

    /** Or the lock stays taken for its lease. */
    @Test
    void closingWaitsForTheRepetitionOfARelease() {
        fixture.holds(100).closeAsync();
        last(store.releases).fail();

        CompletableFuture<?> closed = manager.close(null, time);
        time.pass(Duration.ofMillis(100));
        assertThat(closed).isNotDone();
        time.pass(Duration.ofMillis(100));
        last(store.releases).answer(ReleaseReply.RELEASED);

        assertThat(store.releases).hasSize(2);
        assertThat(closed).isCompleted();
    }

    @Test
    void aHandOverIsOneCommandForBothAttempts() {
        ManagedLease first = fixture.holds(100);
        PendingRequest second = fixture.begin(REQUEST);
        time.pass(MAX_PASS_TIME);
        CompletableFuture<ReleaseResult> released = first.closeAsync();

        last(store.handOvers).answer(new HandOverReply(true, acquiredReply(101)));

        assertThat(released).isCompletedWithValue(ReleaseResult.RELEASED);
        assertThat(second.join().fencingToken()).isEqualTo(101);
        assertThat(store.acquires).hasSize(1);
        assertThat(store.releases).isEmpty();
    }

    @Test
    void aHandOverOfWhatTheStoreDoesNotKnowReleasesItOnceMore() {
        ManagedLease first = fixture.holds(100);
        fixture.begin(REQUEST);
        time.pass(MAX_PASS_TIME);
        CompletableFuture<ReleaseResult> released = first.closeAsync();
        last(store.handOvers).answer(new HandOverReply(false, new AcquireReply.Ended()));
        assertThat(released).isCompletedWithValue(ReleaseResult.LOST);
        assertThat(store.releases).isEmpty();

        time.pass(Duration.ofSeconds(2));

        assertThat(last(store.releases).command())
                .isEqualTo(new ReleaseCommand(List.of("stock"), first.hold().attempt(), 0, 0));
    }

    @Test
    void aHandOverThatIsNotAnsweredReleasesBothAttemptsAndKeepsThoseWhoWait() {
        ManagedLease first = fixture.holds(100);
        PendingRequest second = fixture.begin(REQUEST);
        time.pass(MAX_PASS_TIME);
        CompletableFuture<ReleaseResult> released = first.closeAsync();

        last(store.handOvers).fail();

        assertThat(released).isCompletedWithValue(ReleaseResult.UNKNOWN);
        assertThat(second).isNotDone();
        assertThat(store.releases)
                .extracting(sent -> sent.command().attempt())
                .containsExactlyInAnyOrder(
                        first.hold().attempt(),
                        last(store.handOvers).command().next().attempt());

        time.pass(Duration.ofSeconds(2));
        fixture.acquired(102);
        assertThat(second.join().fencingToken()).isEqualTo(102);
    }

    // ---- the end ----

    @Test
    void closingRefusesThoseWhoWaitOrCome() {
        PendingRequest idle = fixture.begin(WAITING);
        PendingRequest nested = fixture.begin(WAITING, true);
        fixture.queued();
        store.uponRelease = sent -> sent.answer(ReleaseReply.LEFT_QUEUE);

        assertThat(manager.close(null, time)).isCompleted();

        assertFailure(idle, StoreException.class);
        assertFailure(nested, StoreException.class);
        assertFailure(fixture.begin(WAITING), StoreException.class);
        assertFailure(fixture.begin(WAITING, true), StoreException.class);
        assertThat(store.releases).hasSize(1);
        fixture.assertEmpty();
    }

    @Test
    void closingRefusesThoseWhoAreAboutToTryAgain() {
        PendingRequest retrying = fixture.begin(retrying(5));
        busy();
        assertThat(retrying).isNotDone();

        assertThat(manager.close(null, time)).isCompleted();

        assertFailure(retrying, StoreException.class);
        time.pass(Duration.ofSeconds(1));
        assertThat(store.acquires).hasSize(1);
        fixture.assertEmpty();
    }

    @Test
    void closingReleasesWhatIsLeft() {
        ManagedLease lease = fixture.holds(100);
        store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);

        assertThat(manager.close(null, time)).isCompleted();

        assertThat(lease.isHeld()).isFalse();
        assertThat(last(store.releases).command().attempt())
                .isEqualTo(lease.hold().attempt());
        fixture.assertEmpty();
    }

    @Test
    void holdersMayFinishAndAskForMoreWhileOthersAreRefused() {
        EngineFixture patient = new EngineFixture(Duration.ofMinutes(1));
        ManagedLease lease = patient.holds(100);
        patient.store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);
        CompletableFuture<?> closing = patient.manager.close(null, patient.time);
        assertFailure(patient.begin(LockRequest.of("idle")), StoreException.class);
        PendingRequest nested = patient.begin(LockRequest.of("orders"), true);
        patient.acquired(200);
        ManagedLease inner = patient.received(nested);
        assertThat(lease.isHeld()).isTrue();
        assertThat(inner.isHeld()).isTrue();
        assertThat(closing).isNotDone();

        inner.closeAsync();
        lease.closeAsync();

        assertThat(closing).isCompleted();
        assertThat(patient.manager).hasToString("held=0, names=0");
    }

    @Test
    void holdersWhoDoNotFinishAreReleasedWhenTheTimeToFinishIsOver() {
        EngineFixture patient = new EngineFixture(Duration.ofMinutes(1));
        ManagedLease lease = patient.holds(100);
        patient.store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);
        patient.store.uponRenewal = sent -> sent.answer(true);
        CompletableFuture<?> closing = patient.manager.close(null, patient.time);
        patient.time.pass(Duration.ofSeconds(59));
        assertThat(lease.isHeld()).isTrue();

        patient.time.pass(Duration.ofSeconds(1));

        assertThat(closing).isCompleted();
        assertThat(lease.isHeld()).isFalse();
        assertThat(patient.store.releases).hasSize(1);
    }

    @Test
    void twoCallsOfCloseEndTogetherAndCloseTheStoreOnce() {
        EngineFixture patient = new EngineFixture(Duration.ofMinutes(1));
        ManagedLease lease = patient.holds(100);
        patient.store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);
        LeaseManager door = new LeaseManager(patient.manager, () -> {}, () -> {});
        List<Thread> threads = List.of(new Thread(door::close), new Thread(door::close));
        threads.forEach(Thread::start);
        Awaitility.await().until(() -> threads.stream()
                .allMatch(thread ->
                        thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TIMED_WAITING));
        assertThat(patient.store.closes).hasValue(0);

        lease.closeAsync();

        Awaitility.await().until(() -> threads.stream().noneMatch(Thread::isAlive));
        assertThat(patient.store.closes).hasValue(1);
        door.close();
        assertThat(patient.store.closes).hasValue(1);
    }

    @Test
    void aLockThatComesAfterTheCloseBeganIsGivenBackBeforeTheStoreIsClosed() {
        PendingRequest caller = fixture.begin(REQUEST);
        AcquireCommand question = last(store.acquires).command();
        CompletableFuture<?> closing = manager.close(null, time);
        assertFailure(caller, StoreException.class);
        store.uponRelease = sent -> {
            assertThat(closing).isNotDone();
            sent.answer(ReleaseReply.RELEASED);
        };

        store.acquires.get(0).answer(acquiredReply(100));

        assertThat(closing).isCompleted();
        assertThat(store.releases).singleElement().satisfies(sent -> assertThat(sent.command())
                .isEqualTo(new ReleaseCommand(List.of("stock"), question.attempt(), 99, 0)));
        assertThat(fixture.events.acquired).isEmpty();
        fixture.assertEmpty();
    }

    /** The caller came when nothing was refused yet, and stands in the queue when all are. */
    @Test
    void aCallerWhoMeetsTheCloseIsRefusedToo() {
        AtomicReference<CompletableFuture<?>> closing = new AtomicReference<>();
        store.uponAcquire = sent -> closing.set(manager.close(null, time));
        store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);
        PendingRequest caller = fixture.begin(REQUEST);
        assertThat(closing.get()).isNotDone();

        last(store.acquires).answer(acquiredReply(100));

        assertThat(closing.get()).isCompleted();
        assertFailure(caller, StoreException.class);
        assertThat(last(store.releases).command().attempt()).isEqualTo(lastAttempt());
        fixture.assertEmpty();
    }

    /** The local lock that it found is empty by then, and it enters another one, for which the store gives a place. */
    @Test
    void aCallerWhoMeetsTheCloseBetweenTwoLocalLocksLeavesNoPlace() {
        AtomicReference<Runnable> meanwhile = new AtomicReference<>(() -> {});
        Scheduler clock = new EngineFixture.DelegatingScheduler(time) {
            @Override
            public long nanoTime() {
                meanwhile.get().run();
                return super.nanoTime();
            }
        };
        LocalLockManager closing = EngineFixture.manager(
                store,
                fixture.events,
                new EngineContext(
                        clock,
                        Runnable::run,
                        Runnable::run,
                        Runnable::run,
                        fixture.events,
                        EngineContext::random,
                        () -> {}));
        PendingRequest holder = EngineFixture.begin(closing, REQUEST, new CompletableFuture<>());
        last(store.acquires).answer(acquiredReply(100));
        meanwhile.set(() -> {
            // One name is held, and a caller is about to enter its local lock.
            if (closing.toString().endsWith("names=2")) {
                meanwhile.set(() -> {});
                holder.join().closeAsync();
                closing.close(null, time);
            }
        });

        PendingRequest caller = EngineFixture.begin(closing, REQUEST, new CompletableFuture<>());

        assertFailure(caller, StoreException.class);
        fixture.queued();
        assertThat(last(store.releases).command().attempt()).isEqualTo(lastAttempt());
        assertThat(closing.toString()).endsWith("names=0");
    }

    private static LockRequest retrying(int count) {
        return LockRequest.of("stock").withRetries(count, DELAY);
    }

    private void busy() {
        last(store.acquires).answer(new AcquireReply.Busy("other1"));
    }

    private String lastAttempt() {
        return last(store.acquires).command().attempt();
    }
}
