/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.annotation.LossPolicy;
import java.util.List;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * What the annotation of a method means, resolved once: the request of every call, but for names that are not null,
 * which depend on the call. Times that are null are left to the template.
 */
record MethodLockSpec(
        @Nullable LockNames names,
        LockRequest settings,
        boolean skipWhenLocked,
        @Nullable Object skippedResult,
        @Nullable Fallback fallback,
        LossPolicy onLost,
        boolean suspendsTransaction,
        Supplier<LockOperations> operations,
        Execution execution) {

    interface Execution {

        @Nullable
        Object run(MethodLockSpec spec, MethodInvocation call) throws Throwable;
    }

    /** Makes the request in one step: its methods would copy it each, and cannot leave the delay to the template. */
    LockRequest request(@Nullable Object target, @Nullable Object[] args) {
        return names == null
                ? settings
                : new LockRequest(
                        names.of(target, args),
                        settings.mode(),
                        settings.waitTime(),
                        settings.leaseTime(),
                        settings.retryCount(),
                        settings.retryDelay(),
                        settings.minHoldTime(),
                        settings.label());
    }

    /** Returns the names as a method that takes the same arguments would write them. */
    List<String> written() {
        return names == null ? settings.names() : names.written();
    }
}
