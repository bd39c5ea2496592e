/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A thread-owned, reentrant view of a lock, for code written against {@link java.util.concurrent.locks.Lock}. A lease
 * is renewed until {@link #unlock()} unless a lease time is given.
 *
 * <p>{@link #lock()} waits without limit and ignores interrupts until it has the lock; the thread's interrupt flag is
 * then set again. A timed wait ends at its time plus at most 100 ms, whatever the store does; {@link #tryLock()} after
 * one command timeout at the latest. {@link #unlock()} by a thread that does not hold the lock throws
 * {@link IllegalMonitorStateException}; where the lock was held and lost meanwhile, it logs a warning.
 * {@link #newCondition()} is not supported.
 *
 * <p>There is no lease time of -1 for "until it is unlocked", as there is in Redisson: call the method without a lease
 * time.
 *
 * <p>A view of several names locks all of them together. A thread holds it while it holds all names, by this view or in
 * other ways; {@link #unlock()} ends the last {@code lock} of a view of the same names. A name that the thread holds
 * already is entered again; if one of the names is lost, those that were taken with it are released.
 */
public interface DistributedLock extends Lock {

    /**
     * As {@link #lock()}, with a lease that ends by itself after a time, and is not renewed.
     *
     * @throws IllegalArgumentException if the time is shorter than 100 ms
     */
    void lock(Duration leaseTime);

    /** As {@link #lockInterruptibly()}, with a lease time as for {@link #lock(Duration)}. */
    void lockInterruptibly(Duration leaseTime) throws InterruptedException;

    /**
     * Waits for the lock for a time, and returns whether the thread has it now; zero: tries once.
     *
     * @throws LockStoreException if the store failed, or did not answer until the end of the wait
     * @throws IllegalArgumentException if the time is negative
     * @throws InterruptedException if the thread is interrupted; it then holds nothing new
     */
    boolean tryLock(Duration waitTime) throws InterruptedException;

    /** As {@link #tryLock(Duration)}, with a lease time as for {@link #lock(Duration)}. */
    boolean tryLock(Duration waitTime, Duration leaseTime) throws InterruptedException;

    /**
     * As {@link #unlock()}, but logs nothing, and returns what came of it: {@link ReleaseResult#LOST} where the lock
     * was held and lost meanwhile, or its lease time was over.
     */
    default ReleaseResult release() {
        boolean held = isHeldByCurrentThread();
        unlock();
        return held ? ReleaseResult.RELEASED : ReleaseResult.LOST;
    }

    /**
     * Returns whether the lock is held, by any thread of any instance; of several names, whether any is held. A view of
     * mode {@link LockMode#READ} tells only whether readers hold it, one of mode {@link LockMode#WRITE} only whether
     * one holder has it alone; a view of another mode tells both. Asks the store unless this thread holds it. After a
     * {@link LockInspector#forceRelease} of this instance for which no caller waits, it is false at once.
     *
     * @throws LockStoreException if the store failed or did not answer
     */
    boolean isLocked();

    /** Returns whether this thread holds the lock, as {@link #isHeldByThread}. */
    default boolean isHeldByCurrentThread() {
        return isHeldByThread(Thread.currentThread());
    }

    /**
     * Returns whether a thread of this instance holds the lock, of several names all of them, without asking the store;
     * false once its lease was lost. What only the surrounding work of a thread holds on, it does not hold itself.
     */
    boolean isHeldByThread(Thread thread);

    /** Returns how many times this thread has entered the lock without leaving it; 0 where it does not hold it. */
    int getHoldCount();

    /**
     * Returns the time until this thread's hold ends if it is not renewed, without asking the store: of several names
     * the shortest; zero where this thread does not hold the lock.
     */
    default Duration remaining() {
        return currentLease().map(LockLease::remaining).orElse(Duration.ZERO);
    }

    /** Returns the lease under which this thread holds the lock; empty where it does not. */
    Optional<LockLease> currentLease();

    /** Not supported: throws {@link UnsupportedOperationException}. */
    @Override
    default Condition newCondition() {
        throw new UnsupportedOperationException("A distributed lock has no conditions");
    }
}
