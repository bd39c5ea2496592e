/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What a cohort has done for it. The methods above {@link #ask} are called while the cohort
 * is locked and return at once; that one and those below are called after that.
 */
interface CohortPort {

    /** Goes on with what an error interrupted. */
    Recovery recovery();

    /** Returns when the store answered last, to whatever question, on the monotonic clock. */
    long heardNanos();

    /** Returns a new attempt. */
    Attempt nextAttempt();

    /** Sends the grants of an attempt to a cohort from now on, while it waits and while it holds. */
    void track(String attempt, Cohort cohort);

    /** An attempt has ended: a grant for it is given back. */
    void untrack(String attempt);

    /** Returns a lease for the caller who has the hold now. */
    HeldLease lease(LockRequest request, Tenure tenure);

    /** Calls {@link Cohort#pollDue} when the attempt should ask again; of two calls for it the later one counts. */
    void pollLater(Cohort cohort, Attempt attempt, long remainingMillis);

    /** Asks the store, and answers with {@link Cohort#answered} or {@link Cohort#failed}. */
    void ask(Cohort cohort, Attempt attempt, boolean queue);

    /** Ends a hold and asks for the next attempt in one command. Returns whether the store took it. */
    CompletableFuture<Boolean> handOver(Tenure ended, long lastToken, Attempt next);

    /** Ends a hold; the lock may stay taken for a while. Returns whether the store took it; fails as the store does. */
    CompletableFuture<Boolean> release(Tenure ended, long lastToken, long keepMillis);

    /**
     * Ends whatever an attempt may have, for as long as a command of it may still arrive. Returns when the store has been
     * told for the first time.
     */
    CompletableFuture<?> abandon(Cohort cohort, Attempt attempt);

    /** Begins to renew a hold. */
    void watch(Tenure tenure);

    /** Gives the lock to a waiter. */
    void grant(Waiter waiter, HeldLease lease);

    /** Tells a waiter that somebody else holds the lock. */
    void refuse(Waiter waiter, @Nullable String holder);

    /** Tells a waiter that the store failed. */
    void fail(Waiter waiter, Throwable failure);

    /** Says what came of a release when the store has said whether there was a hold. */
    static void settle(CompletableFuture<ReleaseResult> result, CompletableFuture<Boolean> wasHeld) {
        wasHeld.thenApply(held -> held ? ReleaseResult.RELEASED : ReleaseResult.LOST)
                .exceptionally(failure -> ReleaseResult.UNKNOWN)
                .thenAccept(result::complete);
    }
}
