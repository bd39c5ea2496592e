/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.CohortFixture.leaseOf;
import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLostException;
import io.lockkeeper.ReleaseResult;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** What becomes of holders and waiters when a hold is lost. */
class CohortLossTest {

    private final CohortFixture fixture = new CohortFixture();
    private final FakePort port = fixture.port;
    private final List<LockLostException> told = new CopyOnWriteArrayList<>();

    @Test
    void aLostHoldMakesTheWaitersStartOver() {
        HeldLease lost = fixture.holds(100);
        Waiter next = fixture.enters();

        fixture.leases.lose(lost.tenure(), "the store says that it ended");

        assertThat(lost.isHeld()).isFalse();
        assertThat(next.outcome).isNotDone();
        assertThat(last(port.asked).attempt().id).isEqualTo("attempt2");
        fixture.acquired(200);
        assertThat(leaseOf(next).fencingToken()).isEqualTo(200);
        assertThat(lost.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(leaseOf(next).isHeld()).isTrue();
        assertThat(port.tracked).containsExactly("attempt2");
    }

    @Test
    void aLostHoldForWhichNobodyWaitsEndsTheCohort() {
        HeldLease lost = fixture.holds(100);

        fixture.leases.lose(lost.tenure(), "the store says that it ended");

        assertThat(fixture.retirements).isEqualTo(1);
        assertThat(port.tracked).isEmpty();
    }

    @Test
    void aHoldWhoseEndANewCallerNoticesIsLostForGood() {
        HeldLease late = fixture.holds(100);
        late.onLost(told::add);
        fixture.time.passUnnoticed(Duration.ofMillis(29_700));

        Waiter next = fixture.enters();
        late.tenure().renewed(fixture.time.now().plusMillis(29_700), fixture.time.now());

        assertThat(late.isHeld()).isFalse();
        assertThat(late.tenure().isOver()).as("not renewed any more").isTrue();
        assertThat(told).hasSize(1);
        assertThat(fixture.events.lost).hasSize(1);
        fixture.acquired(200);
        assertThat(leaseOf(next).isHeld()).isTrue();
    }

    @Test
    void aLossThatMeetsAPassIsToldToTheNextHolder() throws InterruptedException {
        HeldLease first = fixture.holds(100);
        Waiter next = fixture.enters();
        next.outcome.thenAccept(lease -> lease.onLost(told::add));
        Thread loss = new Thread(() -> fixture.leases.lose(first.tenure(), "the store says that it ended"));
        port.whileLeasing = () -> {
            loss.start();
            while (loss.getState() != Thread.State.BLOCKED) {
                Thread.onSpinWait();
            }
        };

        first.release();
        loss.join();

        assertThat(leaseOf(next).isHeld()).isFalse();
        assertThat(told).hasSize(1);
    }
}
