/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.annotation.LossPolicy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/** Follows a stage that must not succeed when its lock was lost meanwhile. */
final class StageLossWatch {

    private StageLossWatch() {}

    /**
     * Follows a stage.
     *
     * @param lease under which the stage goes on
     * @param work the stage
     * @param policy FAIL: wait for the stage; INTERRUPT: end it, and the result, at once
     * @return completed as the stage, or with the loss
     */
    static CompletableFuture<Object> watch(LockLease lease, CompletionStage<Object> work, LossPolicy policy) {
        CompletableFuture<Object> watched = new CompletableFuture<>() {
            @Override
            public boolean cancel(boolean mayInterrupt) {
                boolean cancelled = super.cancel(mayInterrupt);
                StageExecution.cancel(work);
                return cancelled;
            }
        };
        work.whenComplete((value, failure) -> {
            LockLostException lost = Losses.of(lease);
            if (failure != null) {
                Losses.addTo(unwrapped(failure), lost);
                watched.completeExceptionally(failure);
            } else {
                StageExecution.complete(watched, value, lost);
            }
        });
        if (policy == LossPolicy.INTERRUPT) {
            lease.onLost(lost -> {
                watched.completeExceptionally(lost);
                interrupt(work, lost);
            });
        }
        return watched;
    }

    /** The work itself hears of the loss where it looks at its own future. */
    private static void interrupt(CompletionStage<?> work, LockLostException lost) {
        if (work instanceof CompletableFuture<?> future) {
            try {
                future.completeExceptionally(lost);
            } catch (UnsupportedOperationException minimal) {
                // A stage that only its maker completes.
                return;
            }
        }
    }

    private static Throwable unwrapped(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }
}
