/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.shedlock;

import io.lockkeeper.LockLease;
import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/** A lease as ShedLock sees it: ended by an unlock, or replaced by an extension. */
final class LeasedLock extends AbstractSimpleLock {

    private final LockLease lease;

    LeasedLock(LockConfiguration configuration, LockLease lease) {
        super(configuration);
        this.lease = lease;
    }

    @Override
    protected void doUnlock() {
        lease.close();
    }

    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration configuration) {
        return lease.extend(
                        LockkeeperLockProvider.leaseTime(configuration),
                        LockkeeperLockProvider.minHoldTime(configuration))
                ? Optional.of(new LeasedLock(configuration, lease))
                : Optional.empty();
    }
}
