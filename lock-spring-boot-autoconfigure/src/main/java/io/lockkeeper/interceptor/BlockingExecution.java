/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockedTask;
import io.lockkeeper.annotation.LossPolicy;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/** Runs a method that has ended when it returns: on the caller's thread, which waits for the lock. */
final class BlockingExecution implements LockedExecution {

    @Override
    public @Nullable Object run(MethodLockSpec spec, MethodInvocation call) throws Throwable {
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
