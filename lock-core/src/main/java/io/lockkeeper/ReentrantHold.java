/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A lease and the levels that share it, whichever owners they belong to. The last level to end releases the lease. When
 * the last exclusive level ends and levels that read are left, the hold goes on as that of a reader.
 */
final class ReentrantHold {

    private static final CompletableFuture<?> NOTHING_TO_DO = CompletableFuture.completedFuture(null);

    private final LockManager.Lease lease;
    private int exclusiveLevels;
    private int readLevels;

    /** How many of the levels are those of bodies, which are on a stack or under way. */
    private volatile int bodies;

    private volatile boolean over;

    ReentrantHold(LockManager.Lease lease) {
        this.lease = lease;
    }

    LockManager.Lease lease() {
        return lease;
    }

    boolean hasBodies() {
        return bodies > 0;
    }

    /** Returns whether it cannot be entered any more. */
    boolean isOver() {
        return over || lease.isReleased();
    }

    /** Ends a lost hold, whose levels are still to be left. */
    void drop() {
        over = true;
        lease.closeAsync();
    }

    /**
     * Begins a level; false: the last one has ended, perhaps on another thread.
     *
     * @throws LockUpgradeException if the hold is that of a reader, and the level asks for more
     */
    synchronized boolean enter(NestedLease level) {
        if (over) {
            return false;
        }
        if (lease.mode() == LockMode.READ && !level.reads()) {
            throw new LockUpgradeException(lease.name(), level.request.mode());
        }
        count(level, 1);
        return true;
    }

    /** Ends a level, waiting for the store or not; the last one releases the lease. Each reports a lost lease. */
    CompletableFuture<ReleaseResult> leave(NestedLease level, boolean waits) {
        CompletableFuture<?> downgrade = leave(level);
        if (downgrade == null) {
            return waits ? CompletableFuture.completedFuture(lease.release()) : lease.closeAsync();
        }
        if (waits) {
            lease.join(downgrade);
        }
        return downgrade.thenApply(
                done -> lease.isHeld() || lease.isReleased() ? ReleaseResult.RELEASED : ReleaseResult.LOST);
    }

    /** Ends a level; returns what is completed when that is known, null where it was the last one. */
    private synchronized @Nullable CompletableFuture<?> leave(NestedLease level) {
        count(level, -1);
        if (exclusiveLevels + readLevels == 0) {
            over = true;
            return null;
        }
        // A set of locks stays as it is until its last level ends.
        boolean readsOn = exclusiveLevels == 0
                && lease.mode() != LockMode.READ
                && lease.names().size() == 1;
        return readsOn ? lease.downgrade() : NOTHING_TO_DO;
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // Written under the lock alone.
    private void count(NestedLease level, int change) {
        if (level.reads()) {
            readLevels += change;
        } else {
            exclusiveLevels += change;
        }
        bodies += level.body ? change : 0;
    }
}
