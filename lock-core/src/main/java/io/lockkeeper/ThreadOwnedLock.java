/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/** The {@link java.util.concurrent.locks.Lock} view of a lock: each level that a thread enters is a level of its hold. */
final class ThreadOwnedLock implements DistributedLock {

    private static final Duration WITHOUT_LIMIT = Duration.ofSeconds(Long.MAX_VALUE);

    private final LockEntrance entrance;
    private final LockRequest request;

    ThreadOwnedLock(LockEntrance entrance, LockRequest request) {
        this.entrance = entrance;
        this.request = request;
    }

    @Override
    public void lock() {
        entrance.lock(request.withWaitTime(WITHOUT_LIMIT), false);
    }

    @Override
    public void lock(Duration leaseTime) {
        entrance.lock(request.withWaitTime(WITHOUT_LIMIT).withLeaseTime(leaseTime), false);
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        lockInterruptibly(request.withWaitTime(WITHOUT_LIMIT));
    }

    @Override
    public void lockInterruptibly(Duration leaseTime) throws InterruptedException {
        lockInterruptibly(request.withWaitTime(WITHOUT_LIMIT).withLeaseTime(leaseTime));
    }

    @Override
    public boolean tryLock() {
        try {
            entrance.lock(request.withWaitTime(Duration.ZERO), false);
            return true;
        } catch (LockNotAcquiredException heldByOthers) {
            return false;
        }
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return tryLock(Duration.ofNanos(Math.max(0, unit.toNanos(time))));
    }

    @Override
    public boolean tryLock(Duration waitTime) throws InterruptedException {
        return tryLock(request.withWaitTime(waitTime));
    }

    @Override
    public boolean tryLock(Duration waitTime, Duration leaseTime) throws InterruptedException {
        return tryLock(request.withWaitTime(waitTime).withLeaseTime(leaseTime));
    }

    @Override
    public void unlock() {
        entrance.unlock(request.names().get(0), request.mode());
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("A distributed lock has no conditions");
    }

    @Override
    public boolean isLocked() {
        return isHeldByCurrentThread() || entrance.isLocked(request.names().get(0), request.mode());
    }

    @Override
    public boolean isHeldByCurrentThread() {
        return currentLease().filter(LockLease::isHeld).isPresent();
    }

    @Override
    public int getHoldCount() {
        return entrance.holdCount(request.names().get(0), request.mode());
    }

    @Override
    public Optional<LockLease> currentLease() {
        return entrance.held(request.names().get(0), request.mode());
    }

    @Override
    public String toString() {
        return "DistributedLock[" + request.names().get(0) + ", " + request.mode() + "]";
    }

    private boolean tryLock(LockRequest attempt) throws InterruptedException {
        try {
            lockInterruptibly(attempt);
            return true;
        } catch (LockNotAcquiredException heldByOthers) {
            return false;
        }
    }

    private void lockInterruptibly(LockRequest attempt) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        try {
            entrance.lock(attempt, true);
        } catch (LockInterruptedException interrupted) {
            Thread.interrupted();
            InterruptedException thrown = new InterruptedException(interrupted.getMessage());
            thrown.initCause(interrupted);
            throw thrown;
        }
    }
}
