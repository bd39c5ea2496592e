/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/** How a method is run under its lock; chosen by the method's return type when its spec is resolved. */
interface LockedExecution {

    /** Runs a call under the lock, or what the spec says should happen instead. */
    @Nullable
    Object run(MethodLockSpec spec, MethodInvocation call) throws Throwable;
}
