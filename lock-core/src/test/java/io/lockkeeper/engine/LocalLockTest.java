/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.EngineFixture.MAX_PASSES;
import static io.lockkeeper.engine.EngineFixture.MAX_PASS_TIME;
import static io.lockkeeper.engine.LocalLockFixture.grant;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockListener.Way;
import io.lockkeeper.LockRequest;
import io.lockkeeper.engine.LockAction.Ask;
import io.lockkeeper.engine.LockAction.Cancel;
import io.lockkeeper.engine.LockAction.Fail;
import io.lockkeeper.engine.LockAction.Forget;
import io.lockkeeper.engine.LockAction.HandOver;
import io.lockkeeper.engine.LockAction.Refuse;
import io.lockkeeper.engine.LockAction.Release;
import io.lockkeeper.engine.LockAction.Retire;
import io.lockkeeper.engine.LockAction.Watch;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Who of the local callers has the lock next, who never does, and what that takes in the store. */
class LocalLockTest {

    private static final long COMMAND_NANOS =
            RecordingStore.TRAITS.commandTimeout().toNanos();

    private final LocalLockFixture fixture = new LocalLockFixture();
    private final LocalLock lock = fixture.lock;
    private final ManualTime time = fixture.time;

    // ---- in their order ----

    @Test
    void callersHoldTheLockInTheOrderInWhichTheyCame() {
        PendingRequest first = fixture.caller();
        List<LockAction> asks = fixture.enter(first);
        assertThat(asks).containsExactly(new Ask(fixture.asked()));
        PendingRequest second = fixture.caller();
        assertThat(fixture.enter(second)).isEmpty();
        PendingRequest third = fixture.enters();

        List<LockAction> begun = fixture.acquired(100);
        StoreHold hold = fixture.hold();

        assertThat(begun).containsExactly(new Watch(hold), grant(first, hold, 100, Way.ANSWER));
        assertThat(fixture.released()).containsExactly(grant(second, hold, 101, Way.PASS));
        assertThat(fixture.released()).containsExactly(grant(third, hold, 102, Way.PASS));
        assertThat(fixture.released()).containsExactly(new Retire(), new Release(hold, 102, 0));
        assertThat(fixture.enter(fixture.caller()))
                .as("it takes no callers any more")
                .isNull();
    }

    /** It came after others had waited for it, or others wait now, or that may have been missed. */
    @ParameterizedTest
    @ValueSource(strings = {"granted", "contended", "contended before the answer", "messages missed"})
    void aHoldForWhichOthersWaitIsHandedOverWhenItHasPassedOftenEnough(String how) {
        switch (how) {
            case "granted" -> fixture.isGranted(100);
            case "contended" -> lock.contended(fixture.holds(100).attempt());
            case "messages missed" -> {
                fixture.holds(100);
                fixture.messagesMissed();
            }
            default -> {
                fixture.enters();
                lock.contended(fixture.asked().id.toString());
                fixture.acquired(100);
            }
        }
        StoreHold hold = fixture.hold();
        fixture.passesOn(MAX_PASSES);
        PendingRequest last = fixture.enters();

        List<LockAction> ended = fixture.released();

        AcquireAttempt next = fixture.asked();
        assertThat(ended).containsExactly(new HandOver(hold, 102, next));
        assertThat(next.passes).isEqualTo(MAX_PASSES);
        assertThat(fixture.acquired(103)).contains(grant(last, fixture.hold(), 103, Way.ANSWER));
    }

    @Test
    void aHoldForWhichNoOneElseWaitsPassesOnUntilItsTimeIsOver() {
        fixture.handsOverToItself(200);
        fixture.passesOn(1_000);
        StoreHold hold = fixture.hold();
        assertThat(hold.token()).isEqualTo(1_200);

        fixture.enters();
        time.pass(MAX_PASS_TIME);

        assertThat(fixture.released()).containsExactly(new HandOver(hold, 1_200, fixture.asked()));
    }

    @Test
    void noHoldPassesMoreOftenThanItHasFencingTokens() {
        fixture.handsOverToItself(200);
        int reserved = fixture.asked().passes + 1;
        fixture.passesOn(reserved - 1);
        StoreHold hold = fixture.hold();

        fixture.enters();

        assertThat(fixture.released()).containsExactly(new HandOver(hold, 200L + reserved - 1, fixture.asked()));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aHoldThatHasPassedTooOftenIsHandedOverAsSoonAsOthersWaitOrMayWait(boolean told) {
        fixture.handsOverToItself(200);
        fixture.passesOn(100);
        StoreHold hold = fixture.hold();
        fixture.enters();

        if (told) {
            assertThat(lock.contended("attempt00000002")).isEmpty();
        } else {
            assertThat(fixture.messagesMissed()).isEmpty();
        }

        assertThat(fixture.released()).containsExactly(new HandOver(hold, 300, fixture.asked()));
        assertThat(fixture.asked().passes).isEqualTo(MAX_PASSES);
    }

    @Test
    void newsThatOthersWaitForAnotherAttemptChangeNothing() {
        fixture.handsOverToItself(200);

        lock.contended("attempt00000001");

        fixture.passesOn(10);
    }

    /** The first copy of the command took a place; the second one finds the lock granted, and others behind it. */
    @Test
    void aHoldThatWasGrantedWhileItsCommandWasSentAgainIsNotAlone() {
        fixture.holds(100);
        fixture.passesOn(MAX_PASSES);
        fixture.enters();
        fixture.released();
        fixture.granted(fixture.grant(200));
        fixture.acquired(200);
        fixture.passesOn(MAX_PASSES);
        StoreHold hold = fixture.hold();
        fixture.enters();

        assertThat(fixture.released()).containsExactly(new HandOver(hold, 202, fixture.asked()));
    }

    @Test
    void aHoldThatHasStayedHereLongEnoughIsHandedOver() {
        StoreHold hold = fixture.holds(100);
        time.pass(MAX_PASS_TIME.minusMillis(1));
        fixture.passesOn(1);
        fixture.enters();
        time.pass(Duration.ofMillis(1));

        assertThat(fixture.released()).containsExactly(new HandOver(hold, 101, fixture.asked()));
    }

    @Test
    void callersWhoComeWhileTheLockIsHandedOverWaitForTheSameAttempt() {
        fixture.holds(100);
        PendingRequest second = fixture.enters();
        time.pass(MAX_PASS_TIME);
        fixture.released();
        PendingRequest third = fixture.caller();
        assertThat(fixture.enter(third)).isEmpty();
        fixture.queued();

        List<LockAction> begun = fixture.granted(fixture.grant(200));

        StoreHold hold = fixture.hold();
        assertThat(begun).containsExactly(new Watch(hold), grant(second, hold, 200, Way.GRANT));
        assertThat(fixture.released()).containsExactly(grant(third, hold, 201, Way.PASS));
    }

    @Test
    void aHoldWhoseEndIsBeingChangedIsNotPassedOn() {
        StoreHold hold = fixture.holds(100);
        fixture.enters();

        hold.pinned = true;

        assertThat(fixture.released()).containsExactly(new HandOver(hold, 100, fixture.asked()));
    }

    @Test
    void aFixedLeaseIsNeverPassedOn() {
        LocalLockFixture own = new LocalLockFixture(List.of("stock"), AcquireSpec.fixed(ClaimMode.EXCLUSIVE, 5_000));
        own.enters();
        own.replied(new AcquireReply.Acquired(own.lock.spec.leaseMillis(), List.of(7L)));
        StoreHold hold = own.hold();
        assertThat(hold.deadline()).isEqualTo(time.now().plusMillis(5_000)).isEqualTo(hold.fixedEnd());
        own.enters();

        assertThat(own.released()).containsExactly(new HandOver(hold, 7, own.asked()));
    }

    @Test
    void theTokenOfOneLockOfSeveralIsNotWrittenToTheOthers() {
        LockRequest both = LockRequest.of("b", "a");
        LocalLockFixture own = new LocalLockFixture(
                AcquireSpec.inGlobalOrder(both.names()), AcquireSpec.single(both, EngineFixture.LEASE_MILLIS));
        PendingRequest caller = own.enters();
        List<LockAction> begun = own.replied(new AcquireReply.Acquired(EngineFixture.LEASE_MILLIS, List.of(5L, 9L)));
        StoreHold hold = own.hold();
        assertThat(hold.names).containsExactly("a", "b");
        assertThat(begun).contains(new LockAction.Grant(caller, hold, 5, Way.ANSWER));

        assertThat(own.released()).containsExactly(new Retire(), new Release(hold, 0, 0));
    }

    @Test
    void aReleaseSaysHowLongTheLockStaysTaken() {
        StoreHold hold = fixture.holds(100);

        assertThat(lock.released(hold, 250, time.now())).containsExactly(new Retire(), new Release(hold, 100, 250));
    }

    // ---- callers who leave ----

    @Test
    void aCallerWhoLeavesIsPassedOver() {
        StoreHold hold = fixture.holds(100);
        PendingRequest leaving = fixture.enters();
        PendingRequest third = fixture.enters();
        assertThat(lock.left(leaving)).isEmpty();

        assertThat(fixture.released()).containsExactly(grant(third, hold, 101, Way.PASS));
    }

    @Test
    void aCallerWhoseTimeIsUpIsRefusedAndNeverHolds() {
        StoreHold hold = fixture.holds(100);
        PendingRequest late = fixture.enters();

        assertThat(fixture.timedOut(late)).containsExactly(new Refuse(late, "attempt00000001"));

        assertThat(fixture.released()).containsExactly(new Retire(), new Release(hold, 100, 0));
    }

    @Test
    void theLastCallerWhoLeavesGivesThePlaceInTheStoreUp() {
        PendingRequest first = fixture.enters();
        PendingRequest second = fixture.enters();
        fixture.queued();

        assertThat(lock.left(first)).isEmpty();
        assertThat(lock.left(second)).containsExactly(new Cancel(fixture.asked(), 0), new Retire());

        assertThat(fixture.asked().isOver()).isTrue();
        assertThat(lock.dueNanos()).isEqualTo(ClockReading.NEVER);
    }

    @Test
    void theLastCallerWhoseTimeIsUpIsRefusedWhenThePlaceIsGone() {
        PendingRequest caller = fixture.enters();
        fixture.queued();

        assertThat(fixture.timedOut(caller))
                .containsExactly(new Cancel(fixture.asked(), 0), new Retire(), new Refuse(caller, "other1"));
    }

    enum FirstAnswer {
        QUEUED,
        ACQUIRED,
        BUSY,
        FAILED
    }

    @ParameterizedTest
    @EnumSource
    void whatTheStoreGivesToNoOneIsGivenBack(FirstAnswer answer) {
        PendingRequest gone = fixture.enters();
        PendingRequest alsoGone = fixture.enters();
        AcquireAttempt asked = fixture.asked();
        assertThat(lock.left(alsoGone)).isEmpty();
        assertThat(lock.left(gone)).as("its place is not known yet").isEmpty();

        switch (answer) {
            case QUEUED -> assertThat(fixture.queued()).containsExactly(new Cancel(asked, 0), new Retire());
            case BUSY -> assertThat(fixture.busy()).containsExactly(new Forget(asked), new Retire());
            case FAILED -> assertThat(fixture.failed()).containsExactly(new Cancel(asked, 0), new Retire());
            case ACQUIRED ->
                assertThat(fixture.acquired(100)).hasSize(2).first().isInstanceOfSatisfying(Release.class, release -> {
                    assertThat(release.lastToken()).as("no token was used").isEqualTo(99);
                    assertThat(release.hold().isOver()).isTrue();
                });
        }

        assertThat(lock.hold()).isNull();
        assertThat(fixture.enter(fixture.caller())).isNull();
    }

    @Test
    void aCallerWhoComesBeforeTheAnswerTakesThePlaceOfOneWhoLeft() {
        lock.left(fixture.enters());
        PendingRequest next = fixture.caller();
        assertThat(fixture.enter(next)).isEmpty();

        assertThat(fixture.acquired(100)).contains(grant(next, fixture.hold(), 100, Way.ANSWER));
    }

    // ---- callers who want an answer at once ----

    @Test
    void aCallerWhoDoesNotWaitIsRefusedWhereTheLockIsHeldHere() {
        fixture.holds(100);
        PendingRequest impatient = fixture.impatient();

        assertThat(fixture.enter(impatient)).containsExactly(new Refuse(impatient, "attempt00000001"));
    }

    @Test
    void aCallerWhoDoesNotWaitIsRefusedWhereOthersWaitHere() {
        fixture.enters();
        fixture.queued();
        PendingRequest impatient = fixture.impatient();

        assertThat(fixture.enter(impatient)).containsExactly(new Refuse(impatient, "other1"));
    }

    @Test
    void aCallerWhoDoesNotWaitAsksForNoPlace() {
        PendingRequest impatient = fixture.impatient();
        List<LockAction> asks = fixture.enter(impatient);
        AcquireAttempt asked = fixture.asked();
        assertThat(asks).containsExactly(new Ask(asked));
        assertThat(asked.queues).isFalse();
        assertThat(impatient.endNanos() - time.nanoTime()).isEqualTo(COMMAND_NANOS);

        assertThat(fixture.busy()).containsExactly(new Forget(asked), new Refuse(impatient, "other1"), new Retire());
    }

    @Test
    void theFirstAnswerIsForCallersWhoDoNotWaitToo() {
        PendingRequest first = fixture.enters();
        PendingRequest impatient = fixture.tries();

        List<LockAction> begun = fixture.acquired(100);

        StoreHold hold = fixture.hold();
        assertThat(begun)
                .containsExactly(
                        new Watch(hold), grant(first, hold, 100, Way.ANSWER), new Refuse(impatient, "attempt00000001"));
    }

    @Test
    void callersWhoWaitAskForAPlaceWhereTheFirstOneDidNot() {
        PendingRequest impatient = fixture.tries();
        PendingRequest waiting = fixture.enters();
        AcquireAttempt first = fixture.asked();

        List<LockAction> again = fixture.busy();

        AcquireAttempt second = fixture.asked();
        assertThat(second.id).hasToString("attempt00000002");
        assertThat(again).containsExactly(new Forget(first), new Refuse(impatient, "other1"), new Ask(second));
        assertThat(fixture.queued()).isEmpty();
        assertThat(fixture.acquired(100)).contains(grant(waiting, fixture.hold(), 100, Way.POLL));
    }

    @Test
    void aCallerWhoDoesNotWaitHoldsWhatTheStoreGivesAtOnce() {
        PendingRequest impatient = fixture.tries();
        PendingRequest waiting = fixture.enters();

        assertThat(fixture.acquired(100)).contains(grant(impatient, fixture.hold(), 100, Way.ANSWER));

        assertThat(fixture.released()).containsExactly(grant(waiting, fixture.hold(), 101, Way.PASS));
    }

    /** Such a store knows no queue. */
    @Test
    void callersWhoWaitAskAgainAndAgainWhereTheStoreGivesNoPlace() {
        fixture.enters();
        AcquireAttempt first = fixture.asked();

        List<LockAction> later = fixture.busy();

        AcquireAttempt next = fixture.asked();
        assertThat(later).containsExactly(new Forget(first));
        assertThat(fixture.dueIn()).isEqualTo(50);
        PendingRequest impatient = fixture.impatient();
        assertThat(fixture.enter(impatient)).containsExactly(new Refuse(impatient, "other1"));
        assertThat(fixture.pollDue()).containsExactly(new Ask(next));
    }

    // ---- the end of a wait ----

    @Test
    void aLimitedWaitEndsAtItsTimeCountedFromTheRequest() {
        PendingRequest caller = fixture.goesOn(Duration.ofMillis(500));
        time.pass(Duration.ofMillis(200));

        fixture.enter(caller);

        assertThat(fixture.dueIn()).isEqualTo(300);
    }

    /** It needs no timer, and most such waits end long before their time. */
    @Test
    void aBlockedThreadEndsItsWaitItself() {
        fixture.enter(fixture.caller(Duration.ofMillis(500)));

        assertThat(lock.dueNanos()).isEqualTo(ClockReading.NEVER);
    }

    @Test
    void oneTimeIsThatOfTheCallerWhoseWaitEndsFirst() {
        fixture.holds(100);
        PendingRequest patient = fixture.goesOn(Duration.ofMillis(900));
        fixture.enter(patient);
        PendingRequest first = fixture.goesOn(Duration.ofMillis(300));
        fixture.enter(first);
        assertThat(fixture.dueIn()).isEqualTo(300);
        time.pass(Duration.ofMillis(300));

        assertThat(fixture.due()).containsExactly(new Refuse(first, "attempt00000001"));

        assertThat(fixture.dueIn()).isEqualTo(600);
        lock.left(patient);
        assertThat(lock.dueNanos()).as("nothing is left that has a time").isEqualTo(ClockReading.NEVER);
    }

    @Test
    void theFirstAnswerDecidesForACallerWhoseTimeIsUpBefore() {
        PendingRequest caller = fixture.caller(Duration.ofMillis(500));
        fixture.enter(caller);
        AcquireAttempt asked = fixture.asked();
        time.pass(Duration.ofMillis(500));

        assertThat(fixture.timedOut(caller)).isEmpty();
        assertThat(caller.endNanos() - time.nanoTime())
                .isEqualTo(Duration.ofMillis(50).toNanos());

        assertThat(fixture.queued()).containsExactly(new Refuse(caller, "other1"), new Cancel(asked, 0), new Retire());
    }

    @Test
    void theFirstAnswerMayStillBeYesForACallerWhoseTimeIsUp() {
        PendingRequest caller = fixture.caller(Duration.ofMillis(500));
        fixture.enter(caller);
        time.pass(Duration.ofMillis(500));
        fixture.timedOut(caller);

        assertThat(fixture.acquired(100)).contains(grant(caller, fixture.hold(), 100, Way.ANSWER));
    }

    @Test
    void aCallerWhoseTimeIsUpForGoodHearsThatTheStoreIsSilent() {
        PendingRequest caller = fixture.caller(Duration.ofMillis(500));
        fixture.enter(caller);
        time.pass(Duration.ofMillis(500));
        fixture.timedOut(caller);
        time.pass(Duration.ofMillis(50));

        List<LockAction> ended = fixture.timedOut(caller);

        assertThat(ended).singleElement().isInstanceOfSatisfying(Fail.class, fail -> {
            assertThat(fail.waiter()).isSameAs(caller);
            assertThat(fail.failure()).hasMessage("the store has not answered within 500 ms");
        });
        assertThat(fixture.failed()).contains(new Retire());
    }

    /** A release that comes when the grant has ended finds the lock free, or taken by another. */
    @Test
    void aGrantThatMayEndBeforeAMinimumHoldTimeIsConfirmedFirst() {
        PendingRequest caller = fixture.keeps(Duration.ofMillis(EngineFixture.GRANT_MILLIS));
        fixture.enter(caller);
        fixture.queued();
        AcquireAttempt waiting = fixture.asked();

        assertThat(fixture.granted(fixture.grant(100))).containsExactly(new Ask(waiting));
        assertThat(fixture.acquired(100)).contains(grant(caller, fixture.hold(), 100, Way.GRANT));
    }

    /** Also where the question was late, and an older answer came later still: no answer has come to the question. */
    @Test
    void aTryWithoutAnAnswerIsNotRefusedAsHeldByOthers() {
        PendingRequest caller = fixture.impatient();
        time.pass(Duration.ofNanos(COMMAND_NANOS).minusMillis(100));
        fixture.enter(caller);
        fixture.heardNanos = time.nanoTime();
        time.pass(Duration.ofMillis(100));
        assertThat(fixture.timedOut(caller)).isEmpty();
        time.pass(Duration.ofMillis(50));

        assertThat(fixture.timedOut(caller)).singleElement().isInstanceOf(Fail.class);
    }

    /** The news of the failure is on a thread that has no processor. */
    @Test
    void aTryThatTheStoreHasFailedIsNotRefusedAsHeldByOthers() {
        PendingRequest caller = fixture.impatient();
        fixture.enter(caller);
        assertThat(fixture.failed()).contains(new Fail(caller, fixture.failure));
        time.pass(Duration.ofNanos(COMMAND_NANOS));
        assertThat(fixture.timedOut(caller)).isEmpty();
        time.pass(Duration.ofMillis(50));

        assertThat(fixture.timedOut(caller)).containsExactly(new Fail(caller, fixture.failure));
    }

    /** What came meanwhile must be heard first. */
    @Test
    void alsoAWaitWhoseEndComesLateLeavesTimeForAnAnswer() {
        PendingRequest caller = fixture.caller(Duration.ofMillis(500));
        fixture.enter(caller);
        time.pass(Duration.ofSeconds(3));

        assertThat(fixture.timedOut(caller)).isEmpty();
        assertThat(caller.endNanos() - time.nanoTime())
                .isEqualTo(Duration.ofMillis(25).toNanos());
    }

    // ---- the turns of fair callers ----

    @Test
    void aFairCallerAsksWhenItsTurnComes() {
        LocalLockFixture fair = LocalLockFixture.gated();
        PendingRequest caller = fair.caller();
        assertThat(fair.enter(caller)).containsExactly(new Ask(fair.asked()));
        assertThat(fair.asked().gated).isTrue();

        assertThat(fair.turn()).containsExactly(new Ask(fair.asked()));
        assertThat(fair.asked().gated).isFalse();
        assertThat(fair.turn()).as("it comes once").isEmpty();
    }

    @Test
    void aFairCallerWhoLeavesBeforeItsTurnHasNothingInTheStore() {
        LocalLockFixture fair = LocalLockFixture.gated();
        PendingRequest caller = fair.enters();

        assertThat(fair.lock.left(caller)).containsExactly(new Forget(fair.asked()), new Retire());
        assertThat(fair.turn()).isEmpty();
    }

    @Test
    void aFairCallerWhoseTimeIsUpBeforeItsTurnIsRefusedWhereTheStoreIsWell() {
        LocalLockFixture fair = LocalLockFixture.gated();
        PendingRequest caller = fair.enters();
        fair.heardNanos = fair.time.nanoTime();

        assertThat(fair.timedOut(caller))
                .containsExactly(new Forget(fair.asked()), new Retire(), new Refuse(caller, null));
    }

    @Test
    void aFairCallerWhoseTimeIsUpBeforeItsTurnHearsThatTheStoreIsSilent() {
        LocalLockFixture fair = LocalLockFixture.gated();
        PendingRequest caller = fair.caller(Duration.ofMillis(500));
        fair.enter(caller);
        fair.time.pass(Duration.ofMillis(500));
        assertThat(fair.timedOut(caller)).isEmpty();
        fair.time.pass(Duration.ofMillis(50));

        assertThat(fair.timedOut(caller)).last().isInstanceOf(Fail.class);
    }

    // ---- readers ----

    @Test
    void allReadersWhoWaitHaveTheHoldTogetherAndTheLastReleasesIt() {
        LocalLockFixture readers = LocalLockFixture.ofReaders();
        PendingRequest first = readers.enters();
        PendingRequest second = readers.enters();
        PendingRequest trying = readers.tries();

        List<LockAction> begun = readers.acquired(100);

        StoreHold hold = readers.hold();
        assertThat(begun)
                .containsExactly(
                        new Watch(hold),
                        grant(first, hold, 100, Way.ANSWER),
                        grant(second, hold, 100, Way.ANSWER),
                        grant(trying, hold, 100, Way.ANSWER));
        assertThat(readers.released()).isEmpty();
        assertThat(readers.released()).isEmpty();
        assertThat(readers.released()).containsExactly(new Retire(), new Release(hold, 100, 0));
        assertThat(readers.enter(readers.caller()))
                .as("no one joins what is over")
                .isNull();
    }

    @Test
    void otherReadersJoinForAWhileWithoutARequest() {
        LocalLockFixture readers = LocalLockFixture.ofReaders();
        StoreHold hold = readers.holds(100);
        readers.time.pass(MAX_PASS_TIME.minusMillis(1));
        PendingRequest joining = readers.impatient();
        assertThat(readers.enter(joining)).containsExactly(grant(joining, hold, 100, Way.ANSWER));

        readers.time.pass(Duration.ofMillis(1));

        assertThat(readers.enter(readers.caller())).isNull();
    }

    @Test
    void noReaderJoinsWhenAWriterWaits() {
        LocalLockFixture readers = LocalLockFixture.ofReaders();
        readers.holds(100).pinned = true;

        assertThat(readers.enter(readers.caller())).isNull();
    }

    @Test
    void aReaderWhoLeftBeforeTheAnswerHoldsNothing() {
        LocalLockFixture readers = LocalLockFixture.ofReaders();
        PendingRequest gone = readers.enters();
        PendingRequest stays = readers.enters();
        readers.lock.left(gone);

        List<LockAction> begun = readers.acquired(100);

        StoreHold hold = readers.hold();
        assertThat(begun).containsExactly(new Watch(hold), grant(stays, hold, 100, Way.ANSWER));
        assertThat(readers.released()).containsExactly(new Retire(), new Release(hold, 100, 0));
    }

    @Test
    void readersWhoWaitBehindAWriterEnterTogether() {
        LocalLockFixture readers = LocalLockFixture.ofReaders();
        PendingRequest first = readers.enters();
        readers.queued();
        PendingRequest second = readers.caller();
        assertThat(readers.enter(second)).isEmpty();

        List<LockAction> begun = readers.granted(readers.grant(100));

        StoreHold hold = readers.hold();
        assertThat(begun)
                .containsExactly(
                        new Watch(hold), grant(first, hold, 100, Way.GRANT), grant(second, hold, 100, Way.GRANT));
    }

    // ---- losses and downgrades ----

    @Test
    void aLostHoldMakesThoseWhoWaitStartOver() {
        StoreHold gone = fixture.holds(100);
        PendingRequest next = fixture.enters();

        List<LockAction> actions = fixture.lost(gone);

        assertThat(actions).containsExactly(new Ask(fixture.asked()));
        assertThat(fixture.asked().id).hasToString("attempt00000002");
        assertThat(gone.isLost()).isTrue();
        assertThat(fixture.acquired(200)).contains(grant(next, fixture.hold(), 200, Way.ANSWER));
        assertThat(fixture.released(gone)).as("a release that comes too late").isNull();
        assertThat(fixture.lost(gone)).as("a second loss").isNull();
        assertThat(fixture.hold().isOver()).isFalse();
    }

    @Test
    void aLostHoldForWhichNoOneWaitsEndsTheLock() {
        assertThat(fixture.lost(fixture.holds(100))).containsExactly(new Retire());
        assertThat(fixture.enter(fixture.caller())).isNull();
    }

    @Test
    void aReleasedHoldIsNotLost() {
        StoreHold hold = fixture.holds(100);
        fixture.released();

        assertThat(fixture.lost(hold)).isNull();
    }

    @Test
    void callersWhoWaitForADowngradedHoldAskAnew() {
        StoreHold gone = fixture.holds(100);
        PendingRequest next = fixture.enters();

        assertThat(lock.lost(gone, StoreHold.DOWNGRADED, time.now()))
                .hasSize(1)
                .first()
                .isInstanceOf(Ask.class);

        assertThat(lock.hold()).isNull();
        assertThat(gone.isOver()).isTrue();
        assertThat(lock.lost(gone, StoreHold.DOWNGRADED, time.now())).isNull();
        AcquireAttempt asked = Objects.requireNonNull(lock.attempt("attempt00000002"));
        assertThat(fixture.replied(asked, EngineFixture.acquiredReply(200)))
                .contains(grant(next, fixture.hold(), 200, Way.ANSWER));
    }

    /**
     * The poll crossed the grant. To cancel its attempt would end, in the store, the hold that is being handed over.
     */
    @Test
    void aPollThatFailsAfterTheDowngradeBeganEndsNothing() {
        fixture.enters();
        fixture.queued();
        AcquireAttempt attempt = fixture.asked();
        fixture.messagesMissed();
        fixture.granted(fixture.grant(100));
        lock.lost(fixture.hold(), StoreHold.DOWNGRADED, time.now());

        assertThat(fixture.failed(attempt)).isEmpty();
        assertThat(fixture.replied(attempt, new AcquireReply.Queued("other1", 1_000, EngineFixture.storeMillis(time))))
                .isEmpty();
        assertThat(fixture.replied(attempt, EngineFixture.acquiredReply(100))).isEmpty();
    }

    /** The next hold is a grant, of which the answer to another attempt says nothing. */
    @Test
    void aPollThatIsAnsweredAfterTheDowngradeRenewsNoOtherHold() {
        fixture.enters();
        fixture.queued();
        AcquireAttempt attempt = fixture.asked();
        fixture.messagesMissed();
        fixture.granted(fixture.grant(100));
        fixture.enters();
        lock.lost(fixture.hold(), StoreHold.DOWNGRADED, time.now());
        AcquireAttempt next = Objects.requireNonNull(lock.attempt("attempt00000002"));
        fixture.replied(next, new AcquireReply.Queued("other1", 1_000, EngineFixture.storeMillis(time)));
        fixture.granted(fixture.grant(200));
        ClockReading deadline = fixture.hold().deadline();

        assertThat(fixture.replied(attempt, EngineFixture.acquiredReply(100))).isEmpty();

        assertThat(fixture.hold().deadline()).isEqualTo(deadline);
    }

    // ---- an error in a decision ----

    @Test
    void aBrokenLockEndsItsAttemptAndTakesNoCallers() {
        fixture.enters();
        AcquireAttempt asked = fixture.asked();

        assertThat(lock.broken()).containsExactly(new Cancel(asked, 0), new Retire());

        assertThat(lock.broken).isTrue();
        assertThat(fixture.enter(fixture.caller())).isNull();
    }
}
