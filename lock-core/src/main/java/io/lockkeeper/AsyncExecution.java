/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Runs work under a lease that is on its way, and releases the lease when the stage that follows from it is completed. */
final class AsyncExecution<T extends @Nullable Object> {

    private final ReentrantHolds holds;
    private final LockedAction<? extends @Nullable CompletionStage<T>, ?> work;
    private final UnaryOperator<Runnable> decorator;

    /** Whether the end of the result ends the work, too, and the lease. */
    private final boolean endsWork;

    private final CompletableFuture<T> result = new CompletableFuture<>();

    /** Whether the call has returned that asked for the lease. */
    private boolean returned;

    AsyncExecution(
            ReentrantHolds holds,
            LockedAction<? extends @Nullable CompletionStage<T>, ?> work,
            UnaryOperator<Runnable> decorator,
            boolean endsWork) {
        this.holds = holds;
        this.work = work;
        this.decorator = decorator;
        this.endsWork = endsWork;
    }

    CompletableFuture<T> run(CompletableFuture<? extends LockLease> acquisition) {
        Thread caller = Thread.currentThread();
        Runnable body = () -> follow(begin(acquisition.join()), acquisition.join());
        Runnable elsewhere = acquisition.isDone() ? body : decorated(body);
        acquisition.whenComplete((lease, failure) -> {
            if (lease == null) {
                result.completeExceptionally(failure);
            } else if (result.isDone()) {
                // The caller has cancelled or completed the result, and the lease would stay held.
                holds.releaseAsync(lease, () -> {});
            } else {
                // In the call itself without the copy of its context, which could clear the context at its end.
                begin(Thread.currentThread() == caller && !returned ? body : elsewhere, lease);
            }
        });
        returned = true;
        // A caller that ends the result gives up the place in the queue, too.
        result.whenComplete((value, failure) -> acquisition.cancel(false));
        return result;
    }

    private Runnable decorated(Runnable body) {
        try {
            return decorator.apply(body);
        } catch (Throwable failure) {
            result.completeExceptionally(failure);
            return body;
        }
    }

    private void begin(Runnable body, LockLease lease) {
        try {
            body.run();
        } catch (Throwable failure) {
            // That of a decorator, which may not have come to the body.
            holds.releaseAsync(lease, () -> result.completeExceptionally(failure));
        }
    }

    private CompletionStage<T> begin(LockLease lease) {
        CompletionStage<T> stage;
        try {
            stage = work.run(lease);
        } catch (Throwable failure) {
            return CompletableFuture.failedFuture(failure);
        }
        @SuppressWarnings("NullAway") // A null stage counts as one that is completed with null.
        CompletionStage<T> begun = stage == null ? CompletableFuture.completedFuture(null) : stage;
        return begun;
    }

    /** The lease ends once, with the stage or with the result, whichever is first; the result waits for the release. */
    private void follow(CompletionStage<T> stage, LockLease lease) {
        CompletableFuture<T> ended = new CompletableFuture<>();
        ended.whenComplete((value, failure) -> holds.releaseAsync(lease, () -> complete(result, value, failure)));
        try {
            stage.whenComplete((value, failure) -> complete(ended, value, endsWork ? failure : unwrapped(failure)));
        } catch (Throwable failure) {
            // A stage of the caller's own that cannot be followed.
            ended.completeExceptionally(failure);
        }
        if (!endsWork) {
            return;
        }
        result.whenComplete((value, failure) -> {
            ended.cancel(true);
            if (stage instanceof Future<?> begun && !isShared(begun)) {
                // Last, because there are stages that refuse it with an exception.
                begun.cancel(true);
            }
        });
    }

    /** Returns whether others wait for the work as well, besides this execution: one caller does not end theirs. */
    private static boolean isShared(Future<?> work) {
        return work instanceof CompletableFuture<?> future && future.getNumberOfDependents() > 1;
    }

    private static @Nullable Throwable unwrapped(@Nullable Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
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
