/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.EngineFixture.BELIEVED;
import static io.lockkeeper.engine.EngineFixture.GRANT_MILLIS;
import static io.lockkeeper.engine.LocalLockFixture.grant;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockListener.Way;
import io.lockkeeper.engine.LockAction.Ask;
import io.lockkeeper.engine.LockAction.Cancel;
import io.lockkeeper.engine.LockAction.Fail;
import io.lockkeeper.engine.LockAction.Forget;
import io.lockkeeper.engine.LockAction.Grant;
import io.lockkeeper.engine.LockAction.Refuse;
import io.lockkeeper.engine.LockAction.Retire;
import io.lockkeeper.engine.LockAction.Watch;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.CommandNotExecutedException;
import io.lockkeeper.store.StoreNotReadyException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What a local lock makes of the store's answers, messages and failures, in whatever order they come. */
class LocalLockAnswersTest {

    private final LocalLockFixture fixture = new LocalLockFixture();
    private final LocalLock lock = fixture.lock;
    private final ManualTime time = fixture.time;

    // ---- grants ----

    @Test
    void aGrantThatOvertakesTheAnswerCountsWhenThatHasCome() {
        PendingRequest caller = fixture.enters();
        assertThat(fixture.granted(fixture.grant(100))).isEmpty();

        List<LockAction> begun = fixture.queued();

        StoreHold hold = fixture.hold();
        assertThat(begun).containsExactly(new Watch(hold), grant(caller, hold, 100, Way.GRANT));
    }

    @Test
    void aGrantedHoldEndsWithItsGrantTimeUnlessItIsRenewed() {
        fixture.enters();
        fixture.queued();
        time.pass(Duration.ofSeconds(1));

        assertThat(fixture.granted(fixture.grant(100))).hasSize(2);

        assertThat(remaining()).isEqualTo(Duration.ofMillis(GRANT_MILLIS - 100));
    }

    @Test
    void aGrantWithoutAFreshSampleOfTheStoresClockIsClaimedFirst() {
        PendingRequest caller = fixture.enters();
        fixture.queued();
        AcquireAttempt asked = fixture.asked();
        time.pass(Duration.ofMillis(10_001));

        assertThat(fixture.granted(fixture.grant(100))).containsExactly(new Ask(asked));

        assertThat(fixture.acquired(100)).contains(grant(caller, fixture.hold(), 100, Way.GRANT));
        assertThat(remaining()).isEqualTo(BELIEVED);
    }

    @Test
    void aGrantWhoseTimeIsOverIsClaimedFirst() {
        fixture.enters();
        fixture.queued();
        io.lockkeeper.store.Grant late = fixture.grant(100);
        time.pass(Duration.ofMillis(GRANT_MILLIS - 100));

        assertThat(fixture.granted(late)).containsExactly(new Ask(fixture.asked()));

        assertThat(fixture.queued()).isEmpty();
    }

    @Test
    void aPollIsASampleOfTheStoresClock() {
        fixture.enters();
        fixture.queued();
        time.pass(Duration.ofSeconds(8));
        fixture.pollDue();
        fixture.queued();
        time.pass(Duration.ofSeconds(8));

        assertThat(fixture.granted(fixture.grant(100))).hasAtLeastOneElementOfType(Grant.class);
    }

    @Test
    void aSecondCopyOfAGrantChangesNothing() {
        fixture.enters();
        PendingRequest second = fixture.enters();
        fixture.queued();
        fixture.granted(fixture.grant(100));
        assertThat(fixture.granted(fixture.grant(100))).isEmpty();

        assertThat(fixture.released()).containsExactly(grant(second, fixture.hold(), 101, Way.PASS));
        assertThat(fixture.granted(fixture.grant(100))).isEmpty();
    }

    @Test
    void aGrantForAnotherAttemptChangesNothing() {
        fixture.enters();
        fixture.queued();

        assertThat(fixture.granted(new io.lockkeeper.store.Grant("attempt00000009", "stock", 100, Long.MAX_VALUE / 2)))
                .isEmpty();
    }

    // ---- polls ----

    @Test
    void messagesThatWereMissedBeforeTheFirstAnswerAreAskedForOnce() {
        fixture.enters();
        AcquireAttempt asked = fixture.asked();
        assertThat(fixture.messagesMissed()).isEmpty();

        assertThat(fixture.queued()).containsExactly(new Ask(asked));
        assertThat(fixture.queued()).isEmpty();
        assertThat(fixture.dueIn()).isEqualTo(5_000);
    }

    @Test
    void aPollBringsAHoldWhoseGrantWasLost() {
        PendingRequest caller = fixture.enters();
        fixture.queued();
        assertThat(fixture.messagesMissed()).containsExactly(new Ask(fixture.asked()));

        assertThat(fixture.acquired(100)).contains(grant(caller, fixture.hold(), 100, Way.POLL));
        assertThat(remaining()).isEqualTo(BELIEVED);
    }

    @Test
    void aPollThatCrossedTheGrantRenewsTheHold() {
        fixture.enters();
        fixture.queued();
        fixture.pollDue();
        fixture.granted(fixture.grant(100));

        assertThat(fixture.acquired(100)).isEmpty();

        assertThat(remaining()).isEqualTo(BELIEVED);
    }

    @Test
    void aPollThatCrossedTheGrantAndFailsEndsNothing() {
        fixture.enters();
        fixture.queued();
        fixture.pollDue();
        fixture.granted(fixture.grant(100));

        assertThat(fixture.failed()).isEmpty();
    }

    @Test
    void noOnePollsForAnAttemptThatHasEnded() {
        fixture.enters();
        fixture.queued();
        fixture.granted(fixture.grant(100));

        assertThat(lock.dueNanos()).isEqualTo(ClockReading.NEVER);
    }

    @Test
    void aLateAnswerToAnEndedAttemptIsGivenBack() {
        PendingRequest caller = fixture.enters();
        fixture.queued();
        fixture.pollDue();
        AcquireAttempt ended = fixture.asked();
        assertThat(lock.left(caller)).contains(new Cancel(ended, 0));

        assertThat(fixture.acquired(100)).containsExactly(new Cancel(ended, 0));
        assertThat(fixture.queued()).containsExactly(new Cancel(ended, 0));
        assertThat(fixture.failed()).containsExactly(new Cancel(ended, 0));
        assertThat(fixture.busy()).isEmpty();
        assertThat(fixture.replied(new AcquireReply.Ended())).isEmpty();
        assertThat(lock.hold()).isNull();
    }

    @Test
    void aPollAtTheTimeThatTheStoreHasToldHasRecoveredNothing() {
        PendingRequest caller = fixture.enters();
        fixture.queued();
        fixture.freeIn("attempt00000001", 100);
        fixture.pollDue();

        assertThat(fixture.acquired(100)).contains(grant(caller, fixture.hold(), 100, Way.ANSWER));
    }

    // ---- a lock that is soon free ----

    @Test
    void theNewsThatALockIsSoonFreeMayOvertakeTheAnswer() {
        fixture.enters();
        AcquireAttempt asked = fixture.asked();
        assertThat(fixture.freeIn("attempt00000001", 700)).isEmpty();

        assertThat(fixture.queued()).as("how soon is asked").containsExactly(new Ask(asked));
    }

    @Test
    void theNewsThatALockIsSoonFreeComesAnyNumberOfTimes() {
        fixture.enters();
        fixture.queued();
        fixture.freeIn("attempt00000001", 700);
        assertThat(fixture.dueIn()).isEqualTo(700);

        fixture.freeIn("attempt00000001", 300);
        assertThat(fixture.dueIn()).isEqualTo(300);
        fixture.freeIn("attempt00000002", 100);
        assertThat(fixture.dueIn()).isEqualTo(300);
    }

    /** It may have been made before the news. */
    @Test
    void theAnswerToAPollDoesNotUndoTheNewsThatALockIsSoonFree() {
        fixture.enters();
        fixture.queued();
        fixture.messagesMissed();
        fixture.freeIn("attempt00000001", 300);

        fixture.queued();

        assertThat(fixture.dueIn()).isEqualTo(300);
    }

    // ---- revocations ----

    @Test
    void aRevocationThatOvertakesTheAnswerCounts() {
        PendingRequest caller = fixture.enters();
        AcquireAttempt revoked = fixture.asked();
        assertThat(fixture.revoked("attempt00000001")).isEmpty();

        List<LockAction> again = fixture.acquired(100);

        assertThat(fixture.asked().id).hasToString("attempt00000002");
        assertThat(again).containsExactly(new Cancel(revoked, 0), new Ask(fixture.asked()));
        assertThat(fixture.acquired(200)).contains(grant(caller, fixture.hold(), 200, Way.ANSWER));
    }

    @Test
    void aRevocationThatOvertakesTheGrantCounts() {
        fixture.enters();
        fixture.queued();
        AcquireAttempt revoked = fixture.asked();
        io.lockkeeper.store.Grant late = fixture.grant(100);

        assertThat(fixture.revoked("attempt00000001"))
                .containsExactly(new Cancel(revoked, 0), new Ask(fixture.asked()));
        assertThat(fixture.granted(late)).isEmpty();
    }

    @Test
    void aRevocationThatOvertakesBothTheGrantAndTheAnswerCounts() {
        fixture.enters();
        AcquireAttempt revoked = fixture.asked();
        io.lockkeeper.store.Grant late = fixture.grant(100);
        fixture.revoked("attempt00000001");

        assertThat(fixture.granted(late)).isEmpty();
        List<LockAction> again = fixture.queued();

        assertThat(again).containsExactly(new Cancel(revoked, 0), new Ask(fixture.asked()));
    }

    @Test
    void aRevocationOfWhatIsHeldOrOfAnotherAttemptIsNoNewsHere() {
        fixture.holds(100);

        assertThat(fixture.revoked("attempt00000001"))
                .as("who makes it lost is told")
                .isEmpty();
        assertThat(fixture.revoked("attempt00000002")).isEmpty();
    }

    @Test
    void anAttemptThatTheStoreCallsEndedStartsOver() {
        fixture.enters();
        fixture.queued();
        AcquireAttempt ended = fixture.asked();

        List<LockAction> again = fixture.replied(new AcquireReply.Ended());

        assertThat(fixture.asked().id).hasToString("attempt00000002");
        assertThat(again).containsExactly(new Forget(ended), new Ask(fixture.asked()));
    }

    @Test
    void aHandOverOfWhatTheStoreForgotStartsOver() {
        fixture.holds(100);
        PendingRequest next = fixture.enters();
        time.pass(EngineFixture.MAX_PASS_TIME);
        fixture.released();
        AcquireAttempt ended = fixture.asked();

        List<LockAction> again = fixture.replied(new AcquireReply.Ended());

        assertThat(again).containsExactly(new Forget(ended), new Ask(fixture.asked()));
        assertThat(fixture.acquired(200)).contains(grant(next, fixture.hold(), 200, Way.ANSWER));
    }

    // ---- failures ----

    @Test
    void aFirstQuestionThatFailsFailsAllCallersAndIsCancelled() {
        PendingRequest first = fixture.enters();
        PendingRequest second = fixture.enters();
        PendingRequest impatient = fixture.tries();

        assertThat(fixture.failed())
                .containsExactly(
                        new Cancel(fixture.asked(), 0),
                        new Fail(first, fixture.failure),
                        new Fail(second, fixture.failure),
                        new Fail(impatient, fixture.failure),
                        new Retire());
    }

    @Test
    void aFailingPollKeepsWaitingAndFailsTheWaitWhenItEnds() {
        PendingRequest caller = fixture.enters();
        fixture.queued();
        AcquireAttempt asked = fixture.asked();
        fixture.pollDue();

        assertThat(fixture.failed()).isEmpty();
        assertThat(fixture.dueIn()).isEqualTo(500);

        assertThat(fixture.timedOut(caller))
                .containsExactly(new Cancel(asked, 0), new Retire(), new Fail(caller, fixture.failure));
    }

    @Test
    void aPollThatWorksAgainMakesTheFailureForgotten() {
        PendingRequest caller = fixture.enters();
        fixture.queued();
        fixture.pollDue();
        fixture.failed();
        fixture.pollDue();
        fixture.queued();

        assertThat(fixture.timedOut(caller)).last().isEqualTo(new Refuse(caller, "other1"));
    }

    @Test
    void aTryWhileTheStoreFailsIsNotRefusedAsHeldByOthers() {
        fixture.enters();
        fixture.queued();
        fixture.pollDue();
        fixture.failed();
        PendingRequest impatient = fixture.impatient();

        assertThat(fixture.enter(impatient)).containsExactly(new Fail(impatient, fixture.failure));
    }

    @Test
    void aFailedHandOverIsCancelledAndThoseWhoWaitGoOn() {
        fixture.holds(100);
        PendingRequest waiting = fixture.enters();
        time.pass(EngineFixture.MAX_PASS_TIME);
        fixture.released();
        AcquireAttempt failed = fixture.asked();
        PendingRequest impatient = fixture.tries();

        List<LockAction> later = fixture.failed();

        AcquireAttempt next = fixture.asked();
        assertThat(later).containsExactly(new Cancel(failed, 0), new Fail(impatient, fixture.failure));
        assertThat(fixture.dueIn()).isEqualTo(500);
        assertThat(fixture.pollDue()).containsExactly(new Ask(next));
        assertThat(fixture.acquired(200)).contains(grant(waiting, fixture.hold(), 200, Way.ANSWER));
    }

    @Test
    void aQuestionThatWasNotExecutedFailsItsCallerAndNeedsNoRelease() {
        PendingRequest caller = fixture.enters();
        AcquireAttempt asked = fixture.asked();
        CommandNotExecutedException refused = new CommandNotExecutedException("refused", null);

        List<LockAction> actions = lock.failed(asked, refused, time.now());

        assertThat(actions).containsExactly(new Forget(asked), new Fail(caller, refused), new Retire());
    }

    @Test
    void callersWaitForAStoreThatIsNotReadyYet() {
        fixture.enters();
        PendingRequest impatient = fixture.tries();
        AcquireAttempt first = fixture.asked();
        StoreNotReadyException notReady = new StoreNotReadyException("not yet", null);

        List<LockAction> later = lock.failed(first, notReady, time.now());

        AcquireAttempt next = Objects.requireNonNull(lock.attempt("attempt00000002"));
        assertThat(later).containsExactly(new Forget(first), new Fail(impatient, notReady));
        assertThat(next.isOver()).isFalse();
        assertThat(fixture.dueIn()).isEqualTo(500);
    }

    @Test
    void anAnswerThatComesAfterTheDeadlineGivesNoLease() {
        PendingRequest caller = fixture.enters();
        AcquireAttempt asked = fixture.asked();
        time.passUnnoticed(Duration.ofSeconds(31));

        List<LockAction> actions = fixture.acquired(100);

        assertThat(lock.hold()).isNull();
        assertThat(actions).hasSize(3).startsWith(new Cancel(asked, 0)).endsWith(new Retire());
        assertThat(actions.get(1)).isInstanceOfSatisfying(Fail.class, fail -> assertThat(fail.waiter())
                .isSameAs(caller));
    }

    private Duration remaining() {
        return Duration.ofNanos(fixture.hold().deadline().nanosFrom(time.now()));
    }
}
