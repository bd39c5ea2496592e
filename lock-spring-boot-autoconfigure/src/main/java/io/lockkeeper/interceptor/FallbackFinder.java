/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.interceptor.Fallback.Candidate;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** Finds the fallback methods of an annotated method, and says what would fit where there are none. */
final class FallbackFinder {

    static final String ATTRIBUTE = "fallbackMethod";

    private final AnnotatedMethod owner;
    private final Class<?>[] parameterTypes;
    private final Class<?> returnType;
    private final Faults faults;

    private FallbackFinder(AnnotatedMethod owner, Faults faults) {
        this.owner = owner;
        this.parameterTypes = parameterTypes(owner.method());
        this.returnType = returnType(owner.method());
        this.faults = faults;
    }

    /**
     * Finds the fallback.
     *
     * @param owner the annotated method
     * @param name the name of the fallback; empty: none
     * @param faults receives what is wrong
     * @return the fallback; null where the annotation names none, or after a fault
     */
    static @Nullable Fallback find(AnnotatedMethod owner, String name, Faults faults) {
        return name.isEmpty() ? null : new FallbackFinder(owner, faults).find(name);
    }

    static @Nullable Fallback find(AnnotatedMethod owner, Faults faults) {
        return find(owner, owner.annotation().fallbackMethod(), faults);
    }

    private @Nullable Fallback find(String name) {
        List<Method> named = Arrays.stream(ReflectionUtils.getUniqueDeclaredMethods(owner.targetClass()))
                .filter(method -> method.getName().equals(name)
                        || AnnotatedMethod.sourceName(method).equals(name))
                .filter(method -> !method.isSynthetic() && !method.equals(owner.method()))
                .filter(method -> !SuspendingMethods.isSuspending(method) || isSuspending())
                .toList();
        List<Method> matching = named.stream().filter(this::hasParameters).toList();
        if (matching.isEmpty()) {
            faults.add(ATTRIBUTE, missing(name, named), "Write one of: " + fitting(name));
            return null;
        }
        for (Method method : matching) {
            if (!returnsWhatFits(method)) {
                faults.add(
                        ATTRIBUTE,
                        signature(method) + " returns " + method.getReturnType().getSimpleName() + " where "
                                + returnType.getSimpleName() + " is needed",
                        "Write one of: " + fitting(name));
                return null;
            }
        }
        return new Fallback(matching.stream().map(this::candidate).toList());
    }

    private boolean isSuspending() {
        return SuspendingMethods.isSuspending(owner.method());
    }

    private Candidate candidate(Method method) {
        ReflectionUtils.makeAccessible(method);
        Class<?>[] types = SuspendingMethods.parameterTypes(method);
        return new Candidate(method, types.length == parameterTypes.length ? null : types[types.length - 1]);
    }

    private boolean hasParameters(Method method) {
        Class<?>[] types = parameterTypes(method);
        int own = parameterTypes.length;
        if (types.length != own && (types.length != own + 1 || !Candidate.canTake(types[own]))) {
            return false;
        }
        return Arrays.equals(types, 0, own, parameterTypes, 0, own);
    }

    private boolean returnsWhatFits(Method method) {
        Class<?> type = returnType(method);
        if (returnType == void.class || (returnType == Void.class && type == void.class)) {
            return true;
        }
        return type != void.class && ClassUtils.isAssignable(returnType, type);
    }

    private String missing(String name, List<Method> named) {
        if (named.isEmpty()) {
            return "there is no method '" + name + "' in " + owner.targetClass().getSimpleName() + " or above it"
                    + Similar.to(
                            name,
                            Arrays.stream(ReflectionUtils.getUniqueDeclaredMethods(owner.targetClass()))
                                    .filter(method ->
                                            method.getDeclaringClass() != Object.class && !method.isSynthetic())
                                    .filter(method -> !method.equals(owner.method()))
                                    .map(AnnotatedMethod::sourceName));
        }
        return named.stream().map(FallbackFinder::signature).collect(Collectors.joining(", "))
                + (named.size() == 1 ? " has other parameters" : " have other parameters") + " than "
                + owner.signature();
    }

    private String fitting(String name) {
        return Arrays.asList("", "LockNotAcquiredException", "LockStoreException", "LockException").stream()
                .map(failure -> fitting(name, failure))
                .collect(Collectors.joining("; "));
    }

    private String fitting(String name, String failure) {
        String parameters =
                Arrays.stream(parameterTypes).map(Class::getSimpleName).collect(Collectors.joining(", "));
        String separator = parameters.isEmpty() || failure.isEmpty() ? "" : ", ";
        return returnType.getSimpleName() + " " + name + "(" + parameters + separator + failure + ")";
    }

    private static String signature(Method method) {
        return AnnotatedMethod.signature(method.getName(), SuspendingMethods.parameterTypes(method));
    }

    private Class<?>[] parameterTypes(Method method) {
        return IntStream.range(0, SuspendingMethods.parameterCount(method))
                .mapToObj(index -> ResolvableType.forMethodParameter(method, index, owner.targetClass())
                        .resolve(method.getParameterTypes()[index]))
                .toArray(Class<?>[]::new);
    }

    private Class<?> returnType(Method method) {
        if (SuspendingMethods.isSuspending(method)) {
            return SuspendingMethods.returnType(method);
        }
        return ResolvableType.forMethodReturnType(method, owner.targetClass()).resolve(method.getReturnType());
    }
}
