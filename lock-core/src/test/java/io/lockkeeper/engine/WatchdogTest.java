/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.RenewCommand;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** When holds are renewed, and when they are given up for lost. */
class WatchdogTest {

    /** How long a renewal that is due may wait for others. */
    private static final Duration BATCH = Duration.ofMillis(6);

    /** How much earlier than after a third of the time a renewal may come, to come with others: a 60th of the lease. */
    private static final Duration EARLY = Duration.ofMillis(500);

    /** The time for which a holder believes: 30 s less 1%. */
    private static final Duration BELIEVED = Duration.ofMillis(29_700);

    private final CohortFixture fixture = new CohortFixture();
    private final ManualTime time = fixture.time;
    private final RecordingStore store = fixture.store;
    private final List<String> lost = new ArrayList<>();
    private final Watchdog watchdog =
            new Watchdog(store, time, time, Runnable::run, fixture.events, (tenure, reason) -> lost.add(reason));

    @Test
    void aHoldIsRenewedAfterAThirdOfItsTimeOrALittleEarlier() {
        Tenure tenure = watched();
        time.pass(BELIEVED.dividedBy(3).minus(EARLY));
        assertThat(store.renewals).isEmpty();

        time.pass(EARLY.plus(BATCH));

        assertThat(last(store.renewals).command()).isEqualTo(new RenewCommand("stock", "attempt1", 30_000, false, 0));
        Duration left = remaining(tenure);
        assertThat(left).isBetween(BELIEVED.multipliedBy(2).dividedBy(3).minus(BATCH), BELIEVED.minusSeconds(9));
        time.pass(Duration.ofSeconds(1));
        last(store.renewals).answer(true);
        assertThat(remaining(tenure))
                .isBetween(BELIEVED.minusSeconds(1).minus(EARLY.plus(BATCH)), BELIEVED.minusSeconds(1));
        assertThat(fixture.events.renewed).hasSize(1);
    }

    /** The store was in doubt whether the command was a late copy. */
    @Test
    void aHoldThatIsShortIsRenewedAtOnce() {
        Tenure tenure = fixture.times.tenure(
                fixture.cohort, "attempt1", new AcquireReply.Acquired(290, List.of(1L)), time.now());
        watchdog.watch(tenure);

        time.pass(BATCH);

        assertThat(store.renewals).hasSize(1);
        last(store.renewals).answer(true);
        assertThat(remaining(tenure)).isBetween(BELIEVED.minus(BATCH), BELIEVED);
    }

    @Test
    void aHoldIsRenewedAgainAndAgain() {
        Tenure tenure = watched();
        for (int i = 1; i <= 10; i++) {
            time.pass(BELIEVED.dividedBy(3).plus(BATCH));
            assertThat(store.renewals).hasSize(i);
            last(store.renewals).answer(true);
        }

        assertThat(remaining(tenure)).isBetween(BELIEVED.minus(EARLY.plus(BATCH)), BELIEVED);
        assertThat(lost).isEmpty();
        assertThat(time.pending()).isLessThanOrEqualTo(2);
    }

    /** Each task that waits costs memory, and each that is due wakes a thread. */
    @Test
    void holdsShareTheirTimersAndLeaveNoneBehind() {
        List<Tenure> tenures = Stream.generate(this::watched).limit(100).toList();
        assertThat(time.pending()).isEqualTo(1);
        time.pass(BELIEVED.dividedBy(3).plus(BATCH));
        assertThat(store.renewalBatches).containsExactly(100);
        assertThat(time.pending()).isEqualTo(1);
        store.renewals.forEach(sent -> sent.answer(true));

        tenures.forEach(Tenure::end);
        time.pass(BELIEVED);

        assertThat(store.renewalBatches).hasSize(1);
        assertThat(time.pending()).isZero();
    }

    @Test
    void timersOfReleasedHoldsDoNotPileUp() {
        for (int i = 0; i < 1_000; i++) {
            Tenure tenure = watched();
            time.pass(Duration.ofMillis(200));
            tenure.end();
        }

        assertThat(time.pending()).isLessThanOrEqualTo(2);
        assertThat(store.renewals).isEmpty();
    }

    @Test
    void aHoldThatIsTakenOutLeavesTheOthersInTheirPlaces() {
        List<Tenure> tenures = Stream.generate(this::watched).limit(5).toList();
        tenures.get(1).end();
        tenures.get(4).lose();
        tenures.get(0).end();

        time.pass(BELIEVED.dividedBy(3).plus(BATCH));

        assertThat(store.renewalBatches).containsExactly(2);
        tenures.get(2).end();
        store.renewals.forEach(sent -> sent.answer(true));
        time.pass(BELIEVED.dividedBy(3).plus(BATCH));
        assertThat(store.renewalBatches).containsExactly(2, 1);
    }

    @Test
    void holdsThatAreDueTogetherAreRenewedTogether() {
        watched();
        time.pass(Duration.ofMillis(50));
        watched();
        time.pass(EARLY);
        watched();

        time.pass(BELIEVED.dividedBy(3).plus(BATCH));

        assertThat(store.renewalBatches).containsExactly(2, 1);
    }

    @Test
    void aRenewalThatFailsIsRepeatedUntilItWorks() {
        Tenure tenure = watched();
        time.pass(BELIEVED.dividedBy(3).plus(BATCH));
        last(store.renewals).fail();
        assertThat(fixture.events.failedRenewals).hasSize(1);
        assertThat(time.nextDelay()).isEqualTo(Duration.ofSeconds(1));

        time.pass(Duration.ofSeconds(1).plus(BATCH));
        assertThat(store.renewals).hasSize(2);
        last(store.renewals).answer(true);

        assertThat(remaining(tenure)).isBetween(BELIEVED.minus(BATCH), BELIEVED);
        assertThat(lost).isEmpty();
    }

    @Test
    void aHoldIsLostAtItsDeadlineWhenNoRenewalWorks() {
        watched();
        Duration step = Duration.ofMillis(1);
        for (Duration passed = step; passed.compareTo(BELIEVED) < 0; passed = passed.plus(step)) {
            time.pass(step);
            store.renewals.stream().filter(sent -> !sent.reply().isDone()).forEach(RecordingStore.Sent::fail);
            assertThat(lost).isEmpty();
        }
        assertThat(store.renewals).hasSizeGreaterThan(20);

        time.pass(step);

        assertThat(lost).containsExactly("its lease ended before it was renewed");
    }

    @Test
    void aHoldIsLostAtItsDeadlineWhenNoRenewalIsAnswered() {
        watched();
        time.pass(BELIEVED.minusMillis(1));
        assertThat(store.renewals).hasSize(1);
        assertThat(lost).isEmpty();

        time.pass(Duration.ofMillis(1));

        assertThat(lost).hasSize(1);
    }

    @Test
    void aHoldIsLostWhenTheStoreSaysSo() {
        watched();
        time.pass(BELIEVED.dividedBy(3).plus(BATCH));

        last(store.renewals).answer(false);

        assertThat(lost).containsExactly("the store says that it ended");
    }

    @Test
    void aHoldIsOverAtItsDeadlineOnTheWallClockToo() {
        HeldLease lease = fixture.holds(100);
        time.jumpWall(BELIEVED.minusMillis(1));
        assertThat(lease.isHeld()).isTrue();

        time.jumpWall(Duration.ofMillis(1));

        assertThat(lease.isHeld()).isFalse();
        time.jumpWall(BELIEVED.negated());
        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void aWallClockThatGoesBackDoesNotProlongAHold() {
        HeldLease lease = fixture.holds(100);
        time.jumpWall(Duration.ofHours(-1));

        time.pass(BELIEVED.minusMillis(1));
        assertThat(lease.isHeld()).isTrue();
        time.pass(Duration.ofMillis(1));

        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void nothingIsRenewedAfterARelease() {
        Tenure before = watched();
        Tenure batched = watched();
        Tenure asked = watched();
        before.end();
        time.pass(time.nextDelay());
        batched.end();
        time.pass(BATCH);
        assertThat(store.renewalBatches).containsExactly(1);
        asked.end();

        last(store.renewals).answer(true);
        time.pass(BELIEVED);

        assertThat(store.renewals).hasSize(1);
        assertThat(lost).isEmpty();
        assertThat(time.pending()).isZero();
    }

    @Test
    void aHoldThatEndedBeforeItWasWatchedIsNotRenewed() {
        Tenure tenure = tenure();
        tenure.end();

        watchdog.watch(tenure);

        assertThat(time.pending()).isZero();
    }

    @Test
    void aFixedLeaseIsNotRenewedAndEndsByItself() {
        Cohort own = fixture.cohort(Claim.fixed(List.of("stock"), ClaimMode.EXCLUSIVE, 5_000));
        watchdog.watch(fixture.times.tenure(own, "attempt1", reply(own), time.now()));
        time.pass(Duration.ofMillis(4_999));
        assertThat(lost).isEmpty();

        time.pass(Duration.ofMillis(1));

        assertThat(lost).containsExactly("its lease time is over");
        assertThat(store.renewals).isEmpty();
    }

    @Test
    void aGrantedFixedLeaseIsExtendedOnceToItsEnd() {
        Tenure tenure = grantedFor(Duration.ofSeconds(10));
        assertThat(remaining(tenure)).isEqualTo(Duration.ofMillis(2_900));
        watchdog.watch(tenure);

        time.pass(Duration.ofMillis(2_900).dividedBy(3).plus(BATCH));
        assertThat(last(store.renewals).command().leaseMillis()).isBetween(9_030L, 9_310L);
        last(store.renewals).answer(true);
        assertThat(tenure.deadline()).isEqualTo(tenure.fixedEnd());

        time.pass(Duration.ofSeconds(10));
        assertThat(store.renewals).hasSize(1);
        assertThat(lost).containsExactly("its lease time is over");
    }

    @Test
    void theStoreKeepsALongFixedLeaseLongerThanItsHolderBelieves() {
        Tenure tenure = grantedFor(Duration.ofHours(1));
        watchdog.watch(tenure);

        time.pass(Duration.ofMillis(2_900).dividedBy(3).plus(BATCH));

        long kept = last(store.renewals).command().leaseMillis();
        assertThat(kept - tenure.fixedEnd().nanosFrom(time) / 1_000_000).isGreaterThan(35_000);
    }

    private Tenure grantedFor(Duration leaseTime) {
        Cohort own = fixture.cohort(Claim.fixed(List.of("stock"), ClaimMode.EXCLUSIVE, leaseTime.toMillis()));
        fixture.enters();
        fixture.queued();
        Attempt waiting = last(fixture.port.asked).attempt();
        Grant grant = fixture.grant(waiting, 100);
        return fixture.times.tenure(own, waiting, grant);
    }

    private Tenure watched() {
        Tenure tenure = tenure();
        watchdog.watch(tenure);
        return tenure;
    }

    private Tenure tenure() {
        return fixture.times.tenure(fixture.cohort, "attempt1", reply(fixture.cohort), time.now());
    }

    private static AcquireReply.Acquired reply(Cohort cohort) {
        return new AcquireReply.Acquired(cohort.claim().leaseMillis(), List.of(1L));
    }

    private Duration remaining(Tenure tenure) {
        return Duration.ofNanos(tenure.deadline().nanosFrom(time));
    }
}
