/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.CohortFixture.leaseOf;
import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import org.junit.jupiter.api.Test;

/** A hold that is taken away by force, also before its holder knows of it. */
class CohortRevocationTest {

    private final CohortFixture fixture = new CohortFixture();
    private final Cohort cohort = fixture.cohort;
    private final FakePort port = fixture.port;

    @Test
    void theHoldIsToldToTheOneWhoMakesItLost() {
        HeldLease lease = fixture.holds(100);
        assertThat(cohort.revoked("attempt1")).isSameAs(lease.tenure());
        assertThat(cohort.revoked("attempt2")).isNull();
    }

    @Test
    void aRevocationThatOvertakesTheAnswerCounts() {
        Waiter waiter = fixture.enters();
        assertThat(cohort.revoked("attempt1")).isNull();

        fixture.acquired(100);

        assertThat(waiter.outcome).isNotDone();
        assertThat(port.abandoned).containsExactly("attempt1");
        assertThat(last(port.asked).attempt().id).isEqualTo("attempt2");
        fixture.acquired(200);
        assertThat(leaseOf(waiter).fencingToken()).isEqualTo(200);
        assertThat(port.tracked).containsExactly("attempt2");
    }

    @Test
    void aRevocationThatOvertakesTheGrantCounts() {
        Waiter waiter = fixture.enters();
        fixture.queued();
        Grant late = fixture.grant(last(port.asked).attempt(), 100);

        cohort.revoked("attempt1");
        cohort.granted(late);

        assertThat(waiter.outcome).isNotDone();
        assertThat(last(port.asked).attempt().id).isEqualTo("attempt2");
        assertThat(port.tracked).containsExactly("attempt2");
    }

    @Test
    void aRevocationThatOvertakesBothTheGrantAndTheAnswerCounts() {
        Waiter waiter = fixture.enters();
        Grant late = fixture.grant(last(port.asked).attempt(), 100);

        cohort.revoked("attempt1");
        cohort.granted(late);
        fixture.queued();

        assertThat(waiter.outcome).isNotDone();
        assertThat(last(port.asked).attempt().id).isEqualTo("attempt2");
    }

    @Test
    void theNewsThatALockIsSoonFreeMayOvertakeTheAnswer() {
        fixture.enters();

        cohort.freeIn("attempt1", 700);
        fixture.queued();
        cohort.freeIn("attempt1", 300);
        cohort.freeIn("attempt2", 100);

        assertThat(port.polls).containsExactly(700L, 300L);
    }

    @Test
    void theNewsThatALockIsSoonFreeIsNotUndoneByTheAnswerBeforeIt() {
        fixture.enters();
        fixture.tries().outcome.whenComplete((lease, refusal) -> cohort.freeIn("attempt1", 300));

        fixture.queued();

        assertThat(port.polls).hasSize(2).endsWith(300L);
    }

    @Test
    void anAttemptThatTheStoreCallsEndedStartsOver() {
        Waiter waiter = fixture.enters();
        fixture.queued();

        cohort.answered(last(port.asked).attempt(), fixture.time.now(), new AcquireReply.Ended());

        assertThat(waiter.outcome).isNotDone();
        assertThat(last(port.asked).attempt().id).isEqualTo("attempt2");
        assertThat(port.abandoned).isEmpty();
    }

    @Test
    void callersWhoWaitAskAgainLaterWhereTheStoreCannotQueue() {
        Waiter waiter = fixture.enters();
        Waiter trying = fixture.tries();

        fixture.answer(new AcquireReply.Busy("other1"));

        assertThat(trying.outcome).isCompletedExceptionally();
        assertThat(waiter.outcome).isNotDone();
        assertThat(port.asked).hasSize(1);
        assertThat(port.polls).hasSize(1);
        Waiter late = fixture.tries();
        assertThat(late.outcome).isCompletedExceptionally();
        assertThat(port.holders).containsExactly("other1", "other1");
    }
}
