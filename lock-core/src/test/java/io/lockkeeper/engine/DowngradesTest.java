/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** An exclusive holder who goes on as a reader, while the store answers or does not. */
class DowngradesTest {

    private final CohortFixture fixture = new CohortFixture();
    private final RecordingStore store = fixture.store;
    private final Downgrades downgrades =
            new Downgrades(store, fixture.port, fixture.times, fixture.leases, fixture.time, Runnable::run);

    /** Begins a downgrade, and returns when the command has been sent. */
    private CompletableFuture<HeldLease> downgrade(HeldLease exclusive) {
        int before = store.handOvers.size();
        CompletableFuture<HeldLease> downgraded = CompletableFuture.supplyAsync(() -> downgrades.downgrade(exclusive));
        Awaitility.await().until(() -> store.handOvers.size() > before);
        return downgraded;
    }

    private static HeldLease await(CompletableFuture<HeldLease> downgraded)
            throws InterruptedException, ExecutionException, TimeoutException {
        return downgraded.get(5, TimeUnit.SECONDS);
    }

    private HandOverReply taken() {
        return new HandOverReply(true, CohortFixture.acquiredReply(100));
    }

    @Test
    void theReaderHasTheTokenTheBeginningAndTheCallbacksOfTheWriter() throws Exception {
        HeldLease exclusive = fixture.holds(100);
        List<LockLostException> told = new ArrayList<>();
        exclusive.onLost(told::add);
        fixture.time.pass(Duration.ofSeconds(2));
        CompletableFuture<HeldLease> downgraded = downgrade(exclusive);
        assertThat(last(store.handOvers).command().ahead()).isTrue();
        last(store.handOvers).answer(taken());

        HeldLease reader = await(downgraded);

        assertThat(reader.mode()).isEqualTo(LockMode.READ);
        assertThat(reader.fencingToken()).isEqualTo(100);
        assertThat(reader.remaining()).isEqualTo(Duration.ofMillis(29_700));
        assertThat(exclusive.isHeld()).isFalse();
        assertThat(exclusive.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
        assertThat(fixture.port.watched).hasSize(2);
        fixture.leases.lose(reader.tenure(), "the store says that it ended");
        assertThat(told).singleElement().satisfies(lost -> assertThat(lost.heldFor())
                .isEqualTo(Duration.ofSeconds(2)));
    }

    @Test
    void aDowngradeThatIsNotAnsweredIsRepeatedAndBelievedUntilTheOldDeadline() throws Exception {
        HeldLease exclusive = fixture.holds(100);
        fixture.time.pass(Duration.ofSeconds(2));
        CompletableFuture<HeldLease> downgraded = downgrade(exclusive);
        last(store.handOvers).fail();
        HeldLease reader = await(downgraded);

        assertThat(reader.isHeld()).isTrue();
        assertThat(reader.remaining()).isEqualTo(Duration.ofMillis(27_700));
        fixture.time.pass(Duration.ofMillis(200));
        assertThat(store.handOvers).hasSize(2);
        assertThat(last(store.handOvers).command())
                .isEqualTo(store.handOvers.get(0).command());
        last(store.handOvers).answer(taken());

        assertThat(reader.remaining()).isEqualTo(Duration.ofMillis(29_700));
    }

    /** The poll crossed the grant. To give up its attempt would end, in the store, the hold that is being handed over. */
    @Test
    void aPollThatFailsAfterTheDowngradeBeganEndsNothing() throws Exception {
        Waiter waiter = fixture.enters();
        fixture.queued();
        Attempt attempt = last(fixture.port.asked).attempt();
        fixture.cohort.pollNow();
        fixture.granted(100);
        CompletableFuture<HeldLease> downgraded = downgrade(CohortFixture.leaseOf(waiter));

        fixture.cohort.failed(attempt, new StoreException("no answer within 2 s", null));
        fixture.cohort.answered(
                attempt, fixture.time.now(), new AcquireReply.Queued("other1", 1_000, fixture.storeMillis()));
        fixture.cohort.answered(attempt, fixture.time.now(), CohortFixture.acquiredReply(100));

        assertThat(fixture.port.abandoned).isEmpty();
        last(store.handOvers).answer(taken());
        assertThat(await(downgraded).isHeld()).isTrue();
    }

    @Test
    void aStoreThatStaysSilentMakesTheReaderLostAtTheOldDeadline() throws Exception {
        HeldLease exclusive = fixture.holds(100);
        CompletableFuture<HeldLease> downgraded = downgrade(exclusive);
        last(store.handOvers).fail();
        HeldLease reader = await(downgraded);
        for (int i = 0; i < 200 && reader.isHeld(); i++) {
            fixture.time.pass(Duration.ofMillis(200));
            last(store.handOvers).fail();
        }

        assertThat(reader.isHeld()).isFalse();
        assertThat(fixture.events.lost).hasSize(1);
        assertThat(store.handOvers).hasSizeBetween(140, 160);
    }

    @Test
    void aReaderWhoLeavesMeanwhileTakesBothAttemptsAlong() throws Exception {
        HeldLease exclusive = fixture.holds(100);
        CompletableFuture<HeldLease> downgraded = downgrade(exclusive);
        last(store.handOvers).fail();
        HeldLease reader = await(downgraded);
        assertThat(reader.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(fixture.port.releases)
                .extracting(FakePort.Ended::attempt)
                .containsExactlyInAnyOrder(exclusive.tenure().attempt, reader.tenure().attempt);
        fixture.time.pass(Duration.ofMillis(200));
        last(store.handOvers).fail();

        assertThat(fixture.port.abandoned)
                .containsExactlyInAnyOrder(exclusive.tenure().attempt, reader.tenure().attempt);
        fixture.time.pass(Duration.ofSeconds(10));
        assertThat(store.handOvers).hasSize(2);
    }

    @Test
    void aHoldThatTheStoreForgotIsLost() throws Exception {
        HeldLease exclusive = fixture.holds(100);
        CompletableFuture<HeldLease> downgraded = downgrade(exclusive);
        last(store.handOvers).answer(new HandOverReply(false, new AcquireReply.Ended()));

        assertThat(await(downgraded).isHeld()).isFalse();
        assertThat(fixture.events.lost).hasSize(1);
    }

    @Test
    void localCallersWhoWaitAskAnew() throws Exception {
        HeldLease exclusive = fixture.holds(100);
        Waiter next = fixture.enters();
        CompletableFuture<HeldLease> downgraded = downgrade(exclusive);
        last(store.handOvers).answer(taken());
        await(downgraded);

        assertThat(next.outcome).isNotDone();
        assertThat(last(fixture.port.asked).queue()).isTrue();
        fixture.acquired(200);
        assertThat(CohortFixture.leaseOf(next).fencingToken()).isEqualTo(200);
    }

    @Test
    void aLostHoldIsNotDowngraded() {
        HeldLease exclusive = fixture.holds(100);
        fixture.time.passUnnoticed(Duration.ofSeconds(30));

        assertThat(downgrades.downgrade(exclusive)).isSameAs(exclusive);
        assertThat(store.handOvers).isEmpty();
    }
}
