/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockException;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockStoreException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.util.ClassUtils;

/**
 * What runs instead of a method whose lock was not acquired.
 *
 * @param candidates the methods that may run, the most specific one first
 */
record Fallback(List<Candidate> candidates) {

    /** Makes a fallback of methods that fit, in any order. */
    Fallback {
        candidates = candidates.stream()
                .sorted(Comparator.comparingInt(Candidate::depth).reversed())
                .toList();
    }

    /** Returns the most specific method for a failure; empty where the caller gets the failure. */
    Optional<Candidate> forFailure(LockException failure) {
        return candidates.stream()
                .filter(candidate -> candidate.handles(failure))
                .findFirst();
    }

    /**
     * A method that may run.
     *
     * @param method the method, accessible
     * @param failureType the type of the exception that it takes after the arguments; null where it takes none
     */
    record Candidate(Method method, @Nullable Class<?> failureType) {

        /** Returns whether an exception of this type can ever be handed over. */
        static boolean canTake(Class<?> failureType) {
            return (Throwable.class.isAssignableFrom(failureType)
                            && failureType.isAssignableFrom(LockNotAcquiredException.class))
                    || failureType == LockStoreException.class;
        }

        private boolean handles(LockException failure) {
            if (failureType == null) {
                return failure instanceof LockNotAcquiredException;
            }
            // A failing store is no answer to who holds the lock: only those who ask for it by name get it.
            return failure instanceof LockStoreException
                    ? failureType == LockStoreException.class || failureType == LockException.class
                    : failure instanceof LockNotAcquiredException && failureType.isInstance(failure);
        }

        /** Returns the arguments of a call, and the failure where the method takes it. */
        @Nullable
        Object[] arguments(@Nullable Object[] args, LockException failure) {
            if (failureType == null) {
                return args;
            }
            @Nullable Object[] all = Arrays.copyOf(args, args.length + 1);
            all[args.length] = failure;
            return all;
        }

        private int depth() {
            int depth = 0;
            for (Class<?> type = failureType; type != null; type = type.getSuperclass()) {
                depth++;
            }
            return depth;
        }

        /**
         * Runs the method, through the proxy of the bean where that can call it: the method may have advice of its own.
         *
         * @param call the call of the annotated method
         * @param args its arguments
         * @param failure why the lock was not acquired
         * @return what it returns
         * @throws Throwable what it throws, unchanged
         */
        @Nullable
        Object invoke(MethodInvocation call, @Nullable Object[] args, LockException failure) throws Throwable {
            Object proxy = call instanceof ProxyMethodInvocation proxied ? proxied.getProxy() : null;
            Method callable = proxy == null ? null : callable(proxy);
            try {
                return callable == null
                        ? method.invoke(call.getThis(), arguments(args, failure))
                        : callable.invoke(proxy, arguments(args, failure));
            } catch (InvocationTargetException thrown) {
                throw thrown.getTargetException();
            }
        }

        /** Returns the method by which a proxy calls this one; null where it would run on the proxy itself, without advice. */
        @Nullable
        Method callable(Object proxy) {
            if (AopUtils.isJdkDynamicProxy(proxy)) {
                Method declared = ClassUtils.getInterfaceMethodIfPossible(method, AopUtils.getTargetClass(proxy));
                return declared.getDeclaringClass().isInstance(proxy) ? declared : null;
            }
            int modifiers = method.getModifiers();
            Class<?> type = method.getDeclaringClass();
            boolean visible = Modifier.isPublic(modifiers)
                    || Modifier.isProtected(modifiers)
                    || (!Modifier.isPrivate(modifiers) && MethodCheck.isSamePackage(type, proxy.getClass()));
            boolean overridden = visible && !Modifier.isStatic(modifiers) && !Modifier.isFinal(modifiers);
            return overridden && AopUtils.isCglibProxy(proxy) && type.isInstance(proxy) ? method : null;
        }
    }
}
