/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockRequest;
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

    final Outcome outcome = new Outcome();

    Waiter(LockRequest request, boolean waits, boolean nested, Moment asked) {
        this.request = request;
        this.waits = waits;
        this.nested = nested;
        this.asked = asked;
    }

    boolean isGone() {
        return outcome.isDone();
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
