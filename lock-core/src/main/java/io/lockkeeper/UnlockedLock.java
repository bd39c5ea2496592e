/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/** The view of a lock with locking switched off: any number of threads enter it, and each counts its own levels. */
final class UnlockedLock implements DistributedLock {

    private final LockRequest request;

    @SuppressWarnings("ThreadLocalUsage") // Each view counts its own levels.
    private final ThreadLocal<@Nullable Deque<LockLease>> levels = new ThreadLocal<>();

    UnlockedLock(LockRequest request) {
        this.request = request;
    }

    @Override
    public void lock() {
        Deque<LockLease> mine = levels.get();
        if (mine == null) {
            mine = new ArrayDeque<>(1);
            levels.set(mine);
        }
        mine.push(
                mine.isEmpty()
                        ? new UnlockedOperations.UnlockedLease(request, UnlockedOperations.nextToken())
                        : mine.peek());
    }

    @Override
    public void lock(Duration leaseTime) {
        request.withLeaseTime(leaseTime);
        lock();
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        lock();
    }

    @Override
    public void lockInterruptibly(Duration leaseTime) throws InterruptedException {
        request.withLeaseTime(leaseTime);
        lockInterruptibly();
    }

    @Override
    public boolean tryLock() {
        lock();
        return true;
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        lockInterruptibly();
        return true;
    }

    @Override
    public boolean tryLock(Duration waitTime) throws InterruptedException {
        request.withWaitTime(waitTime);
        lockInterruptibly();
        return true;
    }

    @Override
    public boolean tryLock(Duration waitTime, Duration leaseTime) throws InterruptedException {
        request.withLeaseTime(leaseTime);
        return tryLock(waitTime);
    }

    @Override
    public void unlock() {
        Deque<LockLease> mine = levels.get();
        if (mine == null) {
            throw new IllegalMonitorStateException(
                    "Lock '" + request.names().get(0) + "' is not locked by this thread");
        }
        LockLease lease = mine.pop();
        if (mine.isEmpty()) {
            levels.remove();
            lease.close();
        }
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("A distributed lock has no conditions");
    }

    @Override
    public boolean isLocked() {
        return isHeldByCurrentThread();
    }

    @Override
    public boolean isHeldByCurrentThread() {
        return levels.get() != null;
    }

    @Override
    public int getHoldCount() {
        Deque<LockLease> mine = levels.get();
        return mine == null ? 0 : mine.size();
    }

    @Override
    public Optional<LockLease> currentLease() {
        Deque<LockLease> mine = levels.get();
        return mine == null ? Optional.empty() : Optional.of(mine.getFirst());
    }
}
