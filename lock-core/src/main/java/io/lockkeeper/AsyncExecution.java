/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs work when its lease is acquired, and releases the lease when the stage that the work returns is completed. */
final class AsyncExecution<T extends @Nullable Object> {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    private final LockManager manager;
    private final LockedAction<? extends @Nullable CompletionStage<T>, ?> work;
    private final UnaryOperator<Runnable> decorator;

    /** Whether a completed result also cancels the work and releases the lease. */
    private final boolean endsWork;

    private final CompletableFuture<T> result = new CompletableFuture<>();

    /** Whether {@link #run} has returned. */
    private boolean returned;

    /** Whether the work has begun, whose end releases the lease. */
    private volatile boolean begun;

    /** The stage that the work returned; null: none yet. */
    private volatile @Nullable CompletionStage<T> stage;

    AsyncExecution(
            LockManager manager,
            LockedAction<? extends @Nullable CompletionStage<T>, ?> work,
            UnaryOperator<Runnable> decorator,
            boolean endsWork) {
        this.manager = manager;
        this.work = work;
        this.decorator = decorator;
        this.endsWork = endsWork;
    }

    CompletableFuture<T> run(CompletableFuture<LockLease> acquisition) {
        Thread caller = Thread.currentThread();
        Runnable body = () -> begin(acquisition);
        Runnable elsewhere = acquisition.isDone() ? body : decorated(body);
        acquisition.whenComplete((lease, none) -> {
            try {
                if (!result.isDone()) {
                    // In the call itself without the decorator, which could clear the caller's own context at its end.
                    (Thread.currentThread() == caller && !returned ? body : elsewhere).run();
                } else {
                    // The caller has already cancelled or completed the result.
                    release(lease, () -> {});
                }
            } catch (Throwable failure) {
                // The failure of a decorator, which may not have run the body.
                if (begun) {
                    log.error("What surrounds the work under {} failed; the work goes on", lease, failure);
                } else {
                    release(lease, () -> result.completeExceptionally(failure));
                }
            }
        });
        returned = true;
        // If the caller completes the result, the place in the queue is given up.
        manager.await(result, () -> !acquisition.isDone(), (value, failure) -> acquisition.cancel(false));
        return result;
    }

    /** Does the work, or fails, in the caller's context, which a fallback needs as well. */
    private void begin(CompletableFuture<LockLease> acquisition) {
        if (acquisition.isCompletedExceptionally()) {
            acquisition.whenComplete((none, failure) -> result.completeExceptionally(failure));
        } else {
            work(acquisition.join());
        }
    }

    private Runnable decorated(Runnable body) {
        try {
            return decorator.apply(body);
        } catch (Throwable failure) {
            result.completeExceptionally(failure);
            return body;
        }
    }

    /** Releases the lease with the end of the stage or of the result; the result is completed after the release. */
    private void work(LockLease lease) {
        CompletableFuture<T> ended = new CompletableFuture<>();
        manager.await(
                ended,
                () -> {
                    CompletionStage<T> followed = stage;
                    if (followed instanceof Future<?> future && isDone(future)) {
                        // The thread that completed it had no room on its stack to report that.
                        manager.execute(() -> follow(followed, ended));
                    }
                    return lease.isHeld();
                },
                (value, failure) -> release(lease, () -> complete(result, value, failure)));
        begun = true;
        try {
            NestedLease.run(lease, held -> stage = work.run(held), ((LockManager.Lease) lease).runHere());
            follow(stage, ended);
        } catch (Throwable failure) {
            // Thrown by the work, or by a stage of the caller's own that cannot be followed.
            ended.completeExceptionally(told(failure));
        }
        if (endsWork) {
            manager.await(result, lease::isHeld, (value, failure) -> {
                ended.cancel(true);
                cancel(stage);
            });
        }
    }

    private void follow(@Nullable CompletionStage<T> stage, CompletableFuture<T> ended) {
        @SuppressWarnings("NullAway") // A null stage counts as one that is completed with null.
        CompletionStage<T> begun = stage == null ? CompletableFuture.completedFuture(null) : stage;
        begun.whenComplete((value, failure) -> complete(ended, value, failure == null ? null : told(failure)));
    }

    private static boolean isDone(Future<?> stage) {
        try {
            return stage.isDone();
        } catch (Throwable refused) {
            return false;
        }
    }

    /** Cancels a stage, unless others depend on it, too. */
    private static void cancel(@Nullable Object stage) {
        try {
            if (stage instanceof Future<?> future
                    && !(future instanceof CompletableFuture<?> shared && shared.getNumberOfDependents() > 1)) {
                future.cancel(true);
            }
        } catch (Throwable refused) {
            // Some stages cannot be cancelled.
        }
    }

    /** Releases a lease, if there is one, without blocking, and then runs a task on the executor. */
    private void release(@Nullable LockLease lease, Runnable then) {
        if (lease == null) {
            then.run();
            return;
        }
        CompletableFuture<?> released;
        try {
            released = ((LockManager.Lease) lease).closeAsync();
        } catch (Throwable failure) {
            // The task runs even after an error.
            released = CompletableFuture.failedFuture(failure);
        }
        manager.await(released, () -> true, (done, never) -> manager.execute(then));
    }

    /** Returns the failure for the caller, without the wrapper of a stage that only passed it on. */
    private Throwable told(Throwable failure) {
        // Not for subclasses, whose getCause() may throw.
        Throwable cause = failure.getClass() == CompletionException.class ? failure.getCause() : null;
        return endsWork || cause == null ? failure : cause;
    }

    private static <T extends @Nullable Object> void complete(
            CompletableFuture<T> future, T value, @Nullable Throwable failure) {
        if (failure == null) {
            future.complete(value);
        } else {
            future.completeExceptionally(failure);
        }
    }
}
