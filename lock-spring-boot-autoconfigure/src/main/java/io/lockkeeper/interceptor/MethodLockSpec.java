/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockException;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.annotation.LossPolicy;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What the annotation of a method means, resolved once.
 *
 * @param names the names, prepared
 * @param settings everything else that is asked for
 * @param constantRequest the request, where it is the same at every call; null where it is not
 * @param skipWhenLocked whether a call is skipped when others hold the lock
 * @param skippedResult what a skipped call returns
 * @param fallback what runs instead; null: nothing
 * @param onLost what happens to a body whose lock is lost
 * @param suspendsTransaction whether the method suspends the transaction of its caller
 * @param operations where to lock
 * @param execution how the method's kind of result is run under a lock
 */
record MethodLockSpec(
        LockNames names,
        LockSettings settings,
        @Nullable LockRequest constantRequest,
        boolean skipWhenLocked,
        @Nullable Object skippedResult,
        @Nullable Fallback fallback,
        LossPolicy onLost,
        boolean suspendsTransaction,
        Supplier<LockOperations> operations,
        LockedExecution execution) {

    /**
     * Returns the request for a call.
     *
     * @param target the bean
     * @param args the arguments of the call
     * @throws IllegalArgumentException if a name cannot be made of them
     */
    LockRequest request(@Nullable Object target, @Nullable Object[] args) {
        return constantRequest != null ? constantRequest : settings.request(names.of(target, args));
    }

    /** Returns whether a call is skipped that has no lock for a given reason; a store that fails is no reason. */
    boolean skips(LockException failure) {
        return skipWhenLocked && failure instanceof LockNotAcquiredException;
    }

    /** Returns what runs instead of a call that has no lock for a given reason; null: the caller gets the reason. */
    Fallback.@Nullable Candidate fallbackFor(LockException failure) {
        return fallback == null ? null : fallback.forFailure(failure).orElse(null);
    }
}
