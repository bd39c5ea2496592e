/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockListener.Acquired;
import io.lockkeeper.LockListener.Way;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** How listeners are told that a caller came to its lock. */
class CohortWayTest {

    private final CohortFixture fixture = new CohortFixture();

    @Test
    void aFreeLockComesByTheAnswer() {
        fixture.holds(100);
        assertThat(ways()).containsExactly(Way.ANSWER);
    }

    @Test
    void aLocalCallerGetsItPassedOn() {
        HeldLease first = fixture.holds(100);
        fixture.enters();
        first.release();
        assertThat(ways()).containsExactly(Way.ANSWER, Way.PASS);
    }

    @Test
    void aMessageIsAGrant() {
        fixture.enters();
        fixture.queued();
        fixture.granted(100);
        assertThat(ways()).containsExactly(Way.GRANT);
    }

    @Test
    void aGrantThatMustBeClaimedIsAGrant() {
        fixture.enters();
        fixture.queued();
        fixture.time.passUnnoticed(Duration.ofSeconds(11));
        fixture.granted(100);
        assertThat(fixture.events.acquired).isEmpty();

        fixture.acquired(100);

        assertThat(ways()).containsExactly(Way.GRANT);
    }

    @Test
    void aPollThatFindsTheLockHasRecoveredIt() {
        fixture.enters();
        fixture.queued();
        fixture.cohort.pollDue(last(fixture.port.asked).attempt());
        fixture.acquired(100);
        assertThat(ways()).containsExactly(Way.POLL);
    }

    @Test
    void aPollAtTheTimeThatTheStoreHasToldHasRecoveredNothing() {
        fixture.enters();
        fixture.queued();
        Attempt waiting = last(fixture.port.asked).attempt();
        fixture.cohort.freeIn(waiting.id, 100);
        fixture.cohort.pollDue(waiting);
        fixture.acquired(100);
        assertThat(ways()).containsExactly(Way.ANSWER);
    }

    private Iterable<Way> ways() {
        return fixture.events.acquired.stream().map(Acquired::way).toList();
    }
}
