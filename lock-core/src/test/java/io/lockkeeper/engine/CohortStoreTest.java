/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.CohortFixture.leaseOf;
import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockException;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What a cohort makes of the store's answers, grants and failures, in whatever order they come. */
class CohortStoreTest {

    private final CohortFixture fixture = new CohortFixture();
    private final Cohort cohort = fixture.cohort;
    private final FakePort port = fixture.port;

    @Test
    void aGrantThatOvertakesTheReplyToTheQuestionCountsWhenThatHasCome() {
        Waiter waiter = fixture.enters();
        fixture.granted(100);
        assertThat(waiter.outcome).isNotDone();

        fixture.queued();

        assertThat(leaseOf(waiter).fencingToken()).isEqualTo(100);
        assertThat(port.polls).isEmpty();
    }

    @Test
    void aGrantedHoldEndsWithItsGrantTimeUnlessItIsRenewed() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        fixture.time.pass(Duration.ofSeconds(1));

        fixture.granted(100);

        assertThat(leaseOf(waiter).remaining()).isEqualTo(Duration.ofMillis(CohortFixture.GRANT_MILLIS - 100));
        assertThat(port.watched).hasSize(1);
    }

    @Test
    void aGrantWithoutAFreshSampleOfTheStoresClockIsClaimedFirst() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        fixture.time.pass(Duration.ofMillis(10_001));

        fixture.granted(100);
        assertThat(waiter.outcome).isNotDone();
        assertThat(port.asked).hasSize(2);
        assertThat(last(port.asked).attempt().id).isEqualTo("attempt1");

        fixture.acquired(100);
        assertThat(leaseOf(waiter).fencingToken()).isEqualTo(100);
        assertThat(leaseOf(waiter).remaining()).isEqualTo(Duration.ofMillis(29_700));
    }

    @Test
    void aGrantWhoseTimeIsOverIsClaimedFirst() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        Grant grant = fixture.grant(last(port.asked).attempt(), 100);
        fixture.time.pass(Duration.ofMillis(CohortFixture.GRANT_MILLIS - 100));

        cohort.granted(grant);
        assertThat(waiter.outcome).isNotDone();
        assertThat(port.asked).hasSize(2);

        fixture.queued();
        assertThat(waiter.outcome).isNotDone();
    }

    @Test
    void aPollIsASampleOfTheStoresClock() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        fixture.time.pass(Duration.ofSeconds(8));
        cohort.pollDue(last(port.asked).attempt());
        fixture.queued();
        fixture.time.pass(Duration.ofSeconds(8));

        fixture.granted(100);

        assertThat(leaseOf(waiter).isHeld()).isTrue();
    }

    @Test
    void aSecondCopyOfAGrantChangesNothing() {
        Waiter first = fixture.enters();
        Waiter second = fixture.enters();
        fixture.queued();
        fixture.granted(100);
        fixture.granted(100);
        assertThat(second.outcome).isNotDone();

        leaseOf(first).release();
        fixture.granted(100);

        assertThat(leaseOf(second).fencingToken()).isEqualTo(101);
        assertThat(port.asked).hasSize(1);
        assertThat(port.watched).hasSize(1);
    }

    @Test
    void aGrantForAnotherAttemptChangesNothing() {
        Waiter waiter = fixture.enters();
        fixture.queued();

        cohort.granted(fixture.grant(new Attempt("attempt9", fixture.time.now()), 100));

        assertThat(waiter.outcome).isNotDone();
    }

    @Test
    void aFailingFirstCommandFailsAllCallersAndAbandonsTheAttempt() {
        Waiter first = fixture.enters();
        Waiter second = fixture.enters();
        Waiter impatient = fixture.tries();

        fixture.fail();

        assertFailure(first, LockStoreException.class);
        assertFailure(second, LockStoreException.class);
        assertFailure(impatient, LockStoreException.class);
        assertThat(port.abandoned).containsExactly("attempt1");
        assertThat(port.tracked).isEmpty();
        assertThat(fixture.firstAnswers).isEqualTo(1);
        assertThat(fixture.retirements).isEqualTo(1);
    }

    @Test
    void aFailingPollKeepsWaitingAndFailsTheWaitWhenItEnds() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        cohort.pollDue(last(port.asked).attempt());

        fixture.fail();
        assertThat(waiter.outcome).isNotDone();
        assertThat(port.polls).containsExactly(20_000L, 500L);

        cohort.expire(waiter, new CompletableFuture<>());
        assertFailure(waiter, LockStoreException.class);
    }

    @Test
    void aPollThatWorksAgainForgetsTheFailure() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        cohort.pollDue(last(port.asked).attempt());
        fixture.fail();
        cohort.pollDue(last(port.asked).attempt());
        fixture.queued();

        cohort.expire(waiter, new CompletableFuture<>());

        assertFailure(waiter, LockNotAcquiredException.class);
    }

    @Test
    void aPollBringsAHoldWhoseGrantWasLost() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        cohort.pollNow();
        assertThat(port.asked).hasSize(2);

        fixture.acquired(100);

        assertThat(leaseOf(waiter).remaining()).isEqualTo(Duration.ofMillis(29_700));
    }

    @Test
    void aPollThatCrossedTheGrantRenewsTheHold() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        cohort.pollDue(last(port.asked).attempt());
        fixture.granted(100);

        fixture.acquired(100);

        assertThat(leaseOf(waiter).remaining()).isEqualTo(Duration.ofMillis(29_700));
        assertThat(port.abandoned).isEmpty();
    }

    @Test
    void aLateAnswerToAnEndedAttemptIsGivenBack() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        cohort.pollDue(last(port.asked).attempt());
        fixture.leaves(waiter);
        assertThat(port.abandoned).hasSize(1);

        fixture.acquired(100);
        assertThat(port.abandoned).hasSize(2);

        fixture.fail();
        assertThat(port.abandoned).hasSize(3);
        assertThat(waiter.outcome).isCancelled();
    }

    @Test
    void nobodyPollsForAnAttemptThatHasEnded() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        Attempt attempt = last(port.asked).attempt();
        fixture.granted(100);

        cohort.pollDue(attempt);
        cohort.pollNow();

        assertThat(port.asked).hasSize(1);
        assertThat(leaseOf(waiter).isHeld()).isTrue();
    }

    @Test
    void aHandOverByAHolderWhomTheStoreForgotAsksAnew() {
        HeldLease first = fixture.holds(100);
        Waiter next = fixture.enters();
        fixture.time.pass(CohortFixture.MAX_PASS_TIME);
        first.release();

        cohort.answered(last(port.handOvers).next(), fixture.time.now(), new AcquireReply.Ended());

        assertThat(last(port.asked).attempt().id).isEqualTo("attempt3");
        assertThat(last(port.asked).queue()).isTrue();
        assertThat(next.outcome).isNotDone();
    }

    private static void assertFailure(Waiter waiter, Class<? extends LockException> type) {
        assertThat(waiter.outcome)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(type);
    }
}
