/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.CohortFixture.leaseOf;
import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.store.AcquireReply;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Callers who want an answer at once, and those whose time is up before the store has said anything. */
class CohortImpatienceTest {

    private final CohortFixture fixture = new CohortFixture();
    private final FakePort port = fixture.port;

    @Test
    void aCallerWhoDoesNotWaitIsRefusedWhereTheLockIsHeldHere() {
        fixture.holds(100);

        Waiter impatient = fixture.tries();

        assertThat(impatient.outcome).isCompletedExceptionally();
        assertThat(port.holders).containsExactly("attempt1");
        assertThat(port.asked).hasSize(1);
    }

    @Test
    void aCallerWhoDoesNotWaitIsRefusedWhereOthersWaitHere() {
        fixture.enters();
        fixture.queued();

        Waiter impatient = fixture.tries();

        assertThat(impatient.outcome).isCompletedExceptionally();
        assertThat(port.holders).containsExactly("other1");
    }

    @Test
    void aCallerWhoDoesNotWaitAsksWithoutQueueing() {
        Waiter impatient = fixture.tries();
        assertThat(last(port.asked).queue()).isFalse();

        fixture.answer(new AcquireReply.Busy("other1"));

        assertThat(impatient.outcome).isCompletedExceptionally();
        assertThat(port.holders).containsExactly("other1");
        assertThat(fixture.retirements).isEqualTo(1);
    }

    @Test
    void callersWhoDoNotWaitAreAnsweredByTheFirstReply() {
        Waiter first = fixture.enters();
        Waiter impatient = fixture.tries();
        assertThat(impatient.outcome).isNotDone();

        fixture.acquired(100);

        assertThat(leaseOf(first).isHeld()).isTrue();
        assertThat(impatient.outcome).isCompletedExceptionally();
    }

    @Test
    void aPlaceInTheQueueAnswersCallersWhoDoNotWait() {
        Waiter impatient = fixture.tries();
        Waiter waiting = fixture.enters();

        fixture.answer(new AcquireReply.Busy("other1"));
        assertThat(impatient.outcome).isCompletedExceptionally();
        assertThat(waiting.outcome).isNotDone();

        assertThat(last(port.asked).queue()).isTrue();
        assertThat(last(port.asked).attempt().id).isEqualTo("attempt2");
        fixture.queued();
        assertThat(waiting.outcome).isNotDone();
        assertThat(port.polls).containsExactly(20_000L);
    }

    @Test
    void aCallerWhoDoesNotWaitHoldsWhatTheStoreGivesAtOnce() {
        Waiter impatient = fixture.tries();
        Waiter waiting = fixture.enters();

        fixture.acquired(100);

        assertThat(leaseOf(impatient).fencingToken()).isEqualTo(100);
        assertThat(waiting.outcome).isNotDone();
        leaseOf(impatient).release();
        assertThat(leaseOf(waiting).fencingToken()).isEqualTo(101);
    }

    @Test
    void theFirstReplyDecidesForACallerWhoseTimeIsUpBefore() {
        Waiter lucky = fixture.enters();
        fixture.cohort.expire(lucky, new CompletableFuture<>());
        assertThat(lucky.outcome).isNotDone();

        fixture.acquired(100);

        assertThat(leaseOf(lucky).isHeld()).isTrue();
    }

    @Test
    void theFirstReplyRefusesACallerWhoseTimeIsUpBefore() {
        Waiter unlucky = fixture.enters();
        fixture.cohort.expire(unlucky, new CompletableFuture<>());

        fixture.queued();

        assertThat(unlucky.outcome).isCompletedExceptionally();
        assertThat(port.abandoned).containsExactly("attempt1");
        assertThat(fixture.retirements).isEqualTo(1);
    }

    @Test
    void aCallerWhoseTimeIsUpBeforeItIsLetInIsRefusedWhereTheStoreIsWell() {
        Waiter waiter = new Waiter(CohortFixture.REQUEST, true, false, fixture.time.now());
        port.heardNanos = fixture.time.nanoTime();

        assertThat(fixture.cohort.expire(waiter, new CompletableFuture<>())).isTrue();
        assertThat(port.holders).hasSize(1);

        assertThat(fixture.cohort.enter(waiter)).isTrue();
        assertThat(port.asked).isEmpty();
    }

    @Test
    void aCallerWhoseTimeIsUpHearsThatTheStoreIsSilent() {
        Waiter outside = new Waiter(CohortFixture.REQUEST, true, false, fixture.time.now());
        assertThat(fixture.cohort.expire(outside, new CompletableFuture<>())).isFalse();
        assertThat(outside.outcome).isNotDone();

        fixture.cohort.expireAtLast(outside);

        assertThat(outside.outcome).isCompletedExceptionally();
        assertThat(port.holders).isEmpty();
    }

    @Test
    void aCallerWhoLeavesBeforeTheStoreRefusesHasNoPlaceToGiveUp() {
        CompletableFuture<Void> refused = fixture.leaves(fixture.enters());
        assertThat(refused).isNotDone();

        fixture.answer(new AcquireReply.Busy("other1"));

        assertThat(refused).isCompleted();
        assertThat(fixture.retirements).isEqualTo(1);
    }
}
