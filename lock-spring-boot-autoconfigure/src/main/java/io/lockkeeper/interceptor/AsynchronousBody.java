/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockedAction;
import io.lockkeeper.annotation.LossPolicy;
import java.util.function.Consumer;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.interceptor.ExposeInvocationInterceptor;

/**
 * The part of an asynchronous method that runs before it returns. It remembers that it was started: what fails from then
 * on is the body's own failure.
 */
final class AsynchronousBody implements LockedAction<AsynchronousBody.Begun, Throwable> {

    private final MethodInvocation call;
    private final LossPolicy onLost;
    private final Consumer<LockLease> prepare;
    private volatile boolean started;

    /**
     * Creates the body of one call.
     *
     * @param call what goes on
     * @param onLost what happens to it when its lock is lost
     * @param prepare called with the lease before it goes on
     */
    AsynchronousBody(MethodInvocation call, LossPolicy onLost, Consumer<LockLease> prepare) {
        this.call = call;
        this.onLost = onLost;
        this.prepare = prepare;
    }

    boolean isStarted() {
        return started;
    }

    @Override
    public Begun run(LockLease lease) throws Throwable {
        started = true;
        prepare.accept(lease);
        // The method may commit a transaction before it returns: the watch refuses that without the lock.
        Object returned = onLost == LossPolicy.REPORT ? proceed() : new LossWatch(lease, onLost).begin(this::proceed);
        return new Begun(returned, lease);
    }

    /** Aspects between here and the method look for the call on their thread, which may not be the caller's. */
    private @Nullable Object proceed() throws Throwable {
        return ExposeInvocationInterceptor.INSTANCE.invoke(call);
    }

    /**
     * What goes on after the method.
     *
     * @param returned what the method returned
     * @param lease under which it goes on
     */
    record Begun(@Nullable Object returned, LockLease lease) {}
}
