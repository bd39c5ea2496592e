/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/** One owner of locks that can be entered again, for a simulation, which knows no threads. */
public final class SimulatedOwner {

    private final ReentrantHolds holds;

    /** Makes an owner that holds nothing. */
    public SimulatedOwner(LockManager manager) {
        this.holds = new ReentrantHolds(manager, null) {
            @Override
            Object self() {
                return SimulatedOwner.this;
            }
        };
    }

    /** Enters a lock; what is still to come is given up where the result is cancelled. */
    public CompletableFuture<LockLease> enter(LockRequest request) {
        return holds.enterAsync(request, List.of());
    }

    /** Enters a lock with the lease for which a thread has waited. */
    public LockLease enter(LockRequest request, LockManager.Lease lease) {
        NestedLease level = new NestedLease(holds, request, NestedLease.Kind.BODY);
        level.begin(lease);
        return level;
    }

    /** Puts the owner inside a level that it has entered; returns the lease that all levels share. */
    public LockManager.Lease inside(LockLease level) {
        NestedLease entered = (NestedLease) level;
        entered.bindTo(this);
        return entered.leases().get(0);
    }

    /** Locks what a level holds, and leaves the level: the owner has to unlock. False: the hold is over. */
    public boolean lock(LockLease level, LockMode mode) {
        NestedLease entered = (NestedLease) level;
        ReentrantHold hold = holds.known(this).find(level.name(), mode);
        if (hold == null) {
            return false;
        }
        NestedLease locked =
                new NestedLease(holds, LockRequest.of(level.names()).withMode(mode), NestedLease.Kind.LOCK);
        locked.enter(hold);
        locked.bindTo(this);
        entered.closeAsync();
        return true;
    }

    /** Leaves a level; returns what is completed when it is known what came of that. */
    public CompletableFuture<?> leave(LockLease level) {
        return ((NestedLease) level).closeAsync();
    }
}
