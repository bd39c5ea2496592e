/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * A pair of locks of one name: many readers, or one writer, in phases: a waiting writer keeps later readers out, and a
 * released writer lets in all readers who wait in front, so that neither side starves the other.
 *
 * <p>A thread that holds the write lock may take the read lock, and goes on as a reader when it releases the write
 * lock: no other writes in between. A thread that holds the read lock only and asks for the write lock gets a
 * {@link LockUpgradeException} at once: two of them would wait for each other for ever.
 */
public interface DistributedReadWriteLock extends ReadWriteLock {

    /** Returns the lock that readers share; {@link DistributedLock#isLocked()} tells whether readers hold it. */
    @Override
    DistributedLock readLock();

    /**
     * Returns the lock of one writer; {@link DistributedLock#isLocked()} tells whether one holder has it
     * alone. Each of its methods that lock, {@code tryLock()} too, throws {@link LockUpgradeException} on a thread that
     * holds the read lock only; {@link java.util.concurrent.locks.ReentrantReadWriteLock} answers false there.
     */
    @Override
    DistributedLock writeLock();
}
