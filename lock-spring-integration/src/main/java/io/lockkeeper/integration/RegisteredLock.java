/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.integration;

import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.ConcurrentMap;
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

    /**
     * The latest hold of each key in this process: the registry may have forgotten the lock, and made another of its
     * key.
     */
    private final ConcurrentMap<String, Hold> holds;

    /**
     * A hold that the registry has taken or entered.
     *
     * @param thread the thread that holds the lock
     * @param token the fencing token, of which each hold has another
     * @param ttl the time to live that the registry gave it; null: none, so that it is renewed, or was locked in
     *     another way
     */
    record Hold(Thread thread, long token, @Nullable Duration ttl) {

        /** Returns what is known after the lock was entered once more: a longer time to live extends one. */
        Hold entered(@Nullable Duration asked) {
            return ttl == null || asked == null || asked.compareTo(ttl) <= 0 ? this : new Hold(thread, token, asked);
        }
    }

    RegisteredLock(String key, io.lockkeeper.DistributedLock lock, ConcurrentMap<String, Hold> holds) {
        this.key = key;
        this.lock = lock;
        this.holds = holds;
    }

    @Override
    public void lock() {
        acquire(null, () -> {
            lock.lock();
            return true;
        });
    }

    @Override
    public void lock(Duration ttl) {
        Duration time = atLeastShortest(ttl);
        acquire(time, () -> {
            lock.lock(time);
            return true;
        });
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        acquire(null, () -> {
            lock.lockInterruptibly();
            return true;
        });
    }

    @Override
    public boolean tryLock() {
        return acquire(null, lock::tryLock);
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return acquire(null, () -> lock.tryLock(time, unit));
    }

    @Override
    public boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException {
        Duration time = atLeastShortest(ttl);
        return acquire(time, () -> lock.tryLock(waitTime.isNegative() ? Duration.ZERO : waitTime, time));
    }

    /** One way to lock; returns whether the thread has the lock now. */
    private interface Acquisition<X extends Exception> {
        boolean acquire() throws X;
    }

    private <X extends Exception> boolean acquire(@Nullable Duration asked, Acquisition<X> acquisition) throws X {
        boolean acquired;
        try {
            acquired = acquisition.acquire();
        } catch (LockException failure) {
            throw new CannotAcquireLockException("Failed to lock '" + key + "': " + failure.getMessage(), failure);
        }
        if (acquired) {
            remember(asked);
        }
        return acquired;
    }

    private void remember(@Nullable Duration asked) {
        usedAt = System.currentTimeMillis();
        boolean begun = lock.getHoldCount() == 1;
        lock.currentLease().ifPresent(lease -> {
            Hold hold = new Hold(Thread.currentThread(), lease.fencingToken(), begun ? asked : null);
            // A thread that was paused here finds the hold of a later one, which stays.
            holds.merge(
                    key,
                    hold,
                    (known, taken) -> known.token() < taken.token()
                            ? taken
                            : known.token() == taken.token() ? known.entered(asked) : known);
        });
    }

    private static Duration atLeastShortest(Duration ttl) {
        if (ttl.isNegative() || ttl.isZero()) {
            throw new IllegalArgumentException("The time to live must be longer than zero, but is " + ttl);
        }
        return ttl.compareTo(LockRequest.MIN_LEASE_TIME) < 0 ? LockRequest.MIN_LEASE_TIME : ttl;
    }

    @Override
    public void unlock() {
        ReleaseResult result;
        try {
            result = lock.release();
        } catch (IllegalMonitorStateException notHeld) {
            throw new IllegalStateException("You do not own lock at " + key, notHeld);
        }
        forgetEndedHold();
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
        long token = lease.fencingToken();
        Hold known = holds.get(key);
        Duration given = known == null || known.token() != token ? null : known.ttl();
        Duration time = asked == null ? given : atLeastShortest(asked);
        if (time == null) {
            return lease.verify();
        }
        boolean held = lease.extend(time);
        if (held && given == null) {
            // It is not renewed any more: the next renewal has to.
            Hold fixed = new Hold(Thread.currentThread(), token, time);
            holds.merge(key, fixed, (later, taken) -> later.token() <= token ? taken : later);
        }
        return held;
    }

    long usedAt() {
        return usedAt;
    }

    /** Forgets the latest hold unless its thread still has it. */
    void forgetEndedHold() {
        holds.computeIfPresent(key, (name, known) -> lock.isHeldByThread(known.thread()) ? known : null);
    }

    /** Returns whether the thread that locked it last still holds it. */
    boolean isHeldHere() {
        Hold last = holds.get(key);
        return last != null && lock.isHeldByThread(last.thread());
    }

    @Override
    public String toString() {
        return lock.toString();
    }
}
