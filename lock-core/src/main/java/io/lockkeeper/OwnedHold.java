/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import org.jspecify.annotations.Nullable;

/**
 * What one owner, such as a thread, has of a hold: the levels that it entered itself, and those in whose work it is at the
 * moment. It is inside the lock while it has any.
 */
final class OwnedHold {

    private final ReentrantHolds.Owner owner;
    private final ReentrantHold hold;
    private int exclusiveLevels;
    private int readLevels;
    private int exclusiveLocks;
    private int readLocks;

    OwnedHold(ReentrantHold hold, ReentrantHolds.Owner owner) {
        this.hold = hold;
        this.owner = owner;
    }

    ReentrantHold hold() {
        return hold;
    }

    LockManager.Lease lease() {
        return hold.lease();
    }

    synchronized boolean isEntered() {
        return exclusiveLevels + readLevels > 0;
    }

    synchronized int levels(LockMode mode) {
        return mode == LockMode.READ ? readLevels : exclusiveLevels;
    }

    /** Returns how many levels are to be ended by {@link #unlock}. */
    synchronized int locks(LockMode mode) {
        return mode == LockMode.READ ? readLocks : exclusiveLocks;
    }

    /** Begins a level that {@link #unlock} ends; false: the hold is over. */
    boolean lock(LockMode mode) {
        if (!hold.enter(mode, false)) {
            return false;
        }
        attach(mode);
        countLock(mode, 1);
        return true;
    }

    /** Ends a level that was entered by {@link #lock}; null: there is none. */
    @Nullable
    ReleaseResult unlock(LockMode mode) {
        synchronized (this) {
            if (locks(mode) == 0) {
                return null;
            }
            countLock(mode, -1);
        }
        detach(mode);
        return hold.leave(mode, false);
    }

    /** Puts the owner into a level of the hold. */
    synchronized void attach(LockMode mode) {
        if (mode == LockMode.READ) {
            readLevels++;
        } else {
            exclusiveLevels++;
        }
        // Another thread may have ended the last level of the owner just now.
        owner.remember(this);
    }

    /** Takes the owner out of a level, which may go on without it; on any thread. */
    synchronized void detach(LockMode mode) {
        if (mode == LockMode.READ) {
            readLevels--;
        } else {
            exclusiveLevels--;
        }
        if (!isEntered()) {
            owner.forget(this);
        }
    }

    private synchronized void countLock(LockMode mode, int change) {
        if (mode == LockMode.READ) {
            readLocks += change;
        } else {
            exclusiveLocks += change;
        }
    }
}
