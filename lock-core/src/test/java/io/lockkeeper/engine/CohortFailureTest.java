/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockStoreException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What callers hear of a store that fails, and of answers that come too late. */
class CohortFailureTest {

    private final CohortFixture fixture = new CohortFixture();

    @Test
    void aTryWhileTheStoreFailsIsNotReportedAsHeldBySomebodyElse() {
        fixture.enters();
        fixture.queued();
        fixture.cohort.pollDue(last(fixture.port.asked).attempt());
        fixture.fail();

        Waiter tries = fixture.tries();

        assertThat(tries.outcome)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(LockStoreException.class);
    }

    @Test
    void anAnswerThatComesAfterTheDeadlineGivesNoLease() {
        Waiter waiter = fixture.enters();
        fixture.time.passUnnoticed(Duration.ofSeconds(31));

        fixture.acquired(100);

        assertThat(waiter.outcome).isCompletedExceptionally();
    }

    @Test
    void aNewcomerAtALapsedHoldDoesNotEndTheWaitsOfOthers() {
        fixture.holds(100);
        Waiter old = fixture.enters();
        fixture.time.passUnnoticed(Duration.ofSeconds(31));
        fixture.enters();

        fixture.fail();

        assertThat(old.outcome).isNotDone();
    }
}
