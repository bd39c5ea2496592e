/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Runs a stage under a lease that is on its way, and releases the lease when the stage is completed. */
final class AsyncExecution<T extends @Nullable Object> {

    private final Function<LockLease, ? extends CompletionStage<T>> action;
    private final BiConsumer<LockLease, Runnable> release;
    private final CompletableFuture<LockLease> acquisition = new CompletableFuture<>();
    private final CompletableFuture<T> result = new CompletableFuture<>();

    /**
     * Prepares everything for the lease.
     *
     * @param action makes the stage
     * @param release releases the lease, and runs something when that is done
     * @param decorator gives what runs on another thread the context of this one
     */
    AsyncExecution(
            Function<LockLease, ? extends CompletionStage<T>> action,
            BiConsumer<LockLease, Runnable> release,
            UnaryOperator<Runnable> decorator) {
        this.action = action;
        this.release = release;
        Runnable body = decorated(decorator);
        acquisition.whenComplete((lease, failure) -> {
            if (lease == null) {
                result.completeExceptionally(failure);
            } else {
                begin(body, lease);
            }
        });
        // A caller that ends the result gives up the place in the queue too.
        result.whenComplete((value, failure) -> acquisition.cancel(true));
    }

    /** Returns what is to be completed with the lease. */
    CompletableFuture<LockLease> acquisition() {
        return acquisition;
    }

    CompletableFuture<T> result() {
        return result;
    }

    private Runnable decorated(UnaryOperator<Runnable> decorator) {
        Runnable body = () -> run(acquisition.join());
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
            release.accept(lease, () -> result.completeExceptionally(failure));
        }
    }

    private void run(LockLease lease) {
        // Where the caller has cancelled or completed the result, nobody else would release the lease.
        CompletionStage<T> work = result.isDone() ? result : begin(lease);
        try {
            work.whenComplete((value, failure) -> release.accept(lease, () -> complete(value, failure)));
        } catch (Throwable failure) {
            // A stage of the caller's own that cannot be followed.
            release.accept(lease, () -> result.completeExceptionally(failure));
        }
    }

    private CompletionStage<T> begin(LockLease lease) {
        CompletionStage<T> stage;
        try {
            stage = action.apply(lease);
        } catch (Throwable failure) {
            return CompletableFuture.failedFuture(failure);
        }
        @SuppressWarnings("NullAway") // A null stage counts as one that is completed with null.
        CompletionStage<T> work = stage == null ? CompletableFuture.completedFuture(null) : stage;
        return work;
    }

    private void complete(T value, @Nullable Throwable failure) {
        if (failure == null) {
            result.complete(value);
        } else {
            result.completeExceptionally(
                    failure instanceof CompletionException && failure.getCause() != null
                            ? failure.getCause()
                            : failure);
        }
    }
}
