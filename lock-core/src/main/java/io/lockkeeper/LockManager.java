/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The only door from a {@link LockTemplate} to the machinery below it: leases, never reentrant. Every
 * request that arrives here has its defaults filled in.
 *
 * <p>Internal: public for the engine alone, and may change in any release.
 */
public interface LockManager extends AutoCloseable {

    /** Refuses what cannot be asked for here, with an exception, before the store is asked for anything. */
    default void check(LockRequest request) {}

    /** Returns whether locks exclude others at all; false: nothing is refused and nothing is lost. */
    default boolean excludes() {
        return true;
    }

    /**
     * Acquires a lease, blocking the thread; fails as {@link LockOperations#acquire(LockRequest)}.
     *
     * @param nested whether the caller holds another lock, and may go on while the manager closes
     * @param interruptibly whether an interrupt ends the wait; false: it keeps its place, and the flag is set at the end
     */
    Lease acquire(LockRequest request, boolean nested, boolean interruptibly);

    /**
     * Acquires a lease without blocking.
     *
     * @param nested whether the caller holds another lock, and may go on while the manager closes
     * @param result completed with what the caller receives; gives up the place when it is completed before. What hangs on it
     *     already is sure to run on the executor, too.
     * @param received makes of the lease what the caller receives
     * @param atOnce whether the result may be completed on this thread where the lock is there at once
     */
    <T> void acquireAsync(
            LockRequest request,
            boolean nested,
            CompletableFuture<T> result,
            Function<Lease, T> received,
            boolean atOnce);

    /** Runs a task on the executor of asynchronous completions, at some time in any case. */
    void execute(Runnable task);

    /**
     * Asks the store whether a name is held, and throws a {@link LockStoreException} where it does not answer.
     *
     * @param mode READ: whether readers hold it; WRITE: whether one holder alone does; another mode: whether it is held
     */
    boolean isLocked(String name, LockMode mode);

    /** Returns what looks at the locks of this manager's store. */
    LockInspector inspector();

    /** Returns what hears of everything; it never throws. */
    LockListener listener();

    /** Refuses new work, waits for what is held as the settings say, releases the rest and closes the store. */
    @Override
    void close();

    /** A lease as the layer above the manager needs it. */
    interface Lease extends LockLease {

        /** Returns the number of its acquisition, which listeners know; 0: none was told. */
        default long acquisition() {
            return 0;
        }

        /** Returns whether it has a fixed end, and is not renewed. */
        default boolean isFixed() {
            return false;
        }

        /** Returns whether it had a fixed end, which has passed. */
        default boolean hasEndedAsAsked() {
            return false;
        }

        /** Returns whether it was released. */
        boolean isReleased();

        /** Releases as {@link #close()}, but without waiting for the store. */
        CompletableFuture<ReleaseResult> closeAsync();

        /** Extends as {@link #extend}, but without waiting for the store. */
        CompletableFuture<Boolean> extendAsync(Duration leaseTime);

        /** Goes on as a reader's lease; returns what is completed when the store knows, or does not answer. */
        CompletableFuture<?> downgrade();

        /** Waits for an answer of the store, uninterruptibly. */
        default <T extends @Nullable Object> T join(CompletableFuture<T> answer) {
            return answer.join();
        }

        /** Takes back the last of what {@link #onLost} was given, unless it was called already. */
        default void forget(Consumer<LockLostException> callback) {}

        /** Releases a lease that no caller received, without waiting for the store. */
        default void giveBack() {
            closeAsync();
        }
    }

    /**
     * What a manager works with.
     *
     * @param leaseTime the lease of a hold that is renewed
     * @param maxPasses how often a lock may pass between the callers of this instance before others have their turn
     * @param maxPassTime how long it may stay with the callers of this instance before others have their turn
     * @param shutdownWait how long {@link LockManager#close()} waits for work that holds locks
     * @param application the name of this instance, for people who ask who holds a lock
     * @param service the name that all instances of the application have
     * @param executor where callbacks and asynchronous completions run
     * @param listener hears what happens; never throws
     */
    record Settings(
            Duration leaseTime,
            int maxPasses,
            Duration maxPassTime,
            Duration shutdownWait,
            String application,
            String service,
            Executor executor,
            LockListener listener) {

        /** Returns where the callbacks of losses run: what waits on the executor does not delay them where it can be helped. */
        public Executor urgent() {
            return executor instanceof CallbackExecutor ours ? ours.urgent() : executor;
        }
    }
}
