/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockEngine;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A cohort with everything around it in the hands of a test: the clock, the store's answers, and what is done for it. */
final class CohortFixture {

    static final int MAX_PASSES = 2;
    static final Duration MAX_PASS_TIME = Duration.ofMillis(50);
    static final long LEASE_MILLIS = 30_000;
    static final long GRANT_MILLIS = 3_000;
    static final LockRequest REQUEST = LockRequest.of("stock");

    static final StoredInstance INSTANCE = StoredInstance.ofThisProcess("CLIENT000000", "test");

    final ManualTime time = new ManualTime();
    final RecordingStore store = new RecordingStore();
    final Events events = new Events();
    final Leases leases = new Leases(store, time, time, settings(events), Runnable::run);
    final FakePort port = new FakePort(leases);
    final CohortTimes times = new CohortTimes(time, 5_000, MAX_PASS_TIME.toNanos(), false);
    final Cohort cohort = cohort(Claim.renewed(List.of("stock"), ClaimMode.EXCLUSIVE, LEASE_MILLIS, MAX_PASSES));
    int firstAnswers;
    int retirements;

    static LockEngine.Settings settings(Events events) {
        return new LockEngine.Settings(
                Duration.ofMillis(LEASE_MILLIS),
                MAX_PASSES,
                MAX_PASS_TIME,
                Duration.ZERO,
                "test",
                Runnable::run,
                events);
    }

    Cohort cohort(Claim claim) {
        return new Cohort(claim, port, times, Runnable::run, () -> firstAnswers++, retired -> retirements++);
    }

    /** A caller comes who waits. */
    Waiter enters() {
        return enters(true);
    }

    /** A caller comes who wants an answer at once. */
    Waiter tries() {
        return enters(false);
    }

    private Waiter enters(boolean waits) {
        Waiter waiter = new Waiter(REQUEST, waits, false, time.now());
        assertThat(cohort.enter(waiter)).isTrue();
        return waiter;
    }

    /** A caller comes and has the lock at once, with the first token of a block. */
    HeldLease holds(long firstToken) {
        Waiter waiter = enters();
        acquired(firstToken);
        return waiter.outcome.join();
    }

    /** A caller comes, waits behind another instance, and has the lock by a grant. */
    HeldLease isGranted(long firstToken) {
        Waiter waiter = enters();
        queued();
        granted(firstToken);
        return waiter.outcome.join();
    }

    /** Callers wait behind another instance. */
    void queued() {
        answer(new AcquireReply.Queued("other1", 20_000, storeMillis()));
    }

    void acquired(long firstToken) {
        answer(new AcquireReply.Acquired(cohort.claim().leaseMillis(), List.of(firstToken)));
    }

    static AcquireReply.Acquired acquiredReply(long firstToken) {
        return new AcquireReply.Acquired(LEASE_MILLIS, List.of(firstToken));
    }

    void answer(AcquireReply reply) {
        FakePort.Asked question = last(port.asked);
        cohort.answered(question.attempt(), question.sent(), reply);
    }

    void fail() {
        cohort.failed(last(port.asked).attempt(), new StoreException("no answer within 2 s", null));
    }

    void granted(long firstToken) {
        cohort.granted(grant(last(port.asked).attempt(), firstToken));
    }

    Grant grant(Attempt attempt, long firstToken) {
        return new Grant(attempt.id, "stock", firstToken, storeMillis() + GRANT_MILLIS);
    }

    /** The store's clock, which is behind ours. */
    long storeMillis() {
        return TimeUnit.NANOSECONDS.toMillis(time.nanoTime()) - 1_000;
    }

    /** The caller gives up, as an interrupted or cancelled one does. */
    CompletableFuture<Void> leaves(Waiter waiter) {
        CompletableFuture<Void> placeGone = new CompletableFuture<>();
        waiter.outcome.cancel(false);
        cohort.leave(waiter, Runnable::run, placeGone);
        return placeGone;
    }

    static HeldLease leaseOf(Waiter waiter) {
        assertThat(waiter.outcome).isCompleted();
        return waiter.outcome.join();
    }
}
