/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import kotlin.coroutines.AbstractCoroutineContextElement;
import kotlin.coroutines.Continuation;
import kotlin.coroutines.CoroutineContext;
import kotlinx.coroutines.Job;
import kotlinx.coroutines.ThreadContextElement;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.springframework.core.CoroutinesUtils;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;

/** Methods as their source in Kotlin declares them: without the continuation that a suspend function takes at the end. */
final class SuspendingMethods {

    /** Whether everything is there with which Spring runs suspend functions. */
    static final boolean RUNNABLE =
            ClassUtils.isPresent("kotlinx.coroutines.reactor.MonoKt", SuspendingMethods.class.getClassLoader())
                    && KotlinDetector.isKotlinReflectPresent();

    private SuspendingMethods() {}

    static boolean isSuspending(Method method) {
        return KotlinDetector.isSuspendingFunction(method);
    }

    static int parameterCount(Method method) {
        return method.getParameterCount() - (isSuspending(method) ? 1 : 0);
    }

    static Class<?>[] parameterTypes(Method method) {
        return Arrays.copyOf(method.getParameterTypes(), parameterCount(method));
    }

    /** Returns the type of the value, not that of a function which may be suspended before it has one. */
    static ResolvableType resultType(Method method, Class<?> type) {
        return isSuspending(method)
                ? ResolvableType.forType(new MethodParameter(method, -1).getGenericParameterType())
                : ResolvableType.forMethodReturnType(method, type);
    }

    /** Returns whether the type of the value has a question mark. */
    static boolean mayReturnNull(Method method) {
        return new MethodParameter(method, -1).isOptional();
    }

    static @Nullable Object[] arguments(Method method, @Nullable Object[] all) {
        return isSuspending(method) ? Arrays.copyOf(all, all.length - 1) : all;
    }

    /** Puts whichever thread runs a coroutine under leases, while it does. Only loaded where Kotlin is there. */
    static final class Coroutine extends AbstractCoroutineContextElement
            implements ThreadContextElement<List<Runnable>> {

        private static final CoroutineContext.Key<Coroutine> KEY = new CoroutineContext.Key<>() {};

        private final List<LockLease> leases;

        private Coroutine(List<LockLease> leases) {
            super(KEY);
            this.leases = leases;
        }

        /** Lets the coroutine of a call run under leases, the innermost last: replaces the last argument. */
        static void enter(@Nullable Object[] args, List<LockLease> leases) {
            int last = args.length - 1;
            if (args[last] instanceof Continuation<?> caller) {
                args[last] = new Caller<>(caller, caller.getContext().plus(new Coroutine(leases)));
            }
        }

        /** Calls a suspend function in the context of the caller, whose continuation is the last argument. */
        @SuppressWarnings("NullAway") // Arguments may be null there, and the bean of a proxied call is not.
        static Publisher<?> call(Method function, @Nullable Object bean, @Nullable Object[] args) {
            CoroutineContext context = ((Continuation<?>) args[args.length - 1]).getContext();
            return CoroutinesUtils.invokeSuspendingFunction(context.minusKey(Job.Key), function, bean, args);
        }

        @Override
        public List<Runnable> updateThreadContext(CoroutineContext context) {
            return leases.stream().map(LockContext::enterThread).toList();
        }

        @Override
        public void restoreThreadContext(CoroutineContext context, List<Runnable> leave) {
            for (int i = leave.size() - 1; i >= 0; i--) {
                leave.get(i).run();
            }
        }

        /** The caller, in whose context the coroutine of the body begins. */
        private record Caller<T>(Continuation<T> continuation, CoroutineContext context) implements Continuation<T> {

            @Override
            public CoroutineContext getContext() {
                return context;
            }

            @Override
            public void resumeWith(Object result) {
                continuation.resumeWith(result);
            }
        }
    }
}
