/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The operations of locking, implemented by {@link LockTemplate}. Code that depends on this interface can be tested
 * with {@link #withoutLocking()} or a store in memory. A request without a wait time waits as long as the template
 * says; in {@code tryAcquire} and {@code tryRun} it does not wait. A form with a name stands for that with a request
 * which sets nothing else.
 *
 * <p>{@code execute}, {@code run} and {@code tryRun} bind the hold to the calling thread: inside the body the same
 * thread enters the same lock again without asking the store, with the same fencing token. A lease time of the inner
 * request extends a hold with a fixed end that would end sooner, by one request to the store; it never shortens one,
 * and does not end the renewal of a hold that is renewed. Other times of the inner request are ignored. {@code acquire}
 * and {@code tryAcquire} return a lease of their own each time, which may move to another thread and is therefore never
 * reentrant.
 */
public interface LockOperations {

    /**
     * Acquires a lock, waiting for it, and returns the lease, which the caller is to release.
     *
     * @throws LockNotAcquiredException if others held the lock during the whole wait
     * @throws LockInterruptedException if the thread was interrupted; its flag is set again
     * @throws LockStoreException if the store failed or did not answer in time
     * @throws IllegalStateException if this thread holds the name through {@code execute}, {@code run}, {@code tryRun},
     *     a {@link DistributedLock} or an annotated method, and would wait for itself
     */
    LockLease acquire(LockRequest request);

    /** As {@link #acquire(LockRequest)}, for one name. */
    default LockLease acquire(String name) {
        return acquire(LockRequest.of(name));
    }

    /** As {@link #acquire(LockRequest)}, but empty where others hold the lock; waits only where that is asked for. */
    Optional<LockLease> tryAcquire(LockRequest request);

    /** As {@link #tryAcquire(LockRequest)}, for one name. */
    default Optional<LockLease> tryAcquire(String name) {
        return tryAcquire(LockRequest.of(name));
    }

    /**
     * Acquires a lock without blocking a thread while it waits.
     *
     * @return completed on a thread of {@link LockTemplate.Builder#executor} with the lease, or with the exception that
     *     {@link #acquire(LockRequest)} would throw. A caller that cancels or completes it first gives up the place; a
     *     lease that no caller received is released.
     */
    CompletableFuture<LockLease> acquireAsync(LockRequest request);

    /**
     * Runs work while this thread holds a lock, releases the lock whatever happens, and returns what the work returned.
     *
     * @throws X what the work threw, unchanged
     * @throws LockException what {@link #acquire(LockRequest)} throws; {@link LockLostException} if this thread held the
     *     lock already and has lost it
     */
    <T extends @Nullable Object, X extends Throwable> T execute(LockRequest request, LockedAction<T, X> action)
            throws X;

    /** As {@link #execute(LockRequest, LockedAction)}, for one name. */
    default <T extends @Nullable Object, X extends Throwable> T execute(String name, LockedAction<T, X> action)
            throws X {
        return execute(LockRequest.of(name), action);
    }

    /** As {@link #execute(LockRequest, LockedAction)}, for work that returns nothing. */
    default <X extends Throwable> void run(LockRequest request, LockedTask<X> task) throws X {
        execute(request, lease -> {
            task.run(lease);
            return true;
        });
    }

    /** As {@link #run(LockRequest, LockedTask)}, for one name. */
    default <X extends Throwable> void run(String name, LockedTask<X> task) throws X {
        run(LockRequest.of(name), task);
    }

    /**
     * As {@link #run(LockRequest, LockedTask)}, if the lock can be had; waits only where that is asked for.
     *
     * @return whether the work ran; false: others hold the lock
     */
    <X extends Throwable> boolean tryRun(LockRequest request, LockedTask<X> task) throws X;

    /** As {@link #tryRun(LockRequest, LockedTask)}, for one name. */
    default <X extends Throwable> boolean tryRun(String name, LockedTask<X> task) throws X {
        return tryRun(LockRequest.of(name), task);
    }

    /**
     * Runs asynchronous work under a lock, which is released when the stage that the work returns is completed. No
     * thread is blocked, neither while the lock is waited for nor while it is released.
     *
     * @param action the work, which is begun on a thread of {@link LockTemplate.Builder#executor}; null from it counts
     *     as a stage that is completed with null
     * @return completed on a thread of that executor when the lock is released, as the stage of the work is, or as that
     *     of {@link #acquireAsync}. A caller that cancels or completes it first gives up the place, and the work is not
     *     begun; work that has begun keeps the lock until its stage is completed.
     */
    <T extends @Nullable Object> CompletableFuture<T> executeAsync(
            LockRequest request, Function<LockLease, ? extends CompletionStage<T>> action);

    /**
     * Runs asynchronous work while the running thread holds a lock, as {@link #execute} does, and keeps the lock until
     * the stage that the work returns is completed. Once the work has returned, the hold belongs to the stage alone:
     * the thread is no longer inside, nor is what continues the stage.
     *
     * @param action the work, which runs on this thread where the lock is there at once, and else on the template's
     *     executor; null from it counts as a stage that is completed with null
     * @return completed as the stage is, or with what the work or {@code execute} would throw; in each case after the
     *     release, and never on the thread that completed the stage. A caller that cancels or completes it first gives
     *     up the place, or ends the hold and cancels the stage, unless others wait for that stage too.
     */
    default <T extends @Nullable Object> CompletableFuture<T> executeStage(
            LockRequest request, LockedAction<? extends @Nullable CompletionStage<T>, ?> action) {
        return executeUntil(request, List.of(), action, stage -> stage);
    }

    /**
     * As {@link #executeStage}, for work that makes something which goes on after it was made, such as a publisher: the
     * lock is kept until the end of that.
     *
     * @param enclosing leases of such forms under which the caller runs although its thread does not: what they hold is
     *     entered again. Others have no effect.
     * @param action makes it, on a thread that is inside the lock
     * @param end called with it on the same thread, which is outside again; gives the stage that is completed at its
     *     end
     * @throws UnsupportedOperationException from an implementation of the application that does not have this method
     */
    default <B extends @Nullable Object, T extends @Nullable Object> CompletableFuture<T> executeUntil(
            LockRequest request,
            Collection<? extends LockLease> enclosing,
            LockedAction<? extends B, ?> action,
            Function<? super B, ? extends @Nullable CompletionStage<T>> end) {
        throw new UnsupportedOperationException(getClass().getName() + " does not implement executeUntil");
    }

    /** Returns a view of an exclusive lock for code written against {@link java.util.concurrent.locks.Lock}. */
    default DistributedLock lock(String name) {
        return lock(LockRequest.of(name));
    }

    /**
     * As {@link #lock(String)}, for what a request describes; several names are locked together, all or none. The wait
     * time and the retries of the request are ignored, because each method says how long it waits: {@code lock()}
     * without limit, {@code tryLock()} not at all. Its lease time holds where a call has none.
     */
    DistributedLock lock(LockRequest request);

    /** Returns a view of a lock that serves its callers in the order of arrival. */
    default DistributedLock fairLock(String name) {
        return lock(LockRequest.of(name).withMode(LockMode.FAIR));
    }

    /** Returns a pair of locks: many readers or one writer. */
    default DistributedReadWriteLock readWriteLock(String name) {
        LockRequest request = LockRequest.of(name);
        return new ThreadOwnedLock.Pair(lock(request.withMode(LockMode.READ)), lock(request.withMode(LockMode.WRITE)));
    }

    /**
     * Returns operations that run everything without a lock, for tests and for switching locking off, as
     * {@link LockTemplate#withoutLocking()}.
     */
    static LockOperations withoutLocking() {
        return LockTemplate.withoutLocking();
    }
}
