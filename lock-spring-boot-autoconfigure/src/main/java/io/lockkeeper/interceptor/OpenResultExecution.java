/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.util.concurrent.atomic.AtomicBoolean;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs a method whose return type tells nothing, and warns once where it returns something that goes on without the lock. */
final class OpenResultExecution implements LockedExecution {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

    private final LockedExecution blocking = new BlockingExecution();
    private final AtomicBoolean warned = new AtomicBoolean();

    @Override
    public @Nullable Object run(MethodLockSpec spec, MethodInvocation call) throws Throwable {
        Object result = blocking.run(spec, call);
        Object ongoing = result == null || warned.get() ? null : OngoingResult.find(result);
        if (ongoing != null && warned.compareAndSet(false, true)) {
            log.warn(
                    "{} returned a {}, which goes on without the lock, because {} is declared as its return type. Declare"
                            + " CompletableFuture, Mono or Flux, and the lock is held until the end. Said once for each"
                            + " method",
                    spec.settings().label(),
                    ongoing.getClass().getSimpleName(),
                    call.getMethod().getReturnType().getSimpleName());
        }
        return result;
    }
}
