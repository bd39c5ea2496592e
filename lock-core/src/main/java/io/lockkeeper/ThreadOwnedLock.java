/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The {@link java.util.concurrent.locks.Lock} view of a lock: what a thread enters is a level of its hold. */
final class ThreadOwnedLock implements DistributedLock {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);
    private static final Duration WITHOUT_LIMIT = Duration.ofSeconds(Long.MAX_VALUE);

    private final ReentrantHolds holds;
    private final LockRequest request;

    /** A view of the lock of readers, and of that of writers. */
    record Pair(DistributedLock readLock, DistributedLock writeLock) implements DistributedReadWriteLock {}

    /** Makes a view. Each call says itself how long to wait; what the request says of that is left out. */
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

    /** Ends the last level that this thread locked with these names; logs an end that the caller does not expect. */
    @Override
    public void unlock() {
        boolean owed = thread().lastLocked(request) == null;
        ReleaseResult result = release();
        if (result == ReleaseResult.UNKNOWN) {
            DelegatingLease.logUnanswered(request.names());
        } else if (result == ReleaseResult.LOST
                && (owed || request.names().stream().anyMatch(name -> thread().find(name, request.mode()) == null))) {
            // The last level tells: the caller of unlock() hears of it in no other way.
            log.warn(
                    "Lock '{}' had been lost, or its lease time was over, before it was unlocked",
                    String.join("', '", request.names()));
        }
    }

    @Override
    public ReleaseResult release() {
        // One who is refused here can repeat it further up: a level that is half ended would stay held.
        holds.manager.checkRoom();
        NestedLease level = thread().lastLocked(request);
        if (level != null) {
            return level.release();
        }
        if (holds.takeOwed(holds.self(), request)) {
            return ReleaseResult.LOST;
        }
        throw new IllegalMonitorStateException(
                "Lock '" + String.join("', '", request.names()) + "' is not locked by this thread");
    }

    /** What this thread holds is known without asking the store. */
    @Override
    public boolean isLocked() {
        return thread().holdCounts(request).anyMatch(count -> count > 0)
                || request.names().stream().anyMatch(name -> holds.manager.isLocked(name, request.mode()));
    }

    @Override
    public boolean isHeldByThread(Thread thread) {
        return holds.known(Objects.requireNonNull(thread, "thread must not be null"))
                .holdCounts(request)
                .allMatch(count -> count > 0);
    }

    @Override
    public int getHoldCount() {
        return thread().holdCounts(request).min().orElseThrow();
    }

    @Override
    public Optional<LockLease> currentLease() {
        if (getHoldCount() == 0) {
            return Optional.empty();
        }
        List<LockManager.Lease> leases = thread().leases(request);
        return Optional.of(
                leases.size() == 1
                        ? leases.get(0)
                        : new DelegatingLease(request) {
                            @Override
                            List<LockManager.Lease> leases() {
                                return leases;
                            }
                        });
    }

    private LockOwner thread() {
        return holds.known(holds.self());
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
