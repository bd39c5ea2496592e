/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockException;
import io.lockkeeper.annotation.DistributedLocked;
import java.util.concurrent.atomic.AtomicBoolean;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs a method that has ended when it returns: on the caller's thread, which waits for the lock. */
final class BlockingExecution implements MethodLockSpec.Execution {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);
    private static final String REACTOR = "reactor.core.scheduler.NonBlocking";
    private static final String NETTY = "io.netty.util.concurrent.FastThreadLocalThread";

    private static final ClassValue<Boolean> MAY_BE_EVENT_LOOP = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> thread) {
            return ResultKind.isOf(thread, REACTOR) || ResultKind.isOf(thread, NETTY);
        }
    };

    private final boolean isOpen;
    private final AtomicBoolean warnedOfThread = new AtomicBoolean();
    private final AtomicBoolean warnedOfResult = new AtomicBoolean();

    BlockingExecution(boolean isOpen) {
        this.isOpen = isOpen;
    }

    @Override
    public @Nullable Object run(MethodLockSpec spec, MethodInvocation call) throws Throwable {
        if (!warnedOfThread.get() && isOnEventLoop() && warnedOfThread.compareAndSet(false, true)) {
            log.warn(
                    "{} was called on the event loop thread '{}', which it blocks while it waits for the lock and runs."
                            + " Return a Mono, Flux or CompletableFuture, or call it on another thread, as with"
                            + " subscribeOn(Schedulers.boundedElastic()). Said once for each method",
                    spec.label(),
                    Thread.currentThread().getName());
        }
        LockedCall locked = new LockedCall(spec, call);
        Object result;
        try {
            result = locked.ask((operations, request) -> {
                operations.run(request, locked::runToEnd);
                return locked.returned();
            });
        } catch (LockException failure) {
            result = locked.withoutLock(failure);
        }
        return warned(result, spec, call);
    }

    private static boolean isOnEventLoop() {
        Class<?> thread = Thread.currentThread().getClass();
        return MAY_BE_EVENT_LOOP.get(thread) && (ResultKind.isOf(thread, REACTOR) || isRunByNettyEventLoop(thread));
    }

    /** Such threads also run timers and the work of pools, which may block. */
    private static boolean isRunByNettyEventLoop(Class<?> thread) {
        try {
            Object executor = Class.forName("io.netty.util.internal.ThreadExecutorMap", false, thread.getClassLoader())
                    .getMethod("currentExecutor")
                    .invoke(null);
            return executor != null && ResultKind.isOf(executor.getClass(), "io.netty.channel.EventLoop");
        } catch (ReflectiveOperationException unknown) {
            return false;
        }
    }

    private @Nullable Object warned(@Nullable Object result, MethodLockSpec spec, MethodInvocation call) {
        Object ongoing = !isOpen || result == null || warnedOfResult.get() ? null : ResultKind.findOngoing(result);
        if (ongoing != null && warnedOfResult.compareAndSet(false, true)) {
            log.warn(
                    "{} returned a {}, which goes on without the lock, because {} is declared as its return type. Declare"
                            + " CompletableFuture, Mono or Flux, and the lock is held until the end. Said once for each"
                            + " method",
                    spec.label(),
                    ongoing.getClass().getSimpleName(),
                    call.getMethod().getReturnType().getSimpleName());
        }
        return result;
    }
}
