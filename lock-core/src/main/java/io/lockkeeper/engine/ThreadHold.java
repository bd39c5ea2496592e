package io.lockkeeper.engine;

import io.lockkeeper.LockMode;
import io.lockkeeper.ReleaseResult;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * A thread's hold of a name, or of several that it asked for together: one lease, and the levels that share it. The last
 * level to end releases the lease. When the last exclusive level ends and levels that read are left, the hold goes on as
 * that of a reader.
 */
final class ThreadHold {

    private final ThreadHolds thread;
    private final UnaryOperator<HeldLease> downgrade;
    private volatile HeldLease lease;
    private int exclusiveLevels;
    private int readLevels;
    private int exclusiveLocks;
    private int readLocks;

    ThreadHold(HeldLease lease, ThreadHolds thread, UnaryOperator<HeldLease> downgrade) {
        this.lease = lease;
        this.thread = thread;
        this.downgrade = downgrade;
    }

    HeldLease lease() {
        return lease;
    }

    synchronized boolean isEntered() {
        return exclusiveLevels + readLevels > 0;
    }

    synchronized int levels(LockMode mode) {
        return mode == LockMode.READ ? readLevels : exclusiveLevels;
    }

    /** Begins a level for some of the names of this hold. */
    LevelLease enter(LockMode mode, List<String> names) {
        boolean outermost = !isEntered();
        count(mode, 1);
        return new LevelLease(this, mode, names, outermost);
    }

    synchronized void lock(LockMode mode) {
        count(mode, 1);
        if (mode == LockMode.READ) {
            readLocks++;
        } else {
            exclusiveLocks++;
        }
    }

    /** Ends a level that was entered by {@link #lock}; false: there is none. */
    boolean unlock(LockMode mode) {
        synchronized (this) {
            if ((mode == LockMode.READ ? readLocks : exclusiveLocks) == 0) {
                return false;
            }
            if (mode == LockMode.READ) {
                readLocks--;
            } else {
                exclusiveLocks--;
            }
        }
        leaveAndLog(mode);
        return true;
    }

    /** Ends a level; the outermost releases the lease. A lost lease is reported by every level. */
    ReleaseResult leave(LockMode mode) {
        if (leaveLevel(mode)) {
            return lease.release();
        }
        return lease.isHeld() || lease.isReleased() ? ReleaseResult.RELEASED : ReleaseResult.LOST;
    }

    void leaveAndLog(LockMode mode) {
        if (leaveLevel(mode)) {
            lease.close();
        }
    }

    private boolean leaveLevel(LockMode mode) {
        boolean toReader;
        synchronized (this) {
            count(mode, -1);
            toReader = exclusiveLevels == 0 && readLevels > 0 && isDowngradable();
        }
        if (toReader) {
            lease = downgrade.apply(lease);
        }
        if (isEntered()) {
            return false;
        }
        thread.forget(lease.names());
        return true;
    }

    /** A set of locks stays as it is until its last level ends. */
    private boolean isDowngradable() {
        return lease.mode() != LockMode.READ && lease.names().size() == 1;
    }

    private synchronized void count(LockMode mode, int change) {
        if (mode == LockMode.READ) {
            readLevels += change;
        } else {
            exclusiveLevels += change;
        }
    }
}
