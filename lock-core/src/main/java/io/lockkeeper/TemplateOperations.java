/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.Collection;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** The operations of a {@link LockTemplate}, and of {@link LockOperations#withoutLocking()}, which is no template. */
class TemplateOperations implements LockOperations {

    final ReentrantHolds holds;
    final Duration waitTime;
    private final Duration retryDelay;
    private final UnaryOperator<Runnable> decorator;

    TemplateOperations(
            ReentrantHolds holds, Duration waitTime, Duration retryDelay, UnaryOperator<Runnable> decorator) {
        this.holds = holds;
        this.waitTime = waitTime;
        this.retryDelay = retryDelay;
        this.decorator = decorator;
    }

    /** Operations without locking. */
    TemplateOperations() {
        this(new ReentrantHolds(new UnlockedManager(), null), Duration.ZERO, Duration.ofMillis(1), body -> body);
    }

    @Override
    public LockLease acquire(LockRequest request) {
        return holds.acquire(complete(request, waitTime));
    }

    @Override
    public Optional<LockLease> tryAcquire(LockRequest request) {
        try {
            return Optional.of(holds.acquire(complete(request, Duration.ZERO)));
        } catch (LockNotAcquiredException heldByOthers) {
            return Optional.empty();
        }
    }

    @Override
    public CompletableFuture<LockLease> acquireAsync(LockRequest request) {
        CompletableFuture<LockLease> result = new CompletableFuture<>();
        holds.acquireAsync(complete(request, waitTime), result, AcquiredLease.ofThisCaller());
        return result;
    }

    @Override
    public <T extends @Nullable Object, X extends Throwable> T execute(LockRequest request, LockedAction<T, X> action)
            throws X {
        return run(holds.enter(complete(request, waitTime), true, true), action);
    }

    @Override
    public <X extends Throwable> boolean tryRun(LockRequest request, LockedTask<X> task) throws X {
        NestedLease level;
        try {
            level = holds.enter(complete(request, Duration.ZERO), true, true);
        } catch (LockNotAcquiredException heldByOthers) {
            return false;
        }
        return run(level, lease -> {
            task.run(lease);
            return true;
        });
    }

    /** Runs a body, which is over when the release begins: that never throws, so it cannot mask what the body threw. */
    private static <T extends @Nullable Object, X extends Throwable> T run(NestedLease level, LockedAction<T, X> action)
            throws X {
        try (level) {
            return level.run(action);
        }
    }

    @Override
    public <T extends @Nullable Object> CompletableFuture<T> executeAsync(
            LockRequest request, Function<LockLease, ? extends CompletionStage<T>> action) {
        CompletableFuture<LockLease> acquisition = new CompletableFuture<>();
        CompletableFuture<T> result = new AsyncExecution<>(holds, action::apply, decorator, false).run(acquisition);
        holds.acquireAsync(complete(request, waitTime), acquisition, lease -> lease);
        return result;
    }

    @Override
    public <B extends @Nullable Object, T extends @Nullable Object> CompletableFuture<T> executeUntil(
            LockRequest request,
            Collection<? extends LockLease> enclosing,
            LockedAction<? extends B, ?> action,
            Function<? super B, ? extends @Nullable CompletionStage<T>> end) {
        try {
            return new AsyncExecution<>(holds, lease -> end.apply(((NestedLease) lease).run(action)), decorator, true)
                    .run(holds.enterAsync(complete(request, waitTime), enclosing));
        } catch (RuntimeException refused) {
            // Such as an upgrade: a caller with a future looks for failures nowhere else.
            return CompletableFuture.failedFuture(refused);
        }
    }

    @Override
    public DistributedLock lock(LockRequest request) {
        return new ThreadOwnedLock(holds, Objects.requireNonNull(request, "request must not be null"));
    }

    /** Sets what a request leaves open. */
    private LockRequest complete(LockRequest request, Duration wait) {
        LockRequest complete = request.waitTime() == null ? request.withWaitTime(wait) : request;
        return complete.retryCount() > 0 && complete.retryDelay() == null
                ? complete.withRetries(complete.retryCount(), retryDelay)
                : complete;
    }
}
