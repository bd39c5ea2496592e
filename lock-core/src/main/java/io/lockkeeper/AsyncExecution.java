package io.lockkeeper;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Runs a stage under a lease that is on its way, and releases the lease when the stage is completed. */
final class AsyncExecution {

    private AsyncExecution() {}

    static <T extends @Nullable Object> CompletableFuture<T> run(
            CompletableFuture<LockLease> acquisition, Function<LockLease, ? extends CompletionStage<T>> action) {
        CompletableFuture<T> result = new CompletableFuture<>();
        acquisition.whenComplete((lease, failure) -> {
            if (lease == null) {
                result.completeExceptionally(failure);
            } else if (result.isDone()) {
                // The caller has cancelled or completed the result, and nobody else would release the lease.
                lease.close();
            } else {
                under(lease, action).whenComplete((value, failed) -> complete(result, value, failed));
            }
        });
        // A caller that ends the result gives up the place in the queue too.
        result.whenComplete((value, failure) -> acquisition.cancel(true));
        return result;
    }

    private static <T extends @Nullable Object> void complete(
            CompletableFuture<T> result, T value, @Nullable Throwable failure) {
        if (failure == null) {
            result.complete(value);
        } else {
            result.completeExceptionally(
                    failure instanceof CompletionException && failure.getCause() != null
                            ? failure.getCause()
                            : failure);
        }
    }

    private static <T extends @Nullable Object> CompletionStage<T> under(
            LockLease lease, Function<LockLease, ? extends CompletionStage<T>> action) {
        CompletionStage<T> stage;
        try {
            stage = action.apply(lease);
        } catch (RuntimeException | Error failure) {
            lease.close();
            return CompletableFuture.failedFuture(failure);
        }
        @SuppressWarnings("NullAway") // A null stage counts as one that is completed with null.
        CompletionStage<T> work = stage == null ? CompletableFuture.completedFuture(null) : stage;
        return work.whenComplete((value, failure) -> lease.close());
    }
}
