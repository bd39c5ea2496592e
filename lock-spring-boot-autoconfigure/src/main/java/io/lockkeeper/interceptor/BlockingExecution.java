/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockedTask;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs a method that has ended when it returns: on the caller's thread, which waits for the lock. */
final class BlockingExecution implements LockedExecution {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

    /** By name, because the libraries may not be there. */
    private static final List<String> EVENT_LOOPS =
            List.of("reactor.core.scheduler.NonBlocking", "io.netty.util.concurrent.FastThreadLocalThread");

    private static final ClassValue<Boolean> IS_EVENT_LOOP = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> thread) {
            return EVENT_LOOPS.stream().anyMatch(name -> ResultKind.isOf(thread, name));
        }
    };

    private final AtomicBoolean warned = new AtomicBoolean();

    @Override
    public @Nullable Object run(MethodLockSpec spec, MethodInvocation call) throws Throwable {
        Thread thread = Thread.currentThread();
        if (IS_EVENT_LOOP.get(thread.getClass()) && !warned.get() && warned.compareAndSet(false, true)) {
            log.warn(
                    "{} was called on the event loop thread '{}', which it blocks while it waits for the lock and runs."
                            + " Return a Mono, Flux or CompletableFuture, or call it on another thread, as with"
                            + " subscribeOn(Schedulers.boundedElastic()). Said once for each method",
                    spec.settings().label(),
                    thread.getName());
        }
        LockRequest request = spec.request(call.getThis(), call.getArguments());
        LockOperations operations = spec.operations().get();
        Body body = new Body(call, spec.onLost());
        GuardedBodies.asks(spec, call);
        try {
            operations.run(request, body);
            return body.result;
        } catch (LockNotAcquiredException | LockStoreException failure) {
            if (body.started) {
                throw failure;
            }
            return withoutLock(spec, call, failure);
        } finally {
            GuardedBodies.hasAsked(spec);
        }
    }

    private static @Nullable Object withoutLock(MethodLockSpec spec, MethodInvocation call, LockException failure)
            throws Throwable {
        if (spec.skips(failure)) {
            return spec.skippedResult();
        }
        Fallback.Candidate instead = spec.fallbackFor(failure);
        if (instead == null) {
            throw failure;
        }
        return instead.invoke(call, call.getArguments(), failure);
    }

    /** The method's body, which remembers that it was started: what fails from then on is the body's own failure. */
    private static final class Body implements LockedTask<Throwable> {

        private final MethodInvocation call;
        private final LossPolicy onLost;
        private boolean started;
        private @Nullable Object result;

        Body(MethodInvocation call, LossPolicy onLost) {
            this.call = call;
            this.onLost = onLost;
        }

        @Override
        public void run(LockLease lease) throws Throwable {
            started = true;
            result = onLost == LossPolicy.REPORT ? call.proceed() : new LossWatch(lease, onLost).run(call);
        }
    }
}
