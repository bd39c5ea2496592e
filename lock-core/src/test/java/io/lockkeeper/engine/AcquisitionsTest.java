/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** How waits begin and end: by their time, by the caller, or because the engine closes. */
class AcquisitionsTest {

    private static final LockRequest WAITING = LockRequest.of("stock").withWaitTime(Duration.ofSeconds(4));
    private static final LockRequest RETRYING = LockRequest.of("stock").withRetries(5, Duration.ofMillis(100));

    private final CohortFixture fixture = new CohortFixture();
    private final RecordingStore store = fixture.store;
    private final ManualTime time = fixture.time;
    private final StorePort port = new StorePort(
            store,
            CohortFixture.INSTANCE,
            time,
            Runnable::run,
            fixture.leases,
            new Instances(store, CohortFixture.INSTANCE));
    private final Acquisitions acquisitions = new Acquisitions(
            port,
            fixture.times,
            time,
            Runnable::run,
            RecordingStore.TRAITS.commandTimeout(),
            CohortFixture.LEASE_MILLIS,
            2);

    @Test
    void aWaitEndsWhenItsTimeIsUp() {
        port.open(Duration.ofSeconds(30));
        Duration beforeThePoll = Duration.ofSeconds(4);
        CompletableFuture<HeldLease> outcome = acquisitions.begin(WAITING.withWaitTime(beforeThePoll), false);
        queued();

        time.pass(beforeThePoll.minusMillis(1));
        assertThat(outcome).isNotDone();
        time.pass(Duration.ofMillis(1));
        last(store.releases).fail();

        assertFailure(outcome, LockNotAcquiredException.class);
        assertThat(acquisitions.names()).isZero();
        assertThat(port.liveAttempts()).isZero();
    }

    @Test
    void aCancelledWaitGivesThePlaceUp() {
        CompletableFuture<HeldLease> outcome = acquisitions.begin(WAITING, false);
        queued();

        outcome.cancel(false);

        assertThat(last(store.releases).command().attempt())
                .isEqualTo(last(store.acquires).command().attempt());
        assertThat(acquisitions.names()).isZero();
    }

    @Test
    void fairCallersAskTheStoreOneAfterTheOther() {
        acquisitions.begin(WAITING.withMode(LockMode.FAIR), false);
        acquisitions.begin(WAITING.withMode(LockMode.FAIR), false);
        assertThat(store.acquires).hasSize(1);

        queued();

        assertThat(store.acquires).hasSize(2);
    }

    @Test
    void closingRefusesThoseWhoWaitAndHoldNothing() {
        CompletableFuture<HeldLease> idle = acquisitions.begin(WAITING, false);
        CompletableFuture<HeldLease> nested = acquisitions.begin(WAITING, true);
        queued();

        acquisitions.close();

        assertFailure(idle, StoreException.class);
        assertThat(nested).isNotDone();
        assertFailure(acquisitions.begin(WAITING, false), StoreException.class);
        assertThat(acquisitions.begin(WAITING, true)).isNotDone();
    }

    @Test
    void closingRefusesThoseWhoAreAboutToTryAgain() {
        CompletableFuture<HeldLease> retrying = acquisitions.begin(RETRYING, false);
        last(store.acquires).answer(new AcquireReply.Busy("other1"));
        assertThat(retrying).isNotDone();

        acquisitions.close();

        assertFailure(retrying, StoreException.class);
        time.pass(Duration.ofSeconds(1));
        assertThat(store.acquires).hasSize(1);
        assertThat(acquisitions.names()).isZero();
    }

    private void queued() {
        last(store.acquires).answer(new AcquireReply.Queued("other1", 20_000, fixture.storeMillis()));
    }

    private static void assertFailure(CompletableFuture<HeldLease> outcome, Class<? extends Throwable> type) {
        assertThat(outcome).failsWithin(Duration.ZERO).withThrowableThat().withCauseInstanceOf(type);
    }
}
