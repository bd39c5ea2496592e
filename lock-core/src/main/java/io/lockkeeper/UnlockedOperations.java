/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Locking switched off: everything runs at once. */
final class UnlockedOperations implements LockOperations {

    private static final AtomicLong TOKENS = new AtomicLong();

    @Override
    public LockLease acquire(LockRequest request) {
        return new UnlockedLease(request, nextToken());
    }

    @Override
    public LockLease acquire(String name) {
        return acquire(LockRequest.of(name));
    }

    @Override
    public Optional<LockLease> tryAcquire(LockRequest request) {
        return Optional.of(acquire(request));
    }

    @Override
    public Optional<LockLease> tryAcquire(String name) {
        return Optional.of(acquire(name));
    }

    @Override
    public CompletableFuture<LockLease> acquireAsync(LockRequest request) {
        return CompletableFuture.completedFuture(acquire(request));
    }

    @Override
    public <T extends @Nullable Object, X extends Throwable> T execute(LockRequest request, LockedAction<T, X> action)
            throws X {
        try (LockLease lease = acquire(request)) {
            LockContext.enter(lease);
            try {
                return action.run(lease);
            } finally {
                LockContext.leave();
            }
        }
    }

    @Override
    public <T extends @Nullable Object, X extends Throwable> T execute(String name, LockedAction<T, X> action)
            throws X {
        return execute(LockRequest.of(name), action);
    }

    @Override
    public <X extends Throwable> void run(LockRequest request, LockedTask<X> task) throws X {
        LockedAction<Boolean, X> action = lease -> {
            task.run(lease);
            return true;
        };
        execute(request, action);
    }

    @Override
    public <X extends Throwable> void run(String name, LockedTask<X> task) throws X {
        run(LockRequest.of(name), task);
    }

    @Override
    public <X extends Throwable> boolean tryRun(LockRequest request, LockedTask<X> task) throws X {
        run(request, task);
        return true;
    }

    @Override
    public <X extends Throwable> boolean tryRun(String name, LockedTask<X> task) throws X {
        return tryRun(LockRequest.of(name), task);
    }

    @Override
    public <T extends @Nullable Object> CompletableFuture<T> executeAsync(
            LockRequest request, Function<LockLease, ? extends CompletionStage<T>> action) {
        AsyncExecution<T> execution = new AsyncExecution<>(action, (lease, then) -> {
            lease.close();
            then.run();
        });
        execution.acquisition().complete(acquire(request));
        return execution.result();
    }

    @Override
    public <B extends @Nullable Object, T extends @Nullable Object> CompletableFuture<T> executeUntil(
            LockRequest request,
            Collection<? extends LockLease> enclosing,
            LockedAction<? extends B, ?> action,
            Function<? super B, ? extends @Nullable CompletionStage<T>> end) {
        StageExecution<B, T> execution = new StageExecution<>(action, end, level -> () -> {}, (level, then) -> {
            level.close();
            then.run();
        });
        return execution.run(CompletableFuture.completedFuture(new UnlockedLease(request, nextToken())));
    }

    @Override
    public DistributedLock lock(String name) {
        return new UnlockedLock(LockRequest.of(name));
    }

    @Override
    public DistributedLock fairLock(String name) {
        return lock(name);
    }

    @Override
    public DistributedReadWriteLock readWriteLock(String name) {
        DistributedLock lock = lock(name);
        return new DistributedReadWriteLock() {
            @Override
            public DistributedLock readLock() {
                return lock;
            }

            @Override
            public DistributedLock writeLock() {
                return lock;
            }
        };
    }

    /** Strictly increasing within this process, and close to what a store would give. */
    static long nextToken() {
        return TOKENS.updateAndGet(last -> Math.max(last + 1, System.currentTimeMillis() * 1_000));
    }

    /** A lease of nothing: held until it is released. */
    static final class UnlockedLease implements LockEngine.Level {

        private static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);

        private final LockRequest request;
        private final long token;
        private final AtomicBoolean released = new AtomicBoolean();

        UnlockedLease(LockRequest request, long token) {
            this.request = request;
            this.token = token;
        }

        @Override
        public Runnable enterThread() {
            return () -> {};
        }

        @Override
        public String name() {
            return request.names().get(0);
        }

        @Override
        public List<String> names() {
            return request.names();
        }

        @Override
        public LockMode mode() {
            return request.mode();
        }

        @Override
        public long fencingToken() {
            return token;
        }

        @Override
        public long fencingToken(String name) {
            if (!request.names().contains(name)) {
                throw new IllegalArgumentException("This lease holds " + names() + ", not '" + name + "'");
            }
            return token;
        }

        @Override
        public boolean isHeld() {
            return !released.get();
        }

        @Override
        public Duration remaining() {
            return isHeld() ? FOREVER : Duration.ZERO;
        }

        @Override
        public void ensureHeld() {
            if (!isHeld()) {
                throw new LockLostException(name(), token, Duration.ZERO, "it was released");
            }
        }

        @Override
        public boolean verify() {
            return isHeld();
        }

        @Override
        public boolean extend(Duration leaseTime) {
            return request.withLeaseTime(leaseTime).leaseTime() != null && isHeld();
        }

        @Override
        public void onLost(Consumer<LockLostException> callback) {
            // Nothing can be lost; the argument is checked as everywhere.
            Objects.requireNonNull(callback, "callback must not be null");
        }

        @Override
        public ReleaseResult release() {
            return released.compareAndSet(false, true) ? ReleaseResult.RELEASED : ReleaseResult.ALREADY_RELEASED;
        }

        @Override
        public void close() {
            release();
        }
    }
}
