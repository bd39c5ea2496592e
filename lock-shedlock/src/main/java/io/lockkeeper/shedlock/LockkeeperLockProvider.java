/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.shedlock;

import io.lockkeeper.DistributedReadWriteLock;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * A {@link net.javacrumbs.shedlock.core.LockProvider LockProvider} of ShedLock over Lockkeeper. The name of a task is
 * the name of the lock, {@code lockAtMostFor} its fixed lease and {@code lockAtLeastFor} its minimum hold time; both
 * count from the grant, and an extension takes new ones. A {@code lockAtMostFor} under 100 ms is raised to 100 ms.
 *
 * <p>A lock that is taken is an empty result, also where this thread holds the name already. A store that fails is a
 * {@link io.lockkeeper.LockStoreException}, and never an empty result.
 *
 * <p>Safe for use by any number of threads.
 */
public final class LockkeeperLockProvider implements ExtensibleLockProvider {

    private final LockOperations operations;

    /**
     * Creates a provider.
     *
     * @param operations where locks are acquired, such as the {@link io.lockkeeper.LockTemplate} of the application
     */
    public LockkeeperLockProvider(LockOperations operations) {
        this.operations = Objects.requireNonNull(operations, "operations must not be null");
    }

    /**
     * Tries once to lock. Where locking is switched off, every attempt succeeds.
     *
     * @param configuration the name and the times
     * @return the lock; empty where it is held, by this thread or another
     * @throws IllegalArgumentException if the name is blank or longer than 512 bytes in UTF-8, or a time is longer than
     *     the lease time of the template on a quorum
     * @throws io.lockkeeper.LockStoreException if the store failed or did not answer
     */
    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        LockRequest request = LockRequest.of(configuration.getName())
                .withWaitTime(Duration.ZERO)
                .withLeaseTime(leaseTime(configuration))
                .withMinHoldTime(minHoldTime(configuration));
        boolean held = isHeldByCurrentThread(configuration.getName());
        if (held && operations instanceof LockTemplate template && isLocking(template)) {
            return Optional.empty();
        }
        try {
            return operations.tryAcquire(request).map(lease -> new LeasedLock(configuration, lease));
        } catch (IllegalStateException refused) {
            // A lease of its own would wait for this very thread.
            if (held) {
                return Optional.empty();
            }
            throw refused;
        }
    }

    private boolean isHeldByCurrentThread(String name) {
        DistributedReadWriteLock lock = operations.readWriteLock(name);
        return lock.writeLock().isHeldByCurrentThread() || lock.readLock().isHeldByCurrentThread();
    }

    /** Where locking is switched off, no name is taken. */
    private static boolean isLocking(LockTemplate template) {
        return template.inspector().here().isPresent();
    }

    private static Duration leaseTime(LockConfiguration configuration) {
        Duration asked = configuration.getLockAtMostFor();
        return asked.compareTo(LockRequest.MIN_LEASE_TIME) < 0 ? LockRequest.MIN_LEASE_TIME : asked;
    }

    private static Duration minHoldTime(LockConfiguration configuration) {
        Duration asked = configuration.getLockAtLeastFor();
        return asked.isNegative() ? Duration.ZERO : asked;
    }

    /** A lease as ShedLock sees it: ended by an unlock, or replaced by an extension. */
    private static final class LeasedLock extends AbstractSimpleLock {

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
            return lease.extend(leaseTime(configuration), minHoldTime(configuration))
                    ? Optional.of(new LeasedLock(configuration, lease))
                    : Optional.empty();
        }
    }

    @Override
    public String toString() {
        return "LockkeeperLockProvider[" + operations + "]";
    }
}
