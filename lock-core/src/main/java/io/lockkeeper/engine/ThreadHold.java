/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockMode;

/**
 * What one thread has of a hold: the levels that it entered itself, and those in whose work it is at the moment. It is
 * inside the lock while it has any.
 */
final class ThreadHold {

    private final ThreadHolds thread;
    private final Hold hold;
    private int exclusiveLevels;
    private int readLevels;
    private int exclusiveLocks;
    private int readLocks;

    ThreadHold(Hold hold, ThreadHolds thread) {
        this.hold = hold;
        this.thread = thread;
    }

    Hold hold() {
        return hold;
    }

    HeldLease lease() {
        return hold.lease();
    }

    synchronized boolean isEntered() {
        return exclusiveLevels + readLevels > 0;
    }

    synchronized int levels(LockMode mode) {
        return mode == LockMode.READ ? readLevels : exclusiveLevels;
    }

    /** Begins a level that {@link #unlock} ends; false: the hold is over. */
    boolean lock(LockMode mode) {
        if (!hold.enter(mode)) {
            return false;
        }
        attach(mode);
        countLock(mode, 1);
        return true;
    }

    /** Ends a level that was entered by {@link #lock}; false: there is none. */
    boolean unlock(LockMode mode) {
        synchronized (this) {
            if ((mode == LockMode.READ ? readLocks : exclusiveLocks) == 0) {
                return false;
            }
            countLock(mode, -1);
        }
        detach(mode);
        hold.unlock(mode);
        return true;
    }

    /** Puts this thread into a level of the hold. */
    synchronized void attach(LockMode mode) {
        if (mode == LockMode.READ) {
            readLevels++;
        } else {
            exclusiveLevels++;
        }
    }

    /** Takes this thread out of a level, which may go on without it; may be called by another thread. */
    void detach(LockMode mode) {
        synchronized (this) {
            if (mode == LockMode.READ) {
                readLevels--;
            } else {
                exclusiveLevels--;
            }
        }
        if (!isEntered()) {
            thread.forget(lease().names());
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
