/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.integration;

import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.ReleaseResult;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.integration.support.locks.DistributedLock;

/** A lock of the registry: one of Lockkeeper's with the exceptions of Spring Integration. */
final class RegisteredLock implements DistributedLock {

    private static final Logger log = LoggerFactory.getLogger(LockkeeperLockRegistry.class);

    private final String key;
    private final io.lockkeeper.DistributedLock lock;

    /** When the lock was obtained first, or locked last, in ms. */
    private volatile long usedAt = System.currentTimeMillis();

    /** The thread of this process that locked it last. */
    private volatile @Nullable Thread holder;

    /** For how long it was locked last; null: renewed. */
    private volatile @Nullable Duration ttl;

    RegisteredLock(String key, io.lockkeeper.DistributedLock lock) {
        this.key = key;
        this.lock = lock;
    }

    @Override
    public void lock() {
        acquire(null, lock::lock);
    }

    @Override
    public void lock(Duration ttl) {
        acquire(ttl, () -> lock.lock(ttl));
    }

    private void acquire(@Nullable Duration asked, Runnable locking) {
        try {
            locking.run();
        } catch (LockException failure) {
            throw cannotAcquire(failure);
        }
        acquired(asked);
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        try {
            lock.lockInterruptibly();
        } catch (LockException failure) {
            throw cannotAcquire(failure);
        }
        acquired(null);
    }

    @Override
    public boolean tryLock() {
        try {
            return acquired(lock.tryLock(), null);
        } catch (LockException failure) {
            throw cannotAcquire(failure);
        }
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        try {
            return acquired(lock.tryLock(time, unit), null);
        } catch (LockException failure) {
            throw cannotAcquire(failure);
        }
    }

    @Override
    public boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException {
        try {
            return acquired(lock.tryLock(waitTime.isNegative() ? Duration.ZERO : waitTime, ttl), ttl);
        } catch (LockException failure) {
            throw cannotAcquire(failure);
        }
    }

    private boolean acquired(boolean locked, @Nullable Duration asked) {
        if (locked) {
            acquired(asked);
        }
        return locked;
    }

    private void acquired(@Nullable Duration asked) {
        usedAt = System.currentTimeMillis();
        if (lock.getHoldCount() == 1) {
            holder = Thread.currentThread();
            ttl = asked;
        }
    }

    private CannotAcquireLockException cannotAcquire(LockException failure) {
        return new CannotAcquireLockException("Failed to lock '" + key + "': " + failure.getMessage(), failure);
    }

    @Override
    public void unlock() {
        ReleaseResult result;
        try {
            result = lock.release();
        } catch (IllegalMonitorStateException notHeld) {
            throw new IllegalStateException("You do not own lock at " + key, notHeld);
        }
        if (lock.getHoldCount() == 0) {
            ttl = null;
        }
        if (result == ReleaseResult.LOST) {
            throw new ConcurrentModificationException(
                    "Lock was released in the store due to expiration. The integrity of"
                            + " data protected by this lock may have been compromised: " + key);
        }
        if (result == ReleaseResult.UNKNOWN) {
            log.warn("Release of lock '{}' was not answered; it is repeated in the background", key);
        }
    }

    @Override
    public Condition newCondition() {
        return lock.newCondition();
    }

    /**
     * Renews the hold of this thread.
     *
     * @param asked the new time to live; null: that for which it was locked
     * @return whether this thread holds the lock
     */
    boolean renew(@Nullable Duration asked) {
        LockLease lease = lock.currentLease().orElse(null);
        if (lease == null) {
            return false;
        }
        Duration time = asked == null ? ttl : asked;
        boolean held = time == null ? lease.verify() : lease.extend(time);
        if (held && ttl == null) {
            // It is not renewed any more: the next renewal has to.
            ttl = time;
        }
        return held;
    }

    long usedAt() {
        return usedAt;
    }

    /** Returns whether the thread that locked it last still holds it. */
    boolean isHeldHere() {
        Thread last = holder;
        return last != null && lock.isHeldByThread(last);
    }

    @Override
    public String toString() {
        return lock.toString();
    }
}
