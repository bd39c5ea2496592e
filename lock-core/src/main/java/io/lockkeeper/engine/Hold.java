/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockUpgradeException;
import io.lockkeeper.ReleaseResult;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lease and the levels that share it, whichever threads they belong to. The last level to end releases the lease. When
 * the last exclusive level ends and levels that read are left, the hold goes on as that of a reader.
 */
final class Hold {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    private final UnaryOperator<HeldLease> downgrade;
    private volatile HeldLease lease;
    private int exclusiveLevels;
    private int readLevels;
    private boolean over;

    Hold(HeldLease lease, UnaryOperator<HeldLease> downgrade) {
        this.lease = lease;
        this.downgrade = downgrade;
    }

    HeldLease lease() {
        return lease;
    }

    /**
     * Begins a level; false: the last one has ended, perhaps on another thread.
     *
     * @throws LockUpgradeException if the hold is that of a reader, and the level asks for more
     */
    synchronized boolean enter(LockMode mode) {
        if (over) {
            return false;
        }
        if (lease.mode() == LockMode.READ && mode != LockMode.READ) {
            throw new LockUpgradeException(lease.name(), mode);
        }
        count(mode, 1);
        return true;
    }

    /** Ends a level; the last one releases the lease. A lost lease is reported by every level. */
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

    /** As {@link #leaveAndLog}. A loss is logged once more, because whoever unlocks hears of it in no other way. */
    void unlock(LockMode mode) {
        if (leaveLevel(mode)) {
            ReleaseResult result = lease.release();
            lease.events().report(result);
            if (result == ReleaseResult.LOST) {
                log.warn("Lock '{}' had been lost before it was unlocked", lease.name());
            }
        }
    }

    CompletableFuture<?> leaveAsync(LockMode mode) {
        return leaveLevel(mode) ? lease.closeAsync() : CompletableFuture.completedFuture(ReleaseResult.RELEASED);
    }

    /** One at a time: a level that began during the downgrade would take the hold for exclusive. */
    private synchronized boolean leaveLevel(LockMode mode) {
        count(mode, -1);
        if (exclusiveLevels == 0 && readLevels > 0 && isDowngradable()) {
            lease = downgrade.apply(lease);
        }
        over = exclusiveLevels + readLevels == 0;
        return over;
    }

    /** A set of locks stays as it is until its last level ends. */
    private boolean isDowngradable() {
        return lease.mode() != LockMode.READ && lease.names().size() == 1;
    }

    private void count(LockMode mode, int change) {
        if (mode == LockMode.READ) {
            readLevels += change;
        } else {
            exclusiveLevels += change;
        }
    }
}
