/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.lang.reflect.Method;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;

/** Methods as their source in Kotlin declares them: without the continuation that a suspend function takes at the end. */
final class SuspendingMethods {

    private static final boolean RUNNABLE =
            ClassUtils.isPresent("kotlinx.coroutines.reactor.MonoKt", SuspendingMethods.class.getClassLoader())
                    && KotlinDetector.isKotlinReflectPresent();

    private SuspendingMethods() {}

    static boolean isSuspending(Method method) {
        return KotlinDetector.isSuspendingFunction(method);
    }

    /** Returns whether everything is there with which Spring runs suspend functions. */
    static boolean areRunnable() {
        return RUNNABLE;
    }

    static int parameterCount(Method method) {
        return method.getParameterCount() - (isSuspending(method) ? 1 : 0);
    }

    static Class<?>[] parameterTypes(Method method) {
        return Arrays.copyOf(method.getParameterTypes(), parameterCount(method));
    }

    /** Returns the type of the value, not that of a function which may be suspended before it has one. */
    static ResolvableType resultType(Method method) {
        return ResolvableType.forType(new MethodParameter(method, -1).getGenericParameterType());
    }

    /** Returns whether the type of the value has a question mark. */
    static boolean mayReturnNull(Method method) {
        return new MethodParameter(method, -1).isOptional();
    }

    /** Returns the arguments of a call without the continuation. */
    static @Nullable Object[] arguments(Method method, @Nullable Object[] all) {
        return isSuspending(method) ? Arrays.copyOf(all, all.length - 1) : all;
    }
}
