/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import io.lockkeeper.engine.LeaseManager;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The bean that users inject: runs work under distributed locks. Safe for use by any number of threads.
 *
 * <p>Made with {@link #builder(LockStore)}; in an application with the starter it is there already.
 */
public final class LockTemplate implements LockOperations, AutoCloseable {

    private final ReentrantHolds holds;
    private final @Nullable LockStore store;
    private final Duration waitTime;
    private final Duration leaseTime;
    private final Duration retryDelay;
    private final UnaryOperator<Runnable> decorator;

    private LockTemplate(Builder builder, LockManager manager) {
        this.holds = new ReentrantHolds(manager, builder.interceptor);
        this.store = builder.store;
        this.waitTime = builder.waitTime;
        this.leaseTime = builder.leaseTime;
        this.retryDelay = builder.retryDelay;
        this.decorator = builder.decorator;
    }

    /** Starts to build a template over a store, which serves no other template and is closed by this one. */
    public static Builder builder(LockStore store) {
        return new Builder(Objects.requireNonNull(store, "store must not be null"));
    }

    /**
     * Returns a template for applications that run without locking: every caller gets every lock at once, any number of
     * callers together, with fencing tokens of the local clock. Nothing is lost or refused; it needs no {@link #close()}.
     */
    public static LockTemplate withoutLocking() {
        return new LockTemplate(new Builder(null).waitTime(Duration.ZERO), new UnlockedManager());
    }

    /** Returns where the locks are kept, which belongs to this template; empty for {@link #withoutLocking()}. */
    public Optional<LockStore> store() {
        return Optional.ofNullable(store);
    }

    /**
     * Checks whether the store can do at all what a request asks for. Does not ask the store.
     *
     * @throws IllegalArgumentException if a time is longer than the store permits: than the lease time of this template
     *     on a quorum
     * @throws UnsupportedOperationException if the store does not have the mode: others than EXCLUSIVE on a quorum
     */
    public void check(LockRequest request) {
        holds.manager.check(request);
    }

    /** Returns how long a request waits that does not say; zero: it tries once. */
    public Duration waitTime() {
        return waitTime;
    }

    /** Returns the lease of holds that are renewed. */
    public Duration leaseTime() {
        return leaseTime;
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
        CompletableFuture<LockLease> result = new AcquiredLease.ToCome();
        LockRequest complete = complete(request, waitTime);
        holds.acquireAsync(complete, result, AcquiredLease.ofThisCaller(complete));
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

    /** Runs a body, which is over when the release begins. */
    private static <T extends @Nullable Object, X extends Throwable> T run(NestedLease level, LockedAction<T, X> action)
            throws X {
        return NestedLease.run(level, lease -> level.run(action), level::close);
    }

    @Override
    public <T extends @Nullable Object> CompletableFuture<T> executeAsync(
            LockRequest request, Function<LockLease, ? extends CompletionStage<T>> action) {
        LockRequest complete = complete(request, waitTime);
        CompletableFuture<LockLease> acquisition = new CompletableFuture<>();
        CompletableFuture<T> result =
                new AsyncExecution<>(holds.manager, action::apply, decorator, false).run(acquisition);
        holds.acquireAsync(complete, acquisition, lease -> lease);
        return result;
    }

    @Override
    public <B extends @Nullable Object, T extends @Nullable Object> CompletableFuture<T> executeUntil(
            LockRequest request,
            Collection<? extends LockLease> enclosing,
            LockedAction<? extends B, ?> action,
            Function<? super B, ? extends @Nullable CompletionStage<T>> end) {
        try {
            return new AsyncExecution<>(
                            holds.manager, lease -> end.apply(((NestedLease) lease).run(action)), decorator, true)
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

    /** Returns the inspector of the locks in this template's store. */
    public LockInspector inspector() {
        return holds.manager.inspector();
    }

    /**
     * Refuses new work, waits for work that holds locks, releases what is left and closes the store. Idempotent. After
     * the {@link Builder#shutdownWait} it takes a few command timeouts at most, whatever the store does.
     */
    @Override
    public void close() {
        // Not waited for: this thread is inside of them, however it came there, and cannot end them.
        holds.known(holds.self()).levels().forEach(level -> level.leases().forEach(LockManager.Lease::receivedHere));
        holds.manager.close();
    }

    @Override
    public String toString() {
        return "LockTemplate[" + holds.manager + "]";
    }

    /**
     * Builds a {@link LockTemplate}. Every setting has a default; a value out of range is refused at once, with an
     * {@link IllegalArgumentException}.
     */
    public static final class Builder {

        private static final Duration MIN_LEASE = Duration.ofSeconds(1);

        private final @Nullable LockStore store;
        private final List<LockListener> listeners = new ArrayList<>();
        private Duration waitTime = Duration.ofSeconds(60);
        private Duration leaseTime = Duration.ofSeconds(30);
        private Duration retryDelay = Duration.ofMillis(100);
        private int maxPasses = 16;
        private Duration maxPassTime = Duration.ofMillis(50);
        private Duration shutdownWait = Duration.ofSeconds(25);
        private String instanceName = "";
        private String serviceName = "";
        private @Nullable Executor executor;
        private UnaryOperator<Runnable> decorator = body -> body;
        private @Nullable AcquisitionInterceptor interceptor;

        private Builder(@Nullable LockStore store) {
            this.store = store;
        }

        /** Sets how long a request waits that does not say; 60 s unless set; zero: try once. */
        public Builder waitTime(Duration waitTime) {
            this.waitTime = notNegative("wait time", waitTime);
            return this;
        }

        /**
         * Sets the lease of holds that are renewed, every third of it; 1 s or more, 30 s unless set. A crashed holder
         * blocks others so long.
         */
        public Builder leaseTime(Duration leaseTime) {
            if (leaseTime.compareTo(MIN_LEASE) < 0) {
                throw new IllegalArgumentException("The lease time must be 1 s or more, but is " + leaseTime
                        + ": it is renewed every third of it, and a shorter one would be lost at the first pause");
            }
            this.leaseTime = leaseTime;
            return this;
        }

        /** Sets the delay between attempts of a request that does not say it; at least 1 ms, 100 ms unless set. */
        public Builder retryDelay(Duration retryDelay) {
            if (retryDelay.compareTo(LockRequest.MIN_RETRY_DELAY) < 0) {
                throw new IllegalArgumentException("The retry delay must be 1 ms or more, but is " + retryDelay);
            }
            this.retryDelay = retryDelay;
            return this;
        }

        /**
         * Sets how long an exclusive lock may stay with the callers of this instance while other instances wait.
         *
         * @param maxPasses how often it passes on locally, 0 to 9,999; 16 unless set
         * @param maxTime for how long it passes on locally; 50 ms unless set
         */
        public Builder handover(int maxPasses, Duration maxTime) {
            if (maxPasses < 0 || maxPasses > 9_999) {
                throw new IllegalArgumentException(
                        "The number of local passes must be between 0 and 9,999, but is " + maxPasses);
            }
            this.maxPasses = maxPasses;
            this.maxPassTime = notNegative("time of local passes", maxTime);
            return this;
        }

        /** Sets how long {@link LockTemplate#close()} waits for work that holds locks; 25 s unless set. */
        public Builder shutdownWait(Duration shutdownWait) {
            this.shutdownWait = notNegative("shutdown wait", shutdownWait);
            return this;
        }

        /** Sets the name under which this instance is shown as a holder or waiter; empty unless set. */
        public Builder instanceName(String instanceName) {
            this.instanceName = Objects.requireNonNull(instanceName, "instanceName must not be null");
            return this;
        }

        /** Sets the name that all instances of the application have if theirs differ; the instance name unless set. */
        public Builder serviceName(String serviceName) {
            this.serviceName = Objects.requireNonNull(serviceName, "serviceName must not be null");
            return this;
        }

        /**
         * Sets where the callbacks of losses run, and what depends on the futures of
         * {@link LockTemplate#acquireAsync} and {@link LockTemplate#executeAsync}. It must have threads of its own: a
         * task on the calling thread would block the answers of the store. Unless set, daemon threads of the template:
         * four, more where callbacks block, and losses come first. What a set executor refuses, with whatever exception
         * or error, runs on such threads too.
         */
        public Builder executor(Executor executor) {
            this.executor = Objects.requireNonNull(executor, "executor must not be null");
            return this;
        }

        /**
         * Sets what gives the body of an asynchronous form the context of its caller, such as that of its log. Called
         * on the thread of the call; what it returns runs the body once, where that does not begin on the caller's
         * thread. What it throws after the body is logged. Unless set, bodies run as they are.
         */
        public Builder taskDecorator(UnaryOperator<Runnable> decorator) {
            this.decorator = Objects.requireNonNull(decorator, "decorator must not be null");
            return this;
        }

        /** Adds a listener, which hears what happens; an exception from it is logged and has no other effect. */
        public Builder listener(LockListener listener) {
            listeners.add(Objects.requireNonNull(listener, "listener must not be null"));
            return this;
        }

        /**
         * Sets what is asked before each acquisition, and may refuse it or hold the lock on beyond its release. All
         * forms then enter a lock again that is held on, also those that give a lease of their own. None unless set.
         */
        public Builder interceptor(AcquisitionInterceptor interceptor) {
            this.interceptor = Objects.requireNonNull(interceptor, "interceptor must not be null");
            return this;
        }

        /**
         * Builds the template and opens the store.
         *
         * @throws IllegalStateException if the store serves another template already
         */
        public LockTemplate build() {
            Executor callbacks = executor == null ? new CallbackExecutor() : executor;
            LockManager.Settings settings = new LockManager.Settings(
                    leaseTime,
                    maxPasses,
                    maxPassTime,
                    shutdownWait,
                    instanceName,
                    serviceName,
                    callbacks,
                    new SafeLockListener(List.copyOf(listeners)));
            return new LockTemplate(this, LeaseManager.create(Objects.requireNonNull(store), settings));
        }

        private static Duration notNegative(String what, Duration time) {
            if (time.isNegative()) {
                throw new IllegalArgumentException("The " + what + " must not be negative, but is " + time);
            }
            return time;
        }
    }
}
