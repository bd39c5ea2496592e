package io.lockkeeper;

import io.lockkeeper.store.LockStore;
import java.time.Duration;
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
     * @return the lease to come
     */
    CompletableFuture<LockLease> acquireAsync(LockRequest request);

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
            LockListener listener) {}

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
