/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.annotation.LossPolicy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/** Runs a method that returns a stage: held until the stage is completed, without a thread that waits. */
final class StageExecution implements LockedExecution {

    @Override
    public CompletableFuture<Object> run(MethodLockSpec spec, MethodInvocation call) {
        try {
            LockRequest request = spec.request(call.getThis(), call.getArguments());
            return run(spec, call, request, spec.operations().get());
        } catch (RuntimeException noRequest) {
            // A caller with a stage looks for failures nowhere else.
            return CompletableFuture.failedFuture(noRequest);
        }
    }

    private static CompletableFuture<Object> run(
            MethodLockSpec spec, MethodInvocation call, LockRequest request, LockOperations operations) {
        AsynchronousBody body = new AsynchronousBody(call, spec.onLost(), lease -> {});
        CompletableFuture<Object> locked;
        GuardedBodies.asks(spec, call);
        try {
            locked = operations.executeUntil(request, List.of(), body, begun -> follow(begun, spec.onLost()));
        } finally {
            GuardedBodies.hasAsked(spec);
        }
        if (!spec.skipWhenLocked() && spec.fallback() == null) {
            return locked;
        }
        CompletableFuture<Object> result = new CompletableFuture<>();
        locked.whenComplete((value, failure) -> {
            if (failure instanceof LockException noLock && !body.isStarted() && !result.isDone()) {
                CompletionStage<Object> instead = withoutLock(spec, call, noLock);
                instead.whenComplete((other, failed) -> complete(result, other, failed));
                result.whenComplete((ended, reason) -> cancel(instead));
            } else {
                complete(result, value, failure);
            }
        });
        result.whenComplete((value, failure) -> locked.cancel(true));
        return result;
    }

    private static CompletionStage<Object> follow(AsynchronousBody.Begun body, LossPolicy onLost) {
        CompletionStage<Object> stage = stage(body.returned());
        return onLost == LossPolicy.REPORT ? stage : StageLossWatch.watch(body.lease(), stage, onLost);
    }

    /** A method that returns null instead of a stage has ended. */
    @SuppressWarnings({"unchecked", "NullAway"}) // The method's return type says so.
    private static CompletionStage<Object> stage(@Nullable Object returned) {
        return returned == null ? CompletableFuture.completedFuture(null) : (CompletionStage<Object>) returned;
    }

    private static CompletionStage<Object> withoutLock(
            MethodLockSpec spec, MethodInvocation call, LockException failure) {
        if (spec.skips(failure)) {
            return stage(null);
        }
        Fallback.Candidate instead = spec.fallbackFor(failure);
        if (instead == null) {
            return CompletableFuture.failedFuture(failure);
        }
        try {
            return stage(instead.invoke(call, call.getArguments(), failure));
        } catch (Throwable thrown) {
            return CompletableFuture.failedFuture(thrown);
        }
    }

    static void cancel(CompletionStage<?> stage) {
        if (stage instanceof Future<?> work && !work.isDone()) {
            try {
                // One caller does not end a stage for which others wait, too.
                if (!(stage instanceof CompletableFuture<?> future && future.getNumberOfDependents() > 1)) {
                    work.cancel(true);
                }
            } catch (UnsupportedOperationException minimal) {
                // A stage that only its maker completes.
                return;
            }
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
