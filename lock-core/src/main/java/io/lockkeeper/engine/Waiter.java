/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockRequest;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A local caller who wants a lock. The outcome is completed exactly once: by the cohort, or by a caller who leaves. */
final class Waiter {

    final LockRequest request;
    final Moment asked;

    /** Whether the caller holds another lock, and may go on while the engine closes. */
    final boolean nested;

    /** Whether the caller waits where the lock is held; false: it wants an answer at once. Guarded by the cohort. */
    boolean waits;

    /** Whether its cohort did not know of it at the last look; used by the timer alone. */
    boolean forgotten;

    /** How long the caller waits for an answer, whatever the store does; null: without limit. */
    @Nullable
    Duration patience;

    /** Whether the wait is over: nothing is asked for this caller any more. */
    volatile boolean over;

    /** The cohort that the caller has entered, or is about to enter. */
    private volatile @Nullable Cohort cohort;

    final Outcome outcome = new Outcome();

    Waiter(LockRequest request, boolean waits, boolean nested, Moment asked) {
        this.request = request;
        this.waits = waits;
        this.nested = nested;
        this.asked = asked;
    }

    boolean isGone() {
        return over || outcome.isDone();
    }

    Cohort cohort() {
        return Objects.requireNonNull(cohort, "a caller has a cohort before its wait can end");
    }

    Cohort chooses(Cohort entered) {
        cohort = entered;
        return entered;
    }

    /** Returns the nanoseconds until a given time after the end of the wait; {@link Long#MAX_VALUE} where it has no end. */
    long nanosLeft(long afterMillis, TimeSource clock) {
        return patience == null
                ? Long.MAX_VALUE
                : patience.plusMillis(afterMillis).minus(asked.until(clock)).toNanos();
    }

    /** Returns whether the caller's answer is a given lease. */
    boolean received(HeldLease lease) {
        return outcome.isDone() && !outcome.isCompletedExceptionally() && outcome.join() == lease;
    }

    /** What became of a caller, and of its place in the store. */
    static final class Outcome extends CompletableFuture<HeldLease> {

        /** Completed when a caller who left has no place in the store any more. */
        final CompletableFuture<@Nullable Void> placeGone = new CompletableFuture<>();
    }
}
