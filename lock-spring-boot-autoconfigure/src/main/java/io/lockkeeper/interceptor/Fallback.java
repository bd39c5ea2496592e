/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockException;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockStoreException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.BridgeMethodResolver;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** What may run instead of a method whose lock was not acquired, the method for the most specific failure first. */
record Fallback(List<Candidate> candidates) {

    static final String ATTRIBUTE = "fallbackMethod";

    /** Finds the fallback of this name; null where the name is empty, or after a fault. */
    static @Nullable Fallback find(AnnotatedMethod owner, String name, Faults faults) {
        if (name.isEmpty()) {
            return null;
        }
        boolean suspending = AnnotatedMethod.isSuspending(owner.method());
        List<Method> named = methods(owner)
                .filter(method -> method.getName().equals(name)
                        || AnnotatedMethod.sourceName(method).equals(name))
                .filter(method -> suspending || !AnnotatedMethod.isSuspending(method))
                .toList();
        List<Candidate> candidates = named.stream()
                .flatMap(method -> candidate(method, owner))
                .sorted(Comparator.comparingInt(Candidate::depth).reversed())
                .toList();
        String remedy = "Write one of: "
                + Stream.of("", "LockNotAcquiredException", "LockStoreException", "LockException")
                        .map(failure -> fitting(owner, name, failure))
                        .collect(Collectors.joining("; "));
        if (candidates.isEmpty()) {
            faults.add(ATTRIBUTE, missing(owner, name, named), remedy);
            return null;
        }
        Class<?> needed = returnType(owner.method(), owner);
        for (Candidate candidate : candidates) {
            Method method = candidate.method();
            if (!fits(returnType(method, owner), needed)) {
                String returned = method.getReturnType().getSimpleName() + " where " + needed.getSimpleName();
                faults.add(
                        ATTRIBUTE, AnnotatedMethod.signature(method) + " returns " + returned + " is needed", remedy);
                return null;
            }
        }
        return new Fallback(candidates);
    }

    private static Stream<Method> methods(AnnotatedMethod owner) {
        // A class that is public below one that is not has methods that only lead to those of that one.
        return Arrays.stream(ReflectionUtils.getUniqueDeclaredMethods(owner.targetClass()))
                .map(BridgeMethodResolver::findBridgedMethod)
                .distinct()
                .filter(method -> !method.isSynthetic() && !method.equals(owner.method()));
    }

    private static Stream<Candidate> candidate(Method method, AnnotatedMethod owner) {
        Class<?>[] needed = parameterTypes(owner.method(), owner);
        Class<?>[] types = parameterTypes(method, owner);
        Class<?> failure = types.length == needed.length + 1 ? types[needed.length] : null;
        boolean fits = failure == null ? types.length == needed.length : Candidate.canTake(failure);
        return fits && Arrays.equals(types, 0, needed.length, needed, 0, needed.length)
                ? Stream.of(new Candidate(method, failure))
                : Stream.empty();
    }

    private static boolean fits(Class<?> type, Class<?> needed) {
        return needed == void.class
                || (needed == Void.class && type == void.class)
                || (type != void.class && ClassUtils.isAssignable(needed, type));
    }

    private static String missing(AnnotatedMethod owner, String name, List<Method> named) {
        if (named.isEmpty() && owner.method().getName().equals(name)) {
            return owner.signature() + " is the annotated method itself";
        }
        if (named.isEmpty()) {
            Stream<String> names = methods(owner)
                    .filter(method -> method.getDeclaringClass() != Object.class)
                    .map(AnnotatedMethod::sourceName);
            return "there is no method '" + name + "' in " + owner.targetClass().getSimpleName() + " or above it"
                    + Faults.similar(name, names);
        }
        return named.stream().map(AnnotatedMethod::signature).collect(Collectors.joining(", "))
                + (named.size() == 1 ? " has" : " have") + " other parameters than " + owner.signature();
    }

    private static String fitting(AnnotatedMethod owner, String name, String failure) {
        Stream<String> types =
                Arrays.stream(parameterTypes(owner.method(), owner)).map(Class::getSimpleName);
        return Stream.concat(types, Stream.of(failure).filter(type -> !type.isEmpty()))
                .collect(Collectors.joining(
                        ", ", returnType(owner.method(), owner).getSimpleName() + " " + name + "(", ")"));
    }

    private static Class<?>[] parameterTypes(Method method, AnnotatedMethod owner) {
        return IntStream.range(0, AnnotatedMethod.parameterCount(method))
                .mapToObj(index -> ResolvableType.forMethodParameter(method, index, owner.targetClass())
                        .resolve(method.getParameterTypes()[index]))
                .toArray(Class<?>[]::new);
    }

    private static Class<?> returnType(Method method, AnnotatedMethod owner) {
        return AnnotatedMethod.resultType(method, owner.targetClass()).resolve(method.getReturnType());
    }

    /** Runs what is there for a failure; throws the failure where there is nothing. */
    @Nullable
    Object run(MethodInvocation call, @Nullable Object[] args, LockException failure) throws Throwable {
        for (Candidate candidate : candidates) {
            if (candidate.handles(failure)) {
                return candidate.invoke(call, args, failure);
            }
        }
        throw failure;
    }

    /** A method that may run, and the type of the exception that it takes after the arguments, if any. */
    record Candidate(Method method, @Nullable Class<?> failureType) {

        private static boolean canTake(Class<?> failureType) {
            return (Throwable.class.isAssignableFrom(failureType)
                            && failureType.isAssignableFrom(LockNotAcquiredException.class))
                    || failureType == LockStoreException.class;
        }

        private boolean handles(LockException failure) {
            // A failing store is no answer to who holds the lock: only those who ask for it by name get it.
            return failure instanceof LockStoreException
                    ? failureType == LockStoreException.class || failureType == LockException.class
                    : failure instanceof LockNotAcquiredException
                            && (failureType == null || failureType.isInstance(failure));
        }

        private int depth() {
            return (int) Stream.<Class<?>>iterate(failureType, type -> type != null, Class::getSuperclass)
                    .count();
        }

        /** Runs the method, through the proxy of the bean where that can call it: it may have advice of its own. */
        @SuppressWarnings("NullAway") // Arguments may be null there.
        private @Nullable Object invoke(MethodInvocation call, @Nullable Object[] args, LockException failure)
                throws Throwable {
            @Nullable Object[] all = Arrays.copyOf(args, method.getParameterCount());
            if (failureType != null) {
                all[args.length] = failure;
            }
            Object proxy = call instanceof ProxyMethodInvocation proxied ? proxied.getProxy() : null;
            Method declared = proxy == null ? null : callable(proxy);
            if (AnnotatedMethod.isSuspending(method)) {
                all[all.length - 1] = call.getArguments()[call.getArguments().length - 1];
            }
            return declared == null
                    ? AopUtils.invokeJoinpointUsingReflection(call.getThis(), method, all)
                    : AopUtils.invokeJoinpointUsingReflection(proxy, declared, all);
        }

        /** Returns what a proxy calls; null where the method would run on the proxy itself, without advice. */
        private @Nullable Method callable(Object proxy) {
            if (AopUtils.isJdkDynamicProxy(proxy)) {
                return AnnotatedMethod.implementedBy(method, AopUtils.getTargetClass(proxy))
                        .filter(declared -> declared.getDeclaringClass().isInstance(proxy))
                        .findFirst()
                        .orElse(null);
            }
            int unseen = Modifier.PRIVATE | Modifier.STATIC | Modifier.FINAL;
            return (method.getModifiers() & unseen) == 0
                            && ProxyCheck.isVisible(method, proxy.getClass())
                            && AopUtils.isCglibProxy(proxy)
                            && method.getDeclaringClass().isInstance(proxy)
                    ? method
                    : null;
        }
    }
}
