/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The only door from a {@link LockTemplate} to the machinery below it: leases, never reentrant. Every request that
 * arrives here has its defaults filled in.
 *
 * <p>Internal: public for the engine alone, and may change in any release.
 */
public interface LockManager extends AutoCloseable {

    /** Fits into every unit and clock: 100 years. */
    Duration FOREVER = Duration.ofDays(36_500);

    /** Returns {@link #FOREVER} instead of a longer time. */
    static Duration bounded(Duration time) {
        return time.compareTo(FOREVER) > 0 ? FOREVER : time;
    }

    /** Refuses what cannot be asked for here, with an exception, before the store is asked for anything. */
    default void check(LockRequest request) {}

    /** Refuses a caller whose stack has no room for a release, with a StackOverflowError, before anything changes. */
    default void checkRoom() {}

    /** Returns whether locks exclude others at all; false: nothing is refused and nothing is lost. */
    default boolean excludes() {
        return true;
    }

    /**
     * Acquires a lease, blocking the thread; fails as {@link LockOperations#acquire(LockRequest)}. A caller that holds
     * another lock is {@code nested} and may go on while the manager closes. An interrupt that does not end the wait is
     * set again at its end. The caller has already waited for {@code waitedNanos}.
     */
    Lease acquire(LockRequest request, boolean nested, boolean interruptibly, long waitedNanos);

    /**
     * As {@link #acquire}, without blocking.
     *
     * @param result completed with what {@code received} makes of the lease; gives up the place when it is completed
     *     before. What hangs on it already is sure to run on the executor, too.
     * @param atOnce whether the result may be completed on this thread where the lock is there at once
     */
    <T> void acquireAsync(
            LockRequest request,
            boolean nested,
            CompletableFuture<T> result,
            Function<Lease, T> received,
            boolean atOnce,
            long waitedNanos);

    /** Runs a task on the executor of asynchronous completions; if that refuses it, on another thread. */
    void execute(Runnable task);

    /**
     * Tells once how something has ended: also where the thread that ends it finds no room on its stack, or an error
     * comes into that.
     *
     * @param isAwaited asked now and then until the end; false: the end may be told by the thread that ends it alone
     */
    default <T extends @Nullable Object> void await(
            CompletableFuture<T> end, BooleanSupplier isAwaited, BiConsumer<@Nullable T, @Nullable Throwable> then) {
        end.whenComplete(then);
    }

    /** Asks the store whether a name is held, as {@link DistributedLock#isLocked()} tells it of a view of the mode. */
    boolean isLocked(String name, LockMode mode);

    /** Returns a clock that only goes forward, in ns. */
    default long nanoTime() {
        return System.nanoTime();
    }

    /** Returns what looks at the locks of this manager's store. */
    LockInspector inspector();

    /** Returns what hears of everything; it never throws. */
    LockListener listener();

    /** Refuses new work, waits for what is held as the settings say, releases the rest and closes the store. */
    @Override
    void close();

    /** A lease as the layer above the manager needs it; the defaults are those of one that no store keeps. */
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
        default CompletableFuture<ReleaseResult> closeAsync() {
            return CompletableFuture.completedFuture(release());
        }

        /**
         * Asks the store to extend it for a request that enters it again; the answer must come within what is left of
         * that request's wait. The result sets the new end, unless the lease has a later one; false: it is not held, or
         * goes on as that of a reader, and must be extended once more.
         */
        default CompletableFuture<BooleanSupplier> extendFor(LockRequest request, long waitedNanos) {
            return CompletableFuture.completedFuture(this::isHeld);
        }

        /** Goes on as a reader's lease; returns what is completed when the store knows, or does not answer. */
        default CompletableFuture<?> downgrade() {
            return CompletableFuture.completedFuture(null);
        }

        /** Waits until an answer of the store is there. */
        default void await(CompletableFuture<?> answer) throws InterruptedException {
            join(answer);
        }

        /** Waits for an answer of the store, uninterruptibly. */
        default <T extends @Nullable Object> T join(CompletableFuture<T> answer) {
            return answer.join();
        }

        /** Removes the last registration of this very callback by {@link #onLost}, unless it was called. */
        default void forget(Consumer<LockLostException> callback) {}

        /** The present thread, which waited for the lease, goes on with it. */
        default void receivedHere() {}

        /** The present thread goes on with the lease until it runs what this returns. */
        default Runnable runHere() {
            return () -> {};
        }

        /**
         * Says in the log where a caller drops what it was given of this lease, while the lease is held.
         *
         * @param caller who acquired it; null: that was not looked for
         */
        default void reportIfForgotten(LockLease given, StackWalker.@Nullable StackFrame caller) {}

        /** Releases a lease that no caller received, without waiting for the store. */
        default void giveBack() {
            closeAsync();
        }
    }

    /** What a manager works with, as {@link LockTemplate.Builder} describes it; the listener never throws. */
    record Settings(
            Duration leaseTime,
            int maxPasses,
            Duration maxPassTime,
            Duration shutdownWait,
            String application,
            String service,
            Executor executor,
            LockListener listener) {

        /** Bounds the times. */
        public Settings {
            leaseTime = bounded(leaseTime);
            maxPassTime = bounded(maxPassTime);
            shutdownWait = bounded(shutdownWait);
        }

        /** Returns new threads for what the executor refuses. */
        public ThreadPoolExecutor spare() {
            return new CallbackExecutor();
        }

        /** Returns where the callbacks of losses run: where it can be helped, before all that waits on the executor. */
        public Executor urgent() {
            return executor instanceof CallbackExecutor ours ? ours.urgent() : executor;
        }
    }
}
