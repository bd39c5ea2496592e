/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.CohortFixture.MAX_PASSES;
import static io.lockkeeper.engine.CohortFixture.MAX_PASS_TIME;
import static io.lockkeeper.engine.CohortFixture.leaseOf;
import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who of the local callers has the lock next, and who never does. */
class CohortQueueTest {

    private final CohortFixture fixture = new CohortFixture();
    private final FakePort port = fixture.port;

    @Test
    void callersHoldTheLockInTheOrderInWhichTheyCame() {
        HeldLease first = fixture.holds(100);
        Waiter second = fixture.enters();
        Waiter third = fixture.enters();

        assertThat(first.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(leaseOf(second).fencingToken()).isEqualTo(101);
        assertThat(third.outcome).isNotDone();

        leaseOf(second).release();
        assertThat(leaseOf(third).fencingToken()).isEqualTo(102);
        assertThat(port.asked).hasSize(1);
        assertThat(port.handOvers).isEmpty();
    }

    /** It came after others had waited for it, or somebody else waits now. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aHoldForWhichOthersWaitIsHandedOverWhenItHasPassedOftenEnough(boolean granted) {
        HeldLease first = granted ? fixture.isGranted(100) : fixture.holds(100);
        if (!granted) {
            fixture.cohort.awaited("attempt1");
        }
        Waiter second = fixture.enters();
        Waiter third = fixture.enters();
        Waiter fourth = fixture.enters();
        first.release();
        leaseOf(second).release();
        assertThat(port.handOvers).isEmpty();

        leaseOf(third).release();

        assertThat(fourth.outcome).isNotDone();
        assertThat(last(port.handOvers).attempt()).isEqualTo("attempt1");
        assertThat(last(port.handOvers).lastToken()).isEqualTo(102);
        Attempt next = last(port.handOvers).next();
        fixture.cohort.answered(next, fixture.time.now(), CohortFixture.acquiredReply(103));
        assertThat(leaseOf(fourth).fencingToken()).isEqualTo(103);
    }

    @Test
    void aHoldForWhichNobodyElseWaitsPassesOnUntilItsTimeIsOver() {
        HeldLease holder = passesOn(handedOverToItself(200), 1_000);
        assertThat(holder.fencingToken()).isEqualTo(1_200);
        assertThat(port.handOvers).hasSize(1);

        Waiter last = fixture.enters();
        fixture.time.pass(MAX_PASS_TIME);
        holder.release();

        assertThat(last.outcome).isNotDone();
        assertThat(last(port.handOvers).lastToken()).isEqualTo(1_200);
    }

    @Test
    void noHoldPassesMoreOftenThanItHasFencingTokens() {
        HeldLease holder = handedOverToItself(200);
        int reserved = last(port.handOvers).next().passes + 1;
        holder = passesOn(holder, reserved - 1);
        assertThat(holder.fencingToken()).isEqualTo(200L + reserved - 1);

        fixture.enters();
        holder.release();

        assertThat(port.handOvers).hasSize(2);
    }

    @Test
    void aHoldThatHasPassedTooOftenIsHandedOverAsSoonAsSomebodyElseWaits() {
        HeldLease holder = passesOn(handedOverToItself(200), 100);
        fixture.enters();

        fixture.cohort.awaited("attempt2");
        holder.release();

        assertThat(port.handOvers).hasSize(2);
        assertThat(last(port.handOvers).next().passes).isEqualTo(MAX_PASSES);
    }

    @Test
    void theNewsThatOthersWaitMayOvertakeTheAnswer() {
        Waiter waiter = fixture.enters();
        fixture.cohort.awaited("attempt1");
        fixture.acquired(100);
        HeldLease holder = passesOn(leaseOf(waiter), MAX_PASSES);
        fixture.enters();

        holder.release();

        assertThat(last(port.handOvers).next().passes).isEqualTo(MAX_PASSES);
    }

    /** The first copy of the command took a place; the second one finds the lock granted, and others behind it. */
    @Test
    void aHoldThatWasGrantedWhileItsCommandWasSentAgainIsNotAlone() {
        HeldLease first = passesOn(fixture.holds(100), MAX_PASSES);
        Waiter waiter = fixture.enters();
        first.release();
        Attempt next = last(port.handOvers).next();
        fixture.cohort.granted(fixture.grant(next, 200));
        fixture.cohort.answered(next, fixture.time.now(), CohortFixture.acquiredReply(200));
        HeldLease holder = passesOn(leaseOf(waiter), MAX_PASSES);
        fixture.enters();

        holder.release();

        assertThat(port.handOvers).hasSize(2);
    }

    @Test
    void theNewsThatOthersWaitMayHaveBeenMissed() {
        HeldLease holder = passesOn(handedOverToItself(200), 100);
        fixture.enters();

        fixture.cohort.pollNow();
        holder.release();

        assertThat(port.handOvers).hasSize(2);
    }

    @Test
    void newsOfAnotherAttemptChangeNothing() {
        HeldLease holder = handedOverToItself(200);
        fixture.cohort.awaited("attempt1");
        passesOn(holder, 10);
        assertThat(port.handOvers).hasSize(1);
    }

    @Test
    void aHoldThatHasStayedHereLongEnoughIsHandedOver() {
        HeldLease first = fixture.holds(100);
        Waiter second = fixture.enters();
        Waiter third = fixture.enters();
        fixture.time.pass(MAX_PASS_TIME.minusMillis(1));
        first.release();
        assertThat(leaseOf(second).isHeld()).isTrue();

        fixture.time.pass(Duration.ofMillis(1));
        leaseOf(second).release();

        assertThat(third.outcome).isNotDone();
        assertThat(last(port.handOvers).lastToken()).isEqualTo(101);
    }

    @Test
    void callersWhoComeWhileTheLockIsHandedOverWaitForTheSameAttempt() {
        HeldLease first = fixture.holds(100);
        Waiter second = fixture.enters();
        fixture.time.pass(MAX_PASS_TIME);
        first.release();
        Waiter third = fixture.enters();
        Attempt next = last(port.handOvers).next();

        fixture.cohort.answered(
                next, fixture.time.now(), new AcquireReply.Queued("other1", 30_000, fixture.storeMillis()));
        fixture.cohort.granted(fixture.grant(next, 200));

        assertThat(leaseOf(second).fencingToken()).isEqualTo(200);
        assertThat(third.outcome).isNotDone();
        assertThat(port.asked).hasSize(1);
    }

    @Test
    void messagesThatWereMissedBeforeTheFirstAnswerAreAskedForOnce() {
        fixture.enters();
        fixture.cohort.pollNow();
        assertThat(port.asked).hasSize(1);

        fixture.queued();
        assertThat(port.asked).hasSize(2);
        fixture.queued();
        assertThat(port.asked).hasSize(2);
        assertThat(port.polls).hasSize(1);
    }

    @Test
    void aCallerWhoGaveUpIsPassedOver() {
        HeldLease first = fixture.holds(100);
        Waiter cancelled = fixture.enters();
        Waiter third = fixture.enters();
        fixture.leaves(cancelled);

        first.release();

        assertThat(leaseOf(third).fencingToken()).isEqualTo(101);
        assertThat(cancelled.outcome).isCancelled();
    }

    @Test
    void aCallerWhoseOutcomeIsDoneIsPassedOverBeforeItHasLeft() {
        HeldLease first = fixture.holds(100);
        Waiter cancelled = fixture.enters();
        cancelled.outcome.cancel(false);

        first.release();

        assertThat(port.releases).hasSize(1);
        assertThat(fixture.retirements).isEqualTo(1);
    }

    @Test
    void aCallerWhoGivesUpAtTheMomentOfTheGrantGivesTheLockBack() {
        HeldLease first = fixture.holds(100);
        Waiter second = fixture.enters();
        Waiter third = fixture.enters();
        port.whileLeasing = () -> second.outcome.cancel(false);

        first.release();

        assertThat(leaseOf(third).fencingToken()).isEqualTo(102);
    }

    @Test
    void aCallerWhoseTimeIsUpNeverOwns() {
        HeldLease first = fixture.holds(100);
        Waiter expired = fixture.enters();
        fixture.cohort.expire(expired, new CompletableFuture<>());
        assertThat(expired.outcome).isCompletedExceptionally();
        assertThat(port.holders).containsExactly("attempt1");

        first.release();

        assertThat(port.releases).hasSize(1);
    }

    @Test
    void theLastCallerWhoGivesUpGivesThePlaceInTheStoreUp() {
        Waiter first = fixture.enters();
        Waiter second = fixture.enters();
        fixture.queued();

        assertThat(fixture.leaves(first)).isCompleted();
        assertThat(port.abandoned).isEmpty();
        assertThat(fixture.leaves(second)).isCompleted();

        assertThat(port.abandoned).containsExactly("attempt1");
        assertThat(port.tracked).isEmpty();
        assertThat(fixture.retirements).isEqualTo(1);
    }

    @Test
    void theCallerWhoGivesUpHearsWhenTheStoreHasBeenTold() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        CompletableFuture<Void> told = new CompletableFuture<>();
        port.abandonment = told;

        CompletableFuture<Void> placeGone = fixture.leaves(waiter);
        assertThat(placeGone).isNotDone();

        told.complete(null);
        assertThat(placeGone).isCompleted();
    }

    @Test
    void theLastCallerWhoseTimeIsUpIsRefusedWhenThePlaceIsGivenUp() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        CompletableFuture<Void> told = new CompletableFuture<>();
        port.abandonment = told;

        fixture.cohort.expire(waiter, new CompletableFuture<>());
        assertThat(port.abandoned).containsExactly("attempt1");
        assertThat(waiter.outcome).isNotDone();

        told.complete(null);
        assertThat(waiter.outcome)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(LockNotAcquiredException.class);
        assertThat(port.holders).containsExactly("other1");
    }

    @Test
    void aPlaceThatTheStoreGivesToNobodyIsGivenUp() {
        Waiter waiter = fixture.enters();
        fixture.leaves(waiter);
        assertThat(port.abandoned).isEmpty();

        fixture.queued();

        assertThat(port.abandoned).containsExactly("attempt1");
        assertThat(fixture.retirements).isEqualTo(1);
    }

    @Test
    void aHoldThatTheStoreGivesToNobodyIsReleasedWithoutUsingAToken() {
        Waiter waiter = fixture.enters();
        fixture.leaves(waiter);

        fixture.acquired(100);

        assertThat(last(port.releases).attempt()).isEqualTo("attempt1");
        assertThat(last(port.releases).lastToken()).isEqualTo(99);
        assertThat(port.tracked).isEmpty();
        assertThat(fixture.retirements).isEqualTo(1);
    }

    @Test
    void aCohortThatIsEmptyTakesNobody() {
        fixture.holds(100).release();

        assertThat(fixture.retirements).isEqualTo(1);
        assertThat(fixture.cohort.enter(new Waiter(CohortFixture.REQUEST, true, false, fixture.time.now())))
                .isFalse();
    }

    @Test
    void aCallerWhoGaveUpBeforeItsTurnLetsTheNextOneIn() {
        Waiter waiter = new Waiter(CohortFixture.REQUEST, true, false, fixture.time.now());
        waiter.outcome.cancel(false);

        assertThat(fixture.cohort.enter(waiter)).isTrue();

        assertThat(port.asked).isEmpty();
        assertThat(fixture.firstAnswers).isEqualTo(1);
        assertThat(fixture.retirements).isEqualTo(1);
    }

    @Test
    void aFixedLeaseIsNeverPassedOn() {
        Cohort own = fixture.cohort(Claim.fixed(List.of("stock"), ClaimMode.EXCLUSIVE, 5_000));
        Waiter waiter = new Waiter(CohortFixture.REQUEST, true, false, fixture.time.now());
        own.enter(waiter);
        own.answered(
                last(port.asked).attempt(),
                fixture.time.now(),
                new AcquireReply.Acquired(own.claim().leaseMillis(), List.of(7L)));
        assertThat(leaseOf(waiter).remaining()).isEqualTo(Duration.ofSeconds(5));

        leaseOf(waiter).release();

        assertThat(last(port.releases).lastToken()).isEqualTo(7);
        assertThat(port.handOvers).isEmpty();
    }

    @Test
    void theTokenOfOneLockOfSeveralIsNotWrittenToTheOthers() {
        Cohort own =
                fixture.cohort(Claim.renewed(List.of("a", "b"), ClaimMode.EXCLUSIVE, CohortFixture.LEASE_MILLIS, 0));
        LockRequest both = LockRequest.of("b", "a");
        Waiter waiter = new Waiter(both, true, false, fixture.time.now());
        own.enter(waiter);
        own.answered(
                last(port.asked).attempt(),
                fixture.time.now(),
                new AcquireReply.Acquired(CohortFixture.LEASE_MILLIS, List.of(5L, 9L)));
        assertThat(leaseOf(waiter).fencingToken("a")).isEqualTo(5);
        assertThat(leaseOf(waiter).fencingToken()).isEqualTo(9);

        leaseOf(waiter).release();

        assertThat(last(port.releases).lastToken()).isZero();
    }

    /** Returns the hold that follows one whose passes were used up while nobody else waited. */
    private HeldLease handedOverToItself(long firstToken) {
        HeldLease holder = passesOn(fixture.holds(100), MAX_PASSES);
        Waiter next = fixture.enters();
        holder.release();
        fixture.cohort.answered(
                last(port.handOvers).next(), fixture.time.now(), CohortFixture.acquiredReply(firstToken));
        return leaseOf(next);
    }

    /** Lets one local caller after the other come, and have the lock after the one before. */
    private HeldLease passesOn(HeldLease first, int times) {
        HeldLease holder = first;
        for (int pass = 0; pass < times; pass++) {
            Waiter next = fixture.enters();
            holder.release();
            holder = leaseOf(next);
        }
        return holder;
    }
}
