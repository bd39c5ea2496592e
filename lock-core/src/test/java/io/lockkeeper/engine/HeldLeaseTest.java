/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLostException;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.ReleaseCommand;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What a lease says of itself, and who is told of its end. */
class HeldLeaseTest {

    private final CohortFixture fixture = new CohortFixture();
    private final HeldLease lease = fixture.holds(100);
    private final List<LockLostException> told = new ArrayList<>();

    @Test
    void onlyTheFirstReleaseCounts() {
        assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);

        assertThat(lease.isHeld()).isFalse();
        assertThat(lease.remaining()).isZero();
        assertThat(fixture.events.released).hasSize(1);
        assertThatThrownBy(lease::ensureHeld).isInstanceOf(LockLostException.class);
    }

    @Test
    void aLossIsToldOnce() {
        lease.onLost(told::add);

        fixture.leases.lose(lease.tenure(), "the store says that it ended");
        fixture.leases.lose(lease.tenure(), "its lease ended before it was renewed");

        assertThat(told).singleElement().satisfies(loss -> assertThat(loss)
                .hasMessageContaining("the store says that it ended"));
        assertThat(fixture.events.lost).hasSize(1);
        lease.onLost(told::add);
        assertThat(told).hasSize(2);
    }

    @Test
    void nobodyIsToldOfALossAfterTheRelease() {
        lease.onLost(told::add);
        lease.release();

        fixture.leases.lose(lease.tenure(), "the store says that it ended");

        assertThat(told).isEmpty();
        assertThat(fixture.events.lost).isEmpty();
    }

    @Test
    void whoeverLooksAtALeaseAfterItsDeadlineMakesItLost() {
        lease.onLost(told::add);
        fixture.time.passUnnoticed(Duration.ofMillis(29_700));

        assertThat(lease.isHeld()).isFalse();

        assertThat(told).hasSize(1);
        assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(last(fixture.store.releases).command())
                .isEqualTo(new ReleaseCommand(List.of("stock"), lease.tenure().attempt, 0, 0));
    }

    @Test
    void aLeaseThatTheStoreDoesNotConfirmIsLost() {
        fixture.store.stored = Optional.of(RecordingStore.ownedBy("attempt1"));
        assertThat(lease.verify()).isTrue();

        fixture.store.stored = Optional.of(RecordingStore.ownedBy("other1"));

        assertThat(lease.verify()).isFalse();
        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void anExtensionGivesALeaseAFixedEnd() {
        fixture.leases.watch(lease.tenure());
        fixture.store.uponRenewal = sent -> sent.answer(true);

        assertThat(lease.extend(Duration.ofSeconds(60))).isTrue();

        assertThat(lease.remaining()).isEqualTo(Duration.ofSeconds(60));
        assertThat(last(fixture.store.renewals).command().leaseMillis()).isEqualTo(60_600);
        fixture.time.pass(Duration.ofMillis(59_999));
        assertThat(lease.isHeld()).isTrue();
        fixture.time.pass(Duration.ofMillis(1));
        assertThat(lease.isHeld()).isFalse();
        assertThat(fixture.store.renewals).hasSize(1);
    }

    @Test
    void anExtensionThatTheStoreRefusesShowsTheLoss() {
        fixture.store.uponRenewal = sent -> sent.answer(false);

        assertThat(lease.extend(Duration.ofSeconds(60))).isFalse();

        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void anExtensionThatIsNotAnsweredLeavesTheLeaseHeld() {
        fixture.store.uponRenewal = RecordingStore.Sent::fail;

        assertThatThrownBy(() -> lease.extend(Duration.ofSeconds(60))).isInstanceOf(LockStoreException.class);

        assertThat(lease.isHeld()).isTrue();
        assertThat(lease.tenure().fixedEnd()).isNull();
    }

    @Test
    void aShorterEndThatIsNotAnsweredOutlivesTheAnswerToAnEarlierRenewal() {
        Moment earlier = fixture.time.now();
        fixture.time.passUnnoticed(Duration.ofSeconds(1));
        fixture.store.uponRenewal = RecordingStore.Sent::fail;
        assertThatThrownBy(() -> lease.extend(Duration.ofSeconds(2))).isInstanceOf(LockStoreException.class);

        lease.tenure().renewed(earlier.plusMillis(29_700), earlier);

        assertThat(lease.remaining()).isLessThanOrEqualTo(Duration.ofSeconds(2));
    }

    @Test
    void aLeaseThatWasReleasedIsNotExtended() {
        lease.release();

        assertThat(lease.extend(Duration.ofSeconds(60))).isFalse();
        assertThat(fixture.store.renewals).isEmpty();
    }

    @Test
    void aRenewalThatWasUnderWayDoesNotMoveAFixedEnd() {
        Moment end = fixture.time.now().plusMillis(1_000);
        lease.tenure().fix(end);

        lease.tenure().renewed(fixture.time.now().plusMillis(29_700), fixture.time.now());

        assertThat(lease.tenure().deadline()).isEqualTo(end);
    }

    @Test
    void aHoldWhoseEndIsBeingChangedIsNotPassedOn() {
        Waiter next = fixture.enters();
        fixture.store.uponRenewal = sent -> {
            lease.release();
            sent.answer(true);
        };

        assertThat(lease.extend(Duration.ofSeconds(1))).isFalse();

        assertThat(next.outcome).isNotDone();
        assertThat(fixture.port.handOvers).hasSize(1);
    }
}
