/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.weaving;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.aopalliance.intercept.MethodInterceptor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where woven classes find the application that locks. A class is woven once for all applications of its class loader,
 * so the one that was attached last locks for all of them.
 */
public final class WovenLocks {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

    /** Methods that were called before an application was attached: whether it weaves is not known until then. */
    private static final Set<String> EARLY = ConcurrentHashMap.newKeySet();

    private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();

    private static final MethodInterceptor NOT_ATTACHED = call -> {
        EARLY.add(name(call.getMethod()));
        return call.proceed();
    };

    private static final MethodInterceptor CLOSED = call -> {
        String name = name(call.getMethod());
        if (WARNED.add(name)) {
            log.warn(
                    "{} was called after the application context that locks woven methods had closed, and runs without a"
                            + " lock, unless a proxy locks it: end what calls it before the context closes. Said once for"
                            + " each method",
                    name);
        }
        return call.proceed();
    };

    /** The last one first, and behind all of them what takes their place: before the first one, and after the last. */
    private static final Deque<MethodInterceptor> ATTACHED = new ConcurrentLinkedDeque<>(List.of(NOT_ATTACHED));

    private WovenLocks() {}

    /**
     * Lets woven methods run through an interceptor, until it is detached. Warns of those that were called before.
     *
     * @param interceptor locks, and proceeds with the call
     */
    public static void attach(MethodInterceptor interceptor) {
        ATTACHED.push(interceptor);
        WARNED.clear();
        if (ATTACHED.remove(NOT_ATTACHED)) {
            ATTACHED.addLast(CLOSED);
        }
        if (!EARLY.isEmpty()) {
            log.warn(
                    "{} ran without a lock, unless a proxy locked them: they were called before the application context that"
                            + " locks woven methods had started. Call them later, as from an ApplicationRunner",
                    new TreeSet<>(EARLY));
            EARLY.clear();
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

    static MethodInterceptor interceptor() {
        return ATTACHED.element();
    }

    private static String name(Method method) {
        return method.getDeclaringClass().getName() + "." + method.getName();
    }
}
