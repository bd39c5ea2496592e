/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.annotation.LossPolicy;
import java.util.Objects;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.interceptor.ExposeInvocationInterceptor;

/** One call of an annotated method. What fails once the body has started is the body's own failure. */
final class LockedCall {

    private final MethodLockSpec spec;
    private final MethodInvocation call;
    private final @Nullable Object[] args;
    private volatile @Nullable LockLease lease;
    private @Nullable LeaseLoss watch;
    private @Nullable Object returned;

    LockedCall(MethodLockSpec spec, MethodInvocation call) {
        this.spec = spec;
        this.call = call;
        this.args = AnnotatedMethod.arguments(call.getMethod(), call.getArguments());
    }

    /** Asks for a lock in one of the forms of the template. */
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

    /** Runs the method; its result may go on when it returns. */
    LockedCall run(LockLease held) throws Throwable {
        lease = held;
        if (spec.onLost() == LossPolicy.REPORT) {
            returned = proceed();
        } else {
            // The method may commit a transaction before it returns: the watch refuses that without the lock.
            watch = new LeaseLoss(held, spec.onLost());
            returned = watch.run(this::proceed);
        }
        return this;
    }

    /** Aspects between here and the method look for the call on their thread, which may not be the caller's. */
    private @Nullable Object proceed() throws Throwable {
        return ExposeInvocationInterceptor.INSTANCE.invoke(call);
    }

    /** Runs a method that has ended when it returns; fails where the lock was lost, and it must not succeed then. */
    void runToEnd(LockLease held) throws Throwable {
        run(held);
        if (watch != null) {
            watch.ensureHeld();
        }
    }

    @Nullable
    Object returned() {
        return returned;
    }

    LockLease lease() {
        return Objects.requireNonNull(lease, "The body has not started");
    }

    /** Returns the loss that takes the place of the result of a body which has ended; null: there is none. */
    @Nullable
    LockLostException loss() {
        return spec.onLost() == LossPolicy.REPORT ? null : LeaseLoss.of(lease());
    }

    boolean hasNoLock(@Nullable Throwable failure) {
        return failure instanceof LockException && lease == null;
    }

    @Nullable
    Object withoutLock(Throwable failure) throws Throwable {
        if (failure instanceof LockException noLock && lease == null) {
            return spec.withoutLock(call, args, noLock);
        }
        throw failure;
    }
}
