/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A lease and the levels that share it, which may belong to several owners. The last level to end releases the lease.
 * When the last exclusive level ends and only readers are left, the lease is downgraded.
 */
final class ReentrantHold {

    private static final CompletableFuture<?> NOTHING_TO_DO = CompletableFuture.completedFuture(null);

    private final LockManager.Lease lease;
    private volatile List<NestedLease> levels = List.of();
    private volatile boolean over;

    /** Whether it was downgraded, or is about to be. Guarded by this. */
    private boolean reads;

    ReentrantHold(LockManager.Lease lease) {
        this.lease = lease;
    }

    LockManager.Lease lease() {
        return lease;
    }

    /** Returns whether it cannot be entered any more. */
    boolean isOver() {
        return over || lease.isReleased();
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
        if ((reads || lease.mode() == LockMode.READ) && !level.reads()) {
            List<String> both = new ArrayList<>(level.names());
            both.retainAll(lease.names());
            throw new LockUpgradeException(both.get(0), level.request.mode());
        }
        levels = LockOwner.plus(levels, level);
        return true;
    }

    /**
     * Ends a level, waiting for the store or not. The last one releases the lease; all of them report a loss.
     */
    CompletableFuture<ReleaseResult> leave(NestedLease level, boolean waits) {
        boolean last;
        boolean downgrades;
        synchronized (this) {
            if (!levels.contains(level)) {
                return NOTHING_TO_DO.thenApply(done -> result());
            }
            levels = LockOwner.minus(levels, level);
            // Released levels may be left here, if an error interrupted their end.
            last = levels.isEmpty() || levels.stream().allMatch(NestedLease::isReleased);
            levels = last ? List.of() : levels;
            over |= last;
            // Downgrades when only readers are left; several locks are never downgraded.
            downgrades = !last
                    && !reads
                    && lease.mode() != LockMode.READ
                    && lease.names().size() == 1
                    && levels.stream().allMatch(NestedLease::reads);
            reads |= downgrades;
        }
        if (last) {
            return waits ? CompletableFuture.completedFuture(lease.release()) : lease.closeAsync();
        }
        // Outside the monitor: listeners may wait for another thread that enters or leaves.
        CompletableFuture<?> downgrade = downgrades ? lease.downgrade() : NOTHING_TO_DO;
        if (waits) {
            lease.join(downgrade);
        }
        return downgrade.thenApply(done -> result());
    }

    private ReleaseResult result() {
        return lease.isHeld() || lease.isReleased() ? ReleaseResult.RELEASED : ReleaseResult.LOST;
    }
}
