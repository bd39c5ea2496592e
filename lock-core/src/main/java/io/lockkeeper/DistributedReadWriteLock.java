package io.lockkeeper;

import java.util.concurrent.locks.ReadWriteLock;

/** A pair of locks of one name: many readers, or one writer. Neither side starves the other. */
public interface DistributedReadWriteLock extends ReadWriteLock {

    @Override
    DistributedLock readLock();

    @Override
    DistributedLock writeLock();
}
