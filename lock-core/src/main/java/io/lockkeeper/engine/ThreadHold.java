package io.lockkeeper.engine;

import io.lockkeeper.ReleaseResult;

/** A thread's hold of a name: one lease, and the levels that share it. The last level to end releases the lease. */
final class ThreadHold {

    private final HeldLease lease;
    private final ThreadHolds thread;
    private int levels;
    private int locks;

    ThreadHold(HeldLease lease, ThreadHolds thread) {
        this.lease = lease;
        this.thread = thread;
    }

    HeldLease lease() {
        return lease;
    }

    synchronized int levels() {
        return levels;
    }

    synchronized LevelLease enter() {
        levels++;
        return new LevelLease(this);
    }

    synchronized void lock() {
        levels++;
        locks++;
    }

    /** Ends a level that was entered by {@link #lock}; false: there is none. */
    boolean unlock() {
        synchronized (this) {
            if (locks == 0) {
                return false;
            }
            locks--;
        }
        leaveAndLog();
        return true;
    }

    /** Ends a level; the outermost releases the lease. A lost lease is reported by every level. */
    ReleaseResult leave() {
        if (leaveLevel()) {
            return lease.release();
        }
        return lease.isHeld() || lease.isReleased() ? ReleaseResult.RELEASED : ReleaseResult.LOST;
    }

    void leaveAndLog() {
        if (leaveLevel()) {
            lease.close();
        }
    }

    private boolean leaveLevel() {
        synchronized (this) {
            levels--;
            if (levels > 0) {
                return false;
            }
        }
        thread.forget(lease.name());
        return true;
    }
}
