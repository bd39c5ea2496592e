/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Locking switched off. Not a {@link LockTemplate} itself, which Spring would find where it looks for one. */
final class UnlockedOperations implements LockOperations {

    private final LockTemplate template = LockTemplate.withoutLocking();

    @Override
    public LockLease acquire(LockRequest request) {
        return template.acquire(request);
    }

    @Override
    public Optional<LockLease> tryAcquire(LockRequest request) {
        return template.tryAcquire(request);
    }

    @Override
    public CompletableFuture<LockLease> acquireAsync(LockRequest request) {
        return template.acquireAsync(request);
    }

    @Override
    public <T extends @Nullable Object, X extends Throwable> T execute(LockRequest request, LockedAction<T, X> action)
            throws X {
        return template.execute(request, action);
    }

    @Override
    public <X extends Throwable> boolean tryRun(LockRequest request, LockedTask<X> task) throws X {
        return template.tryRun(request, task);
    }

    @Override
    public <T extends @Nullable Object> CompletableFuture<T> executeAsync(
            LockRequest request, Function<LockLease, ? extends CompletionStage<T>> action) {
        return template.executeAsync(request, action);
    }

    @Override
    public <B extends @Nullable Object, T extends @Nullable Object> CompletableFuture<T> executeUntil(
            LockRequest request,
            Collection<? extends LockLease> enclosing,
            LockedAction<? extends B, ?> action,
            Function<? super B, ? extends @Nullable CompletionStage<T>> end) {
        return template.executeUntil(request, enclosing, action, end);
    }

    @Override
    public DistributedLock lock(LockRequest request) {
        return template.lock(request);
    }
}
