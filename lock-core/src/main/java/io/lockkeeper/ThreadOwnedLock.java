/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** The {@link java.util.concurrent.locks.Lock} view of a lock: each level that a thread enters is a level of its hold. */
final class ThreadOwnedLock implements DistributedLock {

    private static final Duration WITHOUT_LIMIT = Duration.ofSeconds(Long.MAX_VALUE);

    private final ReentrantHolds holds;
    private final LockRequest request;

    /** A view of the lock of readers, and of that of writers. */
    record Pair(DistributedLock readLock, DistributedLock writeLock) implements DistributedReadWriteLock {}

    /** Makes a view. How long to wait, each call says itself: what the request says of waiting and of retries is left out. */
    ThreadOwnedLock(ReentrantHolds holds, LockRequest request) {
        this.holds = holds;
        this.request = request.withoutWaiting();
    }

    @Override
    public void lock() {
        holds.enter(request.withWaitTime(WITHOUT_LIMIT), false, false);
    }

    @Override
    public void lock(Duration leaseTime) {
        holds.enter(request.withWaitTime(WITHOUT_LIMIT).withLeaseTime(leaseTime), false, false);
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
            holds.enter(request.withWaitTime(Duration.ZERO), false, false);
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
        holds.unlock(request);
    }

    @Override
    public ReleaseResult release() {
        return holds.release(request);
    }

    @Override
    public boolean isLocked() {
        return holds.isLocked(request);
    }

    @Override
    public boolean isHeldByThread(Thread thread) {
        Objects.requireNonNull(thread, "thread must not be null");
        return holds.lease(thread, request).isPresent();
    }

    @Override
    public int getHoldCount() {
        return holds.holdCount(holds.knownThread(), request);
    }

    @Override
    public Optional<LockLease> currentLease() {
        return holds.lease(Thread.currentThread(), request);
    }

    @Override
    public String toString() {
        return "DistributedLock[" + String.join(", ", request.names()) + ", " + request.mode() + "]";
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
            holds.enter(attempt, false, true);
        } catch (LockInterruptedException interrupted) {
            Thread.interrupted();
            InterruptedException thrown = new InterruptedException(interrupted.getMessage());
            thrown.initCause(interrupted);
            throw thrown;
        }
    }
}
