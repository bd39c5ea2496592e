/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which commands go to the store, which are repeated, and where grants go. */
class StorePortTest {

    private final CohortFixture fixture = new CohortFixture();
    private final ManualTime time = fixture.time;
    private final RecordingStore store = fixture.store;
    private final StorePort port = new StorePort(
            store,
            CohortFixture.INSTANCE,
            time,
            Runnable::run,
            fixture.leases,
            new Instances(store, CohortFixture.INSTANCE));
    private final Cohort cohort = new Cohort(
            Claim.renewed(List.of("stock"), ClaimMode.EXCLUSIVE, CohortFixture.LEASE_MILLIS, 0),
            port,
            fixture.times,
            Runnable::run,
            () -> {},
            retired -> {});

    @BeforeEach
    void open() {
        port.open(Duration.ofSeconds(30));
    }

    /** Its tokens stay given out: where the news is old they were used, and the true release may come after this one. */
    @Test
    void aGrantForAnAttemptThatHasEndedIsGivenBack() {
        port.granted(new Grant("CLIENT00000000000009", "stock", 100, 3_000));

        assertThat(last(store.releases).command())
                .isEqualTo(new ReleaseCommand(List.of("stock"), "CLIENT00000000000009", 0, 0));
        last(store.releases).fail();
        time.pass(Duration.ofMillis(300));
        assertThat(store.releases).hasSize(2);
    }

    @Test
    void aGrantGoesToTheCohortThatWaits() {
        Waiter waiter = enters();
        queued();

        port.granted(grant());

        assertThat(CohortFixture.leaseOf(waiter).fencingToken()).isEqualTo(100);
        assertThat(port.liveAttempts()).isEqualTo(1);
    }

    @Test
    void aSecondCopyOfTheGrantOfAHeldAttemptIsNotGivenBack() {
        enters();
        queued();
        port.granted(grant());

        port.granted(grant());

        assertThat(store.releases).isEmpty();
    }

    @Test
    void anAttemptIsAbandonedOnceMoreWhenItsLastCommandMayHaveArrived() {
        Waiter waiter = enters();
        queued();
        cohort.expire(waiter, new CompletableFuture<>());
        last(store.releases).answer(ReleaseReply.NOT_HELD);

        time.pass(Duration.ofMillis(1_999));
        assertThat(store.releases).hasSize(1);
        time.pass(Duration.ofMillis(1));

        assertThat(store.releases).hasSize(2);
        last(store.releases).answer(ReleaseReply.NOT_HELD);
        time.pass(Duration.ofMinutes(1));
        assertThat(store.releases).hasSize(2);
    }

    @Test
    void aWaitingAttemptAsksAgainWhenTheHoldMayBeOver() {
        enters();
        last(store.acquires).answer(new AcquireReply.Queued("other1", 1_000, fixture.storeMillis()));
        time.pass(Duration.ofMillis(1_004));
        assertThat(store.acquires).hasSize(1);

        time.pass(Duration.ofMillis(75));

        assertThat(store.acquires).hasSize(2);
        assertThat(last(store.acquires).command())
                .isEqualTo(store.acquires.get(0).command());
    }

    @Test
    void aWaitingAttemptAsksAgainAfterThePollIntervalAtTheLatest() {
        enters();
        queued();

        time.pass(Duration.ofMillis(5_275));

        assertThat(store.acquires).hasSize(2);
    }

    @Test
    void everyWaitingAttemptAsksAtOnceWhenGrantsMayHaveBeenMissed() {
        enters();
        queued();

        port.channelRestored();

        assertThat(store.acquires).hasSize(2);
    }

    @Test
    void aReleaseThatIsNotAnsweredIsUnknownAndRepeated() {
        Waiter waiter = enters();
        last(store.acquires).answer(CohortFixture.acquiredReply(100));
        CompletableFuture<ReleaseResult> result = cohort.release(CohortFixture.leaseOf(waiter));
        last(store.releases).fail();
        assertThat(result).isCompletedWithValue(ReleaseResult.UNKNOWN);

        time.pass(Duration.ofMillis(300));
        assertThat(store.releases).hasSize(2);
        assertThat(last(store.releases).command())
                .isEqualTo(store.releases.get(0).command());

        last(store.releases).answer(ReleaseReply.RELEASED);
        time.pass(Duration.ofMinutes(1));
        assertThat(store.releases).hasSize(2);
    }

    @Test
    void aReleaseOfWhatTheStoreDoesNotKnowIsALoss() {
        Waiter waiter = enters();
        last(store.acquires).answer(CohortFixture.acquiredReply(100));
        CompletableFuture<ReleaseResult> result = cohort.release(CohortFixture.leaseOf(waiter));

        last(store.releases).answer(ReleaseReply.NOT_HELD);

        assertThat(result).isCompletedWithValue(ReleaseResult.LOST);
    }

    /** A poll may still be on its way, and nothing in the store would refuse it. */
    @Test
    void whatTheStoreDoesNotKnowIsReleasedOnceMoreWhenItsLastCommandMayHaveArrived() {
        Waiter waiter = enters();
        last(store.acquires).answer(CohortFixture.acquiredReply(100));
        cohort.release(CohortFixture.leaseOf(waiter));
        last(store.releases).answer(ReleaseReply.NOT_HELD);

        time.pass(Duration.ofMillis(1_999));
        assertThat(store.releases).hasSize(1);
        time.pass(Duration.ofMillis(1));

        assertThat(store.releases).hasSize(2);
        assertThat(last(store.releases).command())
                .isEqualTo(new ReleaseCommand(List.of("stock"), CohortFixture.INSTANCE.clientId() + "00000001", 0, 0));
        last(store.releases).answer(ReleaseReply.NOT_HELD);
        time.pass(Duration.ofMinutes(1));
        assertThat(store.releases).hasSize(2);
    }

    @Test
    void aHandOverOfWhatTheStoreDoesNotKnowReleasesItOnceMore() {
        Waiter first = enters();
        last(store.acquires).answer(CohortFixture.acquiredReply(100));
        enters();
        CompletableFuture<ReleaseResult> result = cohort.release(CohortFixture.leaseOf(first));
        last(store.handOvers).answer(new HandOverReply(false, new AcquireReply.Ended()));
        assertThat(result).isCompletedWithValue(ReleaseResult.LOST);
        assertThat(store.releases).isEmpty();

        time.pass(Duration.ofSeconds(2));

        assertThat(last(store.releases).command())
                .isEqualTo(new ReleaseCommand(List.of("stock"), CohortFixture.INSTANCE.clientId() + "00000001", 0, 0));
    }

    @Test
    void aHandOverIsOneCommandForBothAttempts() {
        Waiter first = enters();
        last(store.acquires).answer(CohortFixture.acquiredReply(100));
        Waiter second = enters();
        CompletableFuture<ReleaseResult> result = cohort.release(CohortFixture.leaseOf(first));

        last(store.handOvers).answer(new HandOverReply(true, CohortFixture.acquiredReply(101)));

        assertThat(result).isCompletedWithValue(ReleaseResult.RELEASED);
        assertThat(CohortFixture.leaseOf(second).fencingToken()).isEqualTo(101);
        assertThat(store.acquires).hasSize(1);
        assertThat(store.releases).isEmpty();
    }

    @Test
    void aHandOverThatIsNotAnsweredReleasesBothAttemptsAndKeepsWhoWaits() {
        Waiter first = enters();
        last(store.acquires).answer(CohortFixture.acquiredReply(100));
        Waiter second = enters();
        CompletableFuture<ReleaseResult> result = cohort.release(CohortFixture.leaseOf(first));

        last(store.handOvers).fail();

        assertThat(result).isCompletedWithValue(ReleaseResult.UNKNOWN);
        assertThat(second.outcome).isNotDone();
        assertThat(store.releases)
                .extracting(sent -> sent.command().attempt())
                .containsExactlyInAnyOrder(
                        CohortFixture.INSTANCE.clientId() + "00000001", CohortFixture.INSTANCE.clientId() + "00000002");
        assertThat(port.liveAttempts()).isEqualTo(1);

        time.pass(Duration.ofSeconds(2));
        last(store.acquires).answer(CohortFixture.acquiredReply(102));
        assertThat(CohortFixture.leaseOf(second).fencingToken()).isEqualTo(102);
    }

    private Waiter enters() {
        Waiter waiter = new Waiter(CohortFixture.REQUEST, true, false, time.now());
        assertThat(cohort.enter(waiter)).isTrue();
        return waiter;
    }

    private void queued() {
        last(store.acquires).answer(new AcquireReply.Queued("other1", 20_000, fixture.storeMillis()));
    }

    private Grant grant() {
        String attempt = last(store.acquires).command().attempt();
        return new Grant(attempt, "stock", 100, fixture.storeMillis() + CohortFixture.GRANT_MILLIS);
    }
}
