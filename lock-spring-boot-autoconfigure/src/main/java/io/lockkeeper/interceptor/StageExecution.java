/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockLostException;
import io.lockkeeper.annotation.LossPolicy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/** Runs a method that returns a stage: held until the stage is completed, without a thread that waits. */
final class StageExecution implements MethodLockSpec.Execution {

    @Override
    public CompletableFuture<Object> run(MethodLockSpec spec, MethodInvocation call) {
        LockedCall locked = new LockedCall(spec, call);
        CompletableFuture<Object> body;
        try {
            body = locked.ask((operations, request) -> operations.executeUntil(
                    request, List.of(), locked::run, begun -> watch(stage(begun.returned()), begun)));
        } catch (RuntimeException noRequest) {
            // A caller with a stage looks for failures nowhere else.
            return CompletableFuture.failedFuture(noRequest);
        }
        return spec.hasAlternative() ? orInstead(body, locked) : body;
    }

    /** A method that returns null instead of a stage has ended. */
    @SuppressWarnings({"unchecked", "NullAway"}) // The method's return type says so.
    private static CompletionStage<Object> stage(@Nullable Object returned) {
        return returned == null ? CompletableFuture.completedFuture(null) : (CompletionStage<Object>) returned;
    }

    private static CompletableFuture<Object> orInstead(CompletableFuture<Object> body, LockedCall locked) {
        CompletableFuture<Object> result = new CompletableFuture<>();
        body.whenComplete((value, failure) -> {
            if (failure == null || !locked.hasNoLock(failure) || result.isDone()) {
                complete(result, value, failure);
                return;
            }
            CompletionStage<Object> instead = withoutLock(locked, failure);
            instead.whenComplete((other, failed) -> complete(result, other, failed));
            result.whenComplete((ended, reason) -> cancel(instead));
        });
        result.whenComplete((value, failure) -> body.cancel(true));
        return result;
    }

    private static CompletionStage<Object> withoutLock(LockedCall locked, Throwable failure) {
        try {
            return stage(locked.withoutLock(failure));
        } catch (Throwable thrown) {
            return CompletableFuture.failedFuture(thrown);
        }
    }

    /** Returns a stage that does not succeed when its lock was lost meanwhile, and which INTERRUPT ends at once. */
    private static CompletionStage<Object> watch(CompletionStage<Object> work, LockedCall locked) {
        LossPolicy onLost = locked.spec().onLost();
        if (onLost == LossPolicy.REPORT) {
            return work;
        }
        CompletableFuture<Object> watched = new CompletableFuture<>() {
            @Override
            public boolean cancel(boolean mayInterrupt) {
                boolean cancelled = super.cancel(mayInterrupt);
                StageExecution.cancel(work);
                return cancelled;
            }
        };
        work.whenComplete((value, failure) -> {
            LockLostException lost = locked.loss();
            if (failure != null) {
                Throwable cause = failure instanceof CompletionException ? failure.getCause() : null;
                LeaseLoss.addTo(cause == null ? failure : cause, lost);
            }
            complete(watched, value, failure == null ? lost : failure);
        });
        if (onLost == LossPolicy.INTERRUPT) {
            locked.lease().onLost(lost -> {
                watched.completeExceptionally(lost);
                // The work itself hears of the loss where it looks at its own future.
                if (work instanceof CompletableFuture<?> future) {
                    end(() -> future.completeExceptionally(lost));
                }
            });
        }
        return watched;
    }

    private static void cancel(CompletionStage<?> stage) {
        // One caller does not end a stage for which others wait, too.
        if (stage instanceof Future<?> work
                && !work.isDone()
                && !(stage instanceof CompletableFuture<?> future && future.getNumberOfDependents() > 1)) {
            end(() -> work.cancel(true));
        }
    }

    private static void end(Runnable ending) {
        try {
            ending.run();
        } catch (UnsupportedOperationException minimal) {
            // A stage that only its maker completes.
            return;
        }
    }

    @SuppressWarnings("NullAway") // Any future may be completed with null.
    static void complete(CompletableFuture<Object> future, @Nullable Object value, @Nullable Throwable failure) {
        if (failure == null) {
            future.complete(value);
        } else {
            future.completeExceptionally(failure);
        }
    }
}
