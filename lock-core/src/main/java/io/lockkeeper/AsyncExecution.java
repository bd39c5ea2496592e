package io.lockkeeper;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Runs a stage under a lease that is on its way, and releases the lease when the stage is completed. */
final class AsyncExecution {

    private AsyncExecution() {}

    static <T extends @Nullable Object> CompletableFuture<T> run(
            CompletableFuture<LockLease> acquisition, Function<LockLease, ? extends CompletionStage<T>> action) {
        CompletableFuture<T> result = acquisition.thenCompose(lease -> under(lease, action));
        // A caller that cancels the result gives up the place in the queue too.
        result.whenComplete((value, failure) -> {
            if (result.isCancelled()) {
                acquisition.cancel(true);
            }
        });
        return result;
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
