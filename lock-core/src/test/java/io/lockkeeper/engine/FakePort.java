/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Keeps what a cohort has done for it; answers to callers arrive. */
final class FakePort implements CohortPort {

    /** A question to the store. */
    record Asked(Attempt attempt, boolean queue, Moment sent) {}

    /** A command that ends a hold, and the next attempt where it is handed over. */
    record Ended(String attempt, long lastToken, @Nullable Attempt next, CompletableFuture<Boolean> reply) {}

    final List<Asked> asked = new ArrayList<>();
    final List<Ended> handOvers = new ArrayList<>();
    final List<Ended> releases = new ArrayList<>();
    final List<String> abandoned = new ArrayList<>();
    final List<Long> polls = new ArrayList<>();
    final List<Tenure> watched = new ArrayList<>();
    final List<@Nullable String> holders = new ArrayList<>();
    final List<HeldLease> received = new ArrayList<>();
    final Set<String> tracked = new HashSet<>();

    /** Answers to commands that give places up. */
    CompletableFuture<?> abandonment = CompletableFuture.completedFuture(null);

    /** Runs while the cohort is locked and makes a lease. */
    Runnable whileLeasing = () -> {};

    /** When the store answered last; long before the test unless set. */
    long heardNanos;

    private final LeaseKeeper keeper;
    private int attempts;

    FakePort(LeaseKeeper keeper) {
        this.keeper = keeper;
    }

    @Override
    public Recovery recovery() {
        return keeper.recovery();
    }

    @Override
    public long heardNanos() {
        return heardNanos;
    }

    @Override
    public Attempt nextAttempt() {
        attempts++;
        return new Attempt("attempt" + attempts, keeper.clock().now());
    }

    @Override
    public void track(String attempt, Cohort cohort) {
        tracked.add(attempt);
    }

    @Override
    public void untrack(String attempt) {
        tracked.remove(attempt);
    }

    @Override
    public HeldLease lease(LockRequest request, Tenure tenure) {
        whileLeasing.run();
        return keeper.lease(request, tenure);
    }

    @Override
    public void ask(Cohort cohort, Attempt attempt, boolean queue) {
        asked.add(new Asked(attempt, queue, keeper.clock().now()));
    }

    @Override
    public CompletableFuture<Boolean> handOver(Tenure ended, long lastToken, Attempt next) {
        CompletableFuture<Boolean> reply = CompletableFuture.completedFuture(true);
        handOvers.add(new Ended(ended.attempt, lastToken, next, reply));
        return reply;
    }

    @Override
    public CompletableFuture<Boolean> release(Tenure ended, long lastToken, long keepMillis) {
        CompletableFuture<Boolean> reply = CompletableFuture.completedFuture(true);
        releases.add(new Ended(ended.attempt, lastToken, null, reply));
        return reply;
    }

    @Override
    public CompletableFuture<?> abandon(Cohort cohort, Attempt attempt) {
        abandoned.add(attempt.id);
        return abandonment;
    }

    @Override
    public void pollLater(Cohort cohort, Attempt attempt, long remainingMillis) {
        polls.add(remainingMillis);
    }

    @Override
    public void watch(Tenure tenure) {
        watched.add(tenure);
    }

    @Override
    public void grant(Waiter waiter, HeldLease lease) {
        if (waiter.outcome.complete(lease)) {
            received.add(lease);
            lease.received(received.size(), Duration.ZERO);
        } else {
            lease.release();
        }
    }

    @Override
    public void refuse(Waiter waiter, @Nullable String holder) {
        holders.add(holder);
        waiter.outcome.completeExceptionally(
                new LockNotAcquiredException(waiter.request.names(), Duration.ZERO, 1, null));
    }

    @Override
    public void fail(Waiter waiter, Throwable failure) {
        waiter.outcome.completeExceptionally(new LockStoreException(failure.getMessage(), failure));
    }
}
