/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockedAction;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.interceptor.ExposeInvocationInterceptor;
import org.springframework.util.ClassUtils;

/** One call of an annotated method. What fails once the body has started is the body's own failure. */
final class LockedCall {

    private static final boolean MOCKITO =
            ClassUtils.isPresent("org.mockito.Mockito", LockedCall.class.getClassLoader());

    private final MethodLockSpec spec;
    private final MethodInvocation call;
    private final @Nullable Object[] args;
    private volatile @Nullable LockLease lease;
    private volatile CommitGuard.@Nullable LeaseLoss watch;
    private @Nullable Object returned;

    LockedCall(MethodLockSpec spec, MethodInvocation call) {
        this.spec = spec;
        this.call = call;
        this.args = AnnotatedMethod.arguments(call.getMethod(), call.getArguments());
    }

    interface Question<T extends @Nullable Object, X extends Throwable> {
        T ask(LockOperations operations, LockRequest request) throws X;
    }

    MethodLockSpec spec() {
        return spec;
    }

    MethodInvocation invocation() {
        return call;
    }

    <T extends @Nullable Object, X extends Throwable> T ask(Question<T, X> question) throws X {
        LockRequest request = spec.request(call.getThis(), args);
        LockOperations operations = spec.operations().get();
        CommitGuard.asks(spec, this);
        try {
            return question.ask(operations, request);
        } finally {
            CommitGuard.asks(spec, null);
        }
    }

    /** Holds the lock from the grant, when the body begins, until what it began has ended. Fails through the future. */
    CompletableFuture<Object> hold(
            List<LockLease> enclosing,
            LockedAction<@Nullable Object, Throwable> body,
            Function<@Nullable Object, CompletionStage<Object>> end) {
        try {
            CompletableFuture<Object> held =
                    ask((operations, request) -> operations.executeUntil(request, enclosing, body, end));
            return ofMock(held) ? CompletableFuture.failedFuture(ranNothing()) : held;
        } catch (RuntimeException noRequest) {
            return CompletableFuture.failedFuture(noRequest);
        }
    }

    /** Runs the body. The method may commit a transaction; the watch refuses that without the lock. */
    @Nullable
    Object run(LockLease held) throws Throwable {
        lease = held;
        // A template that asks for no purpose leaves it there, and the body may ask for another lock.
        CommitGuard.asks(spec, null);
        if (spec.onLost() == LossPolicy.REPORT) {
            return proceed(held);
        }
        CommitGuard.LeaseLoss begun = new CommitGuard.LeaseLoss(held, spec.onLost());
        watch = begun;
        return begun.run(this::proceed);
    }

    /** Aspects between here and the method look for the call on their thread, which may not be the caller's. */
    private @Nullable Object proceed(LockLease held) throws Throwable {
        return ExposeInvocationInterceptor.INSTANCE.invoke(call);
    }

    /** Runs a method that has ended when it returns; fails where the lock was lost, and it must not succeed then. */
    private void runToEnd(LockLease held) throws Throwable {
        returned = run(held);
        LockLostException lost = loss();
        if (lost != null) {
            throw lost;
        }
    }

    /** A mock answers with null, with what is done although nothing ran, or with a mock that is never done. */
    private boolean ofMock(@Nullable CompletableFuture<Object> held) {
        return held == null
                || (held.isDone() && !held.isCompletedExceptionally() && lease == null)
                || (MOCKITO && ProxyCheck.isMock(held, LockedCall.class.getClassLoader()));
    }

    private IllegalStateException ranNothing() {
        return new IllegalStateException("The LockTemplate is a mock that runs nothing: "
                + spec.settings().label()
                + " has not run, and returns what cannot be missing. Put LockTemplate.withoutLocking() in its place, which"
                + " runs everything unlocked, or set lockkeeper.store=memory");
    }

    LockLease lease() {
        return Objects.requireNonNull(lease, "The body has not started");
    }

    /** Returns the loss that takes the place of the result of a body which has ended; null: there is none. */
    @Nullable
    LockLostException loss() {
        return watch == null ? null : watch.loss();
    }

    /** Returns what takes the place of a call without a lock; a store that fails is no reason to skip one. */
    @Nullable
    Object withoutLock(Throwable failure) throws Throwable {
        if (!(failure instanceof LockException noLock) || lease != null) {
            throw failure;
        }
        if (spec.skipWhenLocked() && noLock instanceof LockNotAcquiredException) {
            return spec.skippedResult();
        }
        if (spec.fallback() == null) {
            throw failure;
        }
        return spec.fallback().run(call, args, noLock);
    }

    /** Runs a method that has ended when it returns: on the caller's thread, which waits for the lock. */
    static final class BlockingExecution implements MethodLockSpec.Execution {

        private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);
        private static final Set<String> REACTOR = Set.of("reactor.core.scheduler.NonBlocking");
        private static final Set<String> NETTY = Set.of("io.netty.util.concurrent.FastThreadLocalThread");

        private static final ClassValue<Boolean> MAY_BE_EVENT_LOOP = new ClassValue<>() {
            @Override
            protected Boolean computeValue(Class<?> thread) {
                return ResultKind.isOf(thread, REACTOR) || ResultKind.isOf(thread, NETTY);
            }
        };

        private final ResultKind.@Nullable OpenType open;
        private final AtomicBoolean warnedOfThread = new AtomicBoolean();

        BlockingExecution(ResultKind.@Nullable OpenType open) {
            this.open = open;
        }

        @Override
        public @Nullable Object run(MethodLockSpec spec, MethodInvocation call) throws Throwable {
            if (!warnedOfThread.get() && isOnEventLoop() && warnedOfThread.compareAndSet(false, true)) {
                log.warn(
                        "{} was called on the event loop thread '{}', which it blocks while it waits for the lock and runs."
                                + " Return a Mono, Flux or CompletableFuture, or call it on another thread, as with"
                                + " subscribeOn(Schedulers.boundedElastic()). Said once for each method",
                        spec.settings().label(),
                        Thread.currentThread().getName());
            }
            LockedCall locked = new LockedCall(spec, call);
            Object result;
            try {
                result = locked.ask((operations, request) -> {
                    operations.run(request, locked::runToEnd);
                    if (locked.lease == null && isNeverNull(call)) {
                        throw locked.ranNothing();
                    }
                    return locked.returned;
                });
            } catch (LockException failure) {
                result = locked.withoutLock(failure);
            }
            if (open != null) {
                open.look(result, spec);
            }
            return result;
        }

        private static boolean isNeverNull(MethodInvocation call) {
            Class<?> type = call.getMethod().getReturnType();
            return type.isPrimitive() && type != void.class;
        }

        private static boolean isOnEventLoop() {
            Class<?> thread = Thread.currentThread().getClass();
            return MAY_BE_EVENT_LOOP.get(thread) && (ResultKind.isOf(thread, REACTOR) || isRunByNettyEventLoop(thread));
        }

        /** Such threads also run timers and the work of pools, which may block. */
        private static boolean isRunByNettyEventLoop(Class<?> thread) {
            try {
                Object executor = Class.forName(
                                "io.netty.util.internal.ThreadExecutorMap", false, thread.getClassLoader())
                        .getMethod("currentExecutor")
                        .invoke(null);
                return executor != null && ResultKind.isOf(executor.getClass(), Set.of("io.netty.channel.EventLoop"));
            } catch (ReflectiveOperationException unknown) {
                return false;
            }
        }
    }

    /** Runs a method that returns a stage: held until the stage is completed, without a thread that waits. */
    static CompletableFuture<Object> runStage(
            MethodLockSpec spec, MethodInvocation call, ResultKind.@Nullable OpenType open) {
        LockedCall locked = new LockedCall(spec, call);
        CompletableFuture<Object> body =
                locked.hold(List.of(), locked::run, returned -> watch(stage(returned), locked, open));
        return spec.skipWhenLocked() || spec.fallback() != null ? orInstead(body, locked) : body;
    }

    /** A method that returns null instead of a stage has ended. */
    @SuppressWarnings({"unchecked", "NullAway"}) // The method's return type says so.
    private static CompletionStage<Object> stage(@Nullable Object returned) {
        return returned == null ? CompletableFuture.completedFuture(null) : (CompletionStage<Object>) returned;
    }

    private static CompletableFuture<Object> orInstead(CompletableFuture<Object> body, LockedCall locked) {
        CompletableFuture<Object> result = new CompletableFuture<>();
        body.whenComplete((value, failure) -> {
            if (failure == null || result.isDone()) {
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
    private static CompletionStage<Object> watch(
            CompletionStage<Object> work, LockedCall locked, ResultKind.@Nullable OpenType open) {
        LossPolicy onLost = locked.spec().onLost();
        if (onLost == LossPolicy.REPORT && open == null) {
            return work;
        }
        CompletableFuture<Object> watched = new CompletableFuture<>() {
            @Override
            public boolean cancel(boolean mayInterrupt) {
                boolean cancelled = super.cancel(mayInterrupt);
                if (cancelled) {
                    // Where a loss came first, it ends the work itself.
                    LockedCall.cancel(work);
                }
                return cancelled;
            }
        };
        work.whenComplete((value, failure) -> {
            LockLostException lost = locked.loss();
            if (open != null) {
                open.look(value, locked.spec());
            }
            if (failure != null) {
                Throwable cause = failure instanceof CompletionException ? failure.getCause() : null;
                CommitGuard.LeaseLoss.addTo(cause == null ? failure : cause, lost);
            }
            complete(watched, value, failure == null ? lost : failure);
        });
        if (onLost == LossPolicy.INTERRUPT) {
            locked.lease().onLost(lost -> endOnLoss(work, watched, lost));
        }
        return watched;
    }

    private static void endOnLoss(
            CompletionStage<Object> work, CompletableFuture<Object> watched, LockLostException lost) {
        // Asked first: who hears of the loss may wait for the work from then on.
        boolean isShared = isShared(work);
        watched.completeExceptionally(new LockLostException(lost));
        // The work itself hears of the loss where it looks at its own future.
        if (!isShared && work instanceof CompletableFuture<?> future) {
            future.completeExceptionally(new LockLostException(lost));
        } else if (!isShared) {
            cancel(work);
        }
    }

    private static void cancel(CompletionStage<?> stage) {
        if (stage instanceof Future<?> work && !isShared(stage) && !work.isDone()) {
            work.cancel(true);
        }
    }

    /** Returns whether a stage is not for one call to end: others wait for it, too, or only its maker completes it. */
    private static boolean isShared(CompletionStage<?> stage) {
        try {
            return stage instanceof CompletableFuture<?> future && future.getNumberOfDependents() > 1;
        } catch (UnsupportedOperationException minimal) {
            return true;
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
