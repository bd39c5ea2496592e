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

/** Runs work under a lease to come, and releases the lease when the stage that follows from it is completed. */
final class AsyncExecution<T extends @Nullable Object> {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    private final LockManager manager;
    private final LockedAction<? extends @Nullable CompletionStage<T>, ?> work;
    private final UnaryOperator<Runnable> decorator;

    /** Whether the end of the result ends the work, too, and the lease. */
    private final boolean endsWork;

    private final CompletableFuture<T> result = new CompletableFuture<>();

    /** Whether the call has returned that asked for the lease. */
    private boolean returned;

    /** Whether the work has begun, with whose end the lease ends. */
    private volatile boolean begun;

    /** What the work has begun; null: nothing yet. */
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
                    // In the call itself without the copy of its context, which could clear the context at its end.
                    (Thread.currentThread() == caller && !returned ? body : elsewhere).run();
                } else {
                    // The caller has cancelled or completed the result, and the lease would stay held.
                    release(lease, () -> {});
                }
            } catch (Throwable failure) {
                // That of a decorator, which may not have come to the body.
                if (begun) {
                    log.error("What surrounds the work under {} failed; the work goes on", lease, failure);
                } else {
                    release(lease, () -> result.completeExceptionally(failure));
                }
            }
        });
        returned = true;
        // A caller that ends the result gives up the place in the queue, too.
        manager.await(result, () -> !acquisition.isDone(), (value, failure) -> acquisition.cancel(false));
        return result;
    }

    /** Does the work, or fails, in the context of the caller: what then runs instead of the work needs it as well. */
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

    /** The lease ends once, with the stage or with the result, whichever is first; the result waits for the release. */
    private void work(LockLease lease) {
        CompletableFuture<T> ended = new CompletableFuture<>();
        manager.await(
                ended,
                () -> {
                    CompletionStage<T> followed = stage;
                    if (followed instanceof Future<?> future && isDone(future)) {
                        // The thread that ended it had no room to tell so.
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
            // From the work, or from a stage of the caller's own that cannot be followed.
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

    /** One caller does not end the work of others who wait for it too. */
    private static void cancel(@Nullable Object stage) {
        try {
            if (stage instanceof Future<?> future
                    && !(future instanceof CompletableFuture<?> shared && shared.getNumberOfDependents() > 1)) {
                future.cancel(true);
            }
        } catch (Throwable refused) {
            // There are stages that cannot be cancelled.
        }
    }

    /** Releases a lease, if there is one, without blocking, and then runs something on the executor. */
    private void release(@Nullable LockLease lease, Runnable then) {
        if (lease == null) {
            then.run();
            return;
        }
        CompletableFuture<?> released;
        try {
            released = ((LockManager.Lease) lease).closeAsync();
        } catch (Throwable failure) {
            // The end is told, with an error or without.
            released = CompletableFuture.failedFuture(failure);
        }
        manager.await(released, () -> true, (done, never) -> manager.execute(then));
    }

    /** Returns what the caller is told of a failure: not that of a stage which only passes it on. */
    private Throwable told(Throwable failure) {
        // Not those of a user's own class, which may throw here.
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
