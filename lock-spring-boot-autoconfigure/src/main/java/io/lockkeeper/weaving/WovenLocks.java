/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.weaving;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;

/**
 * Where woven classes find the application that locks. A class is woven once for all applications of its class loader, so
 * the one that was attached last locks for all of them.
 */
public final class WovenLocks {

    private static final List<MethodInterceptor> ATTACHED = new ArrayList<>();
    private static final MethodInterceptor CLOSED = call -> {
        Method method = call.getMethod();
        throw new IllegalStateException(method.getDeclaringClass().getName() + "." + method.getName()
                + " was called after the application context had closed, and cannot be locked: end what calls it before"
                + " the context closes");
    };

    /** Null until an application is attached. */
    private static volatile @Nullable MethodInterceptor current;

    private WovenLocks() {}

    /**
     * Lets woven methods run through an interceptor, until it is detached.
     *
     * @param interceptor locks, and proceeds with the call
     */
    public static void attach(MethodInterceptor interceptor) {
        synchronized (ATTACHED) {
            ATTACHED.add(interceptor);
            current = interceptor;
        }
    }

    /**
     * Ends what {@link #attach} began. Where no other interceptor is attached, woven methods throw an {@link
     * IllegalStateException} from now on.
     *
     * @param interceptor what was attached; unknown ones are ignored
     */
    public static void detach(MethodInterceptor interceptor) {
        synchronized (ATTACHED) {
            if (ATTACHED.remove(interceptor)) {
                current = ATTACHED.isEmpty() ? CLOSED : ATTACHED.get(ATTACHED.size() - 1);
            }
        }
    }

    static @Nullable MethodInterceptor interceptor() {
        return current;
    }
}
