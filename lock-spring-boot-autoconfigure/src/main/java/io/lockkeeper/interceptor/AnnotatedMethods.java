/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.core.MethodClassKey;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.util.ReflectionUtils;

/** Finds annotated methods for the advisor, and remembers which classes and methods have no annotation. */
final class AnnotatedMethods {

    private final Map<MethodClassKey, Optional<AnnotatedMethod>> methods = new ConcurrentHashMap<>();
    private final Map<Class<?>, Boolean> candidates = new ConcurrentHashMap<>();
    private final Map<Class<?>, Boolean> declaring = new ConcurrentHashMap<>();
    private final Map<Class<? extends Annotation>, Boolean> locking = new ConcurrentHashMap<>();

    /** Returns whether beans of a class may have annotated methods. */
    boolean isCandidate(Class<?> type) {
        Boolean known = candidates.get(type);
        if (known == null) {
            known = isDeclaredAbove(type);
            candidates.put(type, known);
        }
        return known;
    }

    /** Finds as {@link AnnotatedMethod#find}. */
    @Nullable
    AnnotatedMethod find(Method invoked, Class<?> beanClass) {
        return methods.computeIfAbsent(
                        new MethodClassKey(invoked, beanClass),
                        unknown -> Optional.ofNullable(AnnotatedMethod.find(invoked, beanClass)))
                .orElse(null);
    }

    private boolean isDeclaredAbove(Class<?> type) {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            if (declaring.computeIfAbsent(each, this::isDeclaredIn)) {
                return true;
            }
            for (Class<?> parent : each.getInterfaces()) {
                if (isDeclaredAbove(parent)) {
                    return true;
                }
            }
        }
        return false;
    }

    private boolean isDeclaredIn(Class<?> type) {
        if (!AnnotationUtils.isCandidateClass(type, DistributedLocked.class)) {
            return false;
        }
        try {
            return isAnnotated(type)
                    || Arrays.stream(ReflectionUtils.getDeclaredMethods(type)).anyMatch(this::isAnnotated);
        } catch (IllegalStateException | LinkageError unreadable) {
            // The check of its methods says so.
            return true;
        }
    }

    private boolean isAnnotated(AnnotatedElement element) {
        return Arrays.stream(element.getDeclaredAnnotations())
                .anyMatch(annotation -> locking.computeIfAbsent(
                        annotation.annotationType(),
                        type -> type == DistributedLocked.class
                                || MergedAnnotations.from(type).isPresent(DistributedLocked.class)));
    }
}
