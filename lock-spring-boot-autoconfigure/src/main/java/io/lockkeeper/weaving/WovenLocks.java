/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.weaving;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import java.util.Deque;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where woven classes find the application that locks. A class is woven once for all applications of its class loader,
 * so the one that was attached last locks for all of them.
 */
public final class WovenLocks {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

    /** The last one first; empty until an application is attached. */
    private static final Deque<MethodInterceptor> ATTACHED = new ConcurrentLinkedDeque<>();

    private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();
    private static final MethodInterceptor CLOSED = call -> {
        Method method = call.getMethod();
        String name = method.getDeclaringClass().getName() + "." + method.getName();
        if (WARNED.add(name)) {
            log.warn(
                    "{} was called after the application context that locks woven methods had closed, and runs without a"
                            + " lock, unless a proxy locks it: end what calls it before the context closes. Said once for"
                            + " each method",
                    name);
        }
        return call.proceed();
    };

    private WovenLocks() {}

    /**
     * Lets woven methods run through an interceptor, until it is detached.
     *
     * @param interceptor locks, and proceeds with the call
     */
    public static void attach(MethodInterceptor interceptor) {
        ATTACHED.push(interceptor);
        WARNED.clear();
        if (ATTACHED.peekLast() != CLOSED) {
            ATTACHED.addLast(CLOSED);
        }
    }

    /**
     * Ends what {@link #attach} began. Where no other interceptor is attached, woven methods run without a lock from
     * now on, and a warning says so once for each.
     *
     * @param interceptor what was attached; unknown ones are ignored
     */
    public static void detach(MethodInterceptor interceptor) {
        ATTACHED.remove(interceptor);
    }

    static @Nullable MethodInterceptor interceptor() {
        return ATTACHED.peek();
    }
}
