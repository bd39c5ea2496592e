/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.core.MethodClassKey;
import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.expression.spel.support.StandardTypeLocator;

/** Resolves what annotations mean, once for each method of each bean class. */
final class MethodLockSpecs {

    private final Map<MethodClassKey, MethodLockSpec> specs = new ConcurrentHashMap<>();

    /** The classes of annotated methods by their short labels; no class where there are several. */
    private final Map<String, Class<?>> labels = new ConcurrentHashMap<>();

    private final Placeholders placeholders;
    private final NameParser names;
    private final DurationAttributes durations;
    private final OperationsLocator operations;

    MethodLockSpecs(ConfigurableListableBeanFactory beans) {
        this.placeholders = new Placeholders(beans::resolveEmbeddedValue);
        StandardEvaluationContext shared = new StandardEvaluationContext();
        shared.setBeanResolver(new BeanFactoryResolver(beans));
        shared.setTypeLocator(new StandardTypeLocator(beans.getBeanClassLoader()));
        this.names = new NameParser(shared, placeholders, beans::containsBean, beans.getBeanClassLoader());
        this.durations = new DurationAttributes(placeholders);
        this.operations = new OperationsLocator(beans);
    }

    /**
     * Returns what the annotation of a called method means.
     *
     * @param invoked the method that was called, perhaps that of an interface
     * @param targetClass the class of the bean
     * @throws DistributedLockedConfigurationException if the annotation is wrong
     */
    MethodLockSpec of(Method invoked, Class<?> targetClass) {
        MethodClassKey key = new MethodClassKey(invoked, targetClass);
        MethodLockSpec known = specs.get(key);
        if (known != null) {
            return known;
        }
        AnnotatedMethod method = annotated(AnnotatedMethod.find(invoked, targetClass), invoked, targetClass);
        MethodLockSpec spec = specs.computeIfAbsent(key(method), unknown -> resolveOrThrow(method, new Faults(method)));
        specs.put(key, spec);
        return spec;
    }

    /**
     * Returns what the annotation of a method means into which the lock was woven. That method runs, also where the class
     * of the object overrides it.
     *
     * @param body the method that runs
     * @param targetClass the class of the object
     * @throws DistributedLockedConfigurationException if the annotation is wrong
     */
    MethodLockSpec ofWoven(Method body, Class<?> targetClass) {
        MethodClassKey key = new MethodClassKey(body, targetClass);
        MethodLockSpec known = specs.get(key);
        if (known != null) {
            return known;
        }
        AnnotatedMethod found = AnnotatedMethod.find(body, targetClass);
        AnnotatedMethod method = annotated(
                found == null || found.method().equals(body)
                        ? found
                        : AnnotatedMethod.find(body, body.getDeclaringClass()),
                body,
                targetClass);
        Faults faults = new Faults(method);
        WeavingCheck.check(method, faults);
        return specs.computeIfAbsent(key, unknown -> resolveOrThrow(method, faults));
    }

    private static AnnotatedMethod annotated(@Nullable AnnotatedMethod found, Method invoked, Class<?> targetClass) {
        if (found == null) {
            throw new IllegalStateException(
                    invoked + " of " + targetClass + " is not annotated with @DistributedLocked");
        }
        return found;
    }

    /**
     * Checks a method, and keeps what its annotation means.
     *
     * @param method the method
     * @param exact whether the bean is known to be of the method's target class; a class below it may have the fallback
     * @return what is wrong with it
     */
    List<DistributedLockedFault> check(AnnotatedMethod method, boolean exact) {
        Faults faults = new Faults(method);
        MethodLockSpec spec = resolve(method, faults);
        if (spec != null) {
            specs.putIfAbsent(key(method), spec);
            MethodCheck.warn(method, spec);
        }
        return faults.found().stream()
                .filter(fault -> exact || !fault.attribute().equals(FallbackFinder.ATTRIBUTE))
                .toList();
    }

    /** Returns the fallback of a method that was checked; null where it has none, or was wrong. */
    @Nullable
    Fallback fallback(AnnotatedMethod method) {
        MethodLockSpec known = specs.get(key(method));
        return known == null ? null : known.fallback();
    }

    /** Tells of a method, so that methods of other classes which look the same to a reader have longer labels. */
    void announce(AnnotatedMethod method) {
        labels.merge(method.label(), method.declaringClass(), (one, other) -> one == other ? one : void.class);
    }

    private String label(AnnotatedMethod method) {
        announce(method);
        return labels.get(method.label()) == method.declaringClass() ? method.label() : method.defaultName();
    }

    private static MethodClassKey key(AnnotatedMethod method) {
        return new MethodClassKey(method.method(), method.targetClass());
    }

    private MethodLockSpec resolveOrThrow(AnnotatedMethod method, Faults faults) {
        MethodLockSpec spec = resolve(method, faults);
        if (spec == null) {
            throw new DistributedLockedConfigurationException(faults.found());
        }
        return spec;
    }

    private @Nullable MethodLockSpec resolve(AnnotatedMethod method, Faults faults) {
        DistributedLocked annotation = method.annotation();
        ResultKind result = ResultKind.of(method);
        LockNames lockNames = names.parse(method, faults);
        LockSettings settings = LockSettings.read(method, label(method), durations, faults);
        boolean skips = annotation.skipWhenLocked();
        String fallbackName = text(FallbackFinder.ATTRIBUTE, annotation.fallbackMethod(), faults);
        if (skips && !fallbackName.isEmpty()) {
            faults.add("skipWhenLocked", "does not go together with fallbackMethod", "Leave one of them out");
        }
        if (method.written().size() > 1) {
            faults.add(
                    "", "has several annotations that lock, of which only one would", "Write one, with all the names");
        }
        Fallback fallback = FallbackFinder.find(method, fallbackName, faults);
        Object skippedResult = skips ? result.skippedResult(faults) : null;
        var lockOperations =
                operations.find(text(OperationsLocator.ATTRIBUTE, annotation.lockTemplate(), faults), faults);
        LockedExecution execution = result.execution(faults);
        if (lockNames == null || !faults.isEmpty()) {
            return null;
        }
        List<String> constant = lockNames.constant();
        return new MethodLockSpec(
                lockNames,
                settings,
                constant == null ? null : settings.request(constant),
                skips,
                skippedResult,
                fallback,
                annotation.onLost(),
                MethodTransactions.suspendsOthers(method),
                lockOperations,
                execution);
    }

    private String text(String attribute, String written, Faults faults) {
        String resolved = placeholders.resolve(attribute, written, faults);
        return resolved == null ? "" : resolved.strip();
    }
}
