/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * What a {@link LockTemplate} needs from the machinery below it: leases, and the holds of threads. For the library's own
 * use; every request that arrives here has its defaults filled in.
 */
public interface LockEngine extends AutoCloseable {

    /**
     * Acquires a lease of its own, blocking the thread.
     *
     * @param request what to lock, complete
     * @return the lease
     * @throws LockException as {@link LockOperations#acquire(LockRequest)} says
     * @throws IllegalStateException if this thread holds one of the names
     */
    LockLease acquire(LockRequest request);

    /**
     * Acquires a lease of its own without blocking.
     *
     * @param request what to lock, complete
     * @param result completed with the lease, on the executor; gives up the place when it is completed before. What hangs
     *     on it already is sure to run there, too.
     */
    void acquireAsync(LockRequest request, CompletableFuture<LockLease> result);

    /**
     * Releases a lease that {@link #acquireAsync} or {@link #enterAsync} gave, without waiting for the answer of the store.
     *
     * @param lease the lease
     * @param then runs on the executor when it is known what came of it, which is logged as by {@link LockLease#close()}
     */
    void releaseAsync(LockLease lease, Runnable then);

    /**
     * Lets this thread enter a lock, which it may hold already. Releasing the lease ends this level only; the outermost
     * level ends the hold.
     *
     * @param request what to lock, complete
     * @return the lease of this level
     * @throws LockException as {@link LockOperations#execute(LockRequest, LockedAction)} says
     */
    LockLease enter(LockRequest request);

    /**
     * Enters a lock without blocking. The level belongs to no thread but those that {@link Level#enterThread} puts into
     * it.
     *
     * @param request what to lock, complete
     * @param enclosing leases under which the caller runs, besides those of this thread: what they hold is entered again.
     *     Only levels of this engine count.
     * @return the level to come: done already where the lock is there at once, and else completed on the executor. A
     *     caller that cancels it gives up the place; a level that nobody received has ended.
     * @throws LockException where the lock is held already, and must not be entered again
     */
    CompletableFuture<Level> enterAsync(LockRequest request, Collection<? extends LockLease> enclosing);

    /**
     * Returns whether a caller under some leases holds all that it asks for.
     *
     * @param request what it asks for
     * @param leases the leases; only levels of this engine count
     */
    boolean covers(LockRequest request, Collection<? extends LockLease> leases);

    /**
     * Tells listeners that this thread begins to run a body under a lease that it entered.
     *
     * @param lease what {@link #enter} returned
     * @return to be closed on this thread when the body has ended
     */
    Body body(LockLease lease);

    /**
     * Lets this thread enter a lock, as {@link #enter}, until the matching {@link #unlock}.
     *
     * @param request what to lock, complete, with one name
     * @param interruptibly whether an interrupt ends the wait; false: it keeps its place, and the flag is set at the end
     * @throws LockException as {@link #enter} says
     */
    void lock(LockRequest request, boolean interruptibly);

    /**
     * Ends the innermost level that this thread entered with {@link #lock} in a mode.
     *
     * @param name the lock's name
     * @param mode READ for a level that reads; another mode for one that excludes
     * @throws IllegalMonitorStateException if there is none
     */
    void unlock(String name, LockMode mode);

    /**
     * Returns the lease under which this thread holds a name; empty where it does not hold it in that mode.
     *
     * @param name the lock's name
     * @param mode READ for a hold that reads; another mode for one that excludes
     */
    Optional<LockLease> held(String name, LockMode mode);

    /**
     * Returns how often this thread has entered a name in a mode without leaving it.
     *
     * @param name the lock's name
     * @param mode READ for levels that read; another mode for those that exclude
     */
    int holdCount(String name, LockMode mode);

    /**
     * Asks the store whether anybody holds a name.
     *
     * @param name the lock's name
     * @param mode READ: whether readers hold it; WRITE: whether anybody else does; another mode: whether anybody does
     * @throws LockStoreException if the store failed or did not answer
     */
    boolean isLocked(String name, LockMode mode);

    /** Returns what looks at the locks of this engine's store. */
    LockInspector inspector();

    /** Refuses new work, waits for what is held as the settings say, releases the rest and closes the store. */
    @Override
    void close();

    /** A lease that threads may be inside of, for a while, wherever it was acquired. */
    interface Level extends LockLease {

        /**
         * Puts this thread inside: it enters the names again as if it had acquired them, until the result is called.
         *
         * @return takes the thread out again; to be called by the same thread
         */
        Runnable enterThread();
    }

    /** A body that runs. */
    interface Body extends AutoCloseable {

        /** The body has ended. */
        @Override
        void close();
    }

    /**
     * What an engine works with.
     *
     * @param leaseTime the lease of a hold that is renewed
     * @param maxPasses how often a lock may pass between the callers of this instance before others have their turn
     * @param maxPassTime how long it may stay with the callers of this instance before others have their turn
     * @param shutdownWait how long {@link LockEngine#close()} waits for work that holds locks
     * @param application the name of this instance, for people who ask who holds a lock
     * @param executor where callbacks and asynchronous completions run
     * @param listener hears what happens; exceptions from it are contained
     */
    record Settings(
            Duration leaseTime,
            int maxPasses,
            Duration maxPassTime,
            Duration shutdownWait,
            String application,
            Executor executor,
            LockListener listener) {

        /** Returns where the callbacks of losses run: what waits on the executor does not delay them where it can be helped. */
        public Executor urgent() {
            return executor instanceof CallbackThreads ours ? ours.urgent() : executor;
        }
    }

    /** Makes engines; found through {@link java.util.ServiceLoader}, so that this package does not depend on one. */
    interface Factory {

        /**
         * Makes an engine over a store, which it closes with itself.
         *
         * @param store where the locks are kept
         * @param settings what the engine works with
         * @return the engine
         */
        LockEngine create(LockStore store, Settings settings);
    }
}
