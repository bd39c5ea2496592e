/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.scheduling.annotation.Scheduled;

/** Checks how a method is called: whether its lock is there then, and whether it does what the annotation is for. */
final class MethodCheck {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

    /** By name, because the annotations may not be there. */
    private static final Set<String> CALLBACKS =
            Set.of("jakarta.annotation.PostConstruct", "jakarta.annotation.PreDestroy");

    /** Annotations of which a fallback must not be deprived without a word. By name, because they may not be there. */
    private static final List<String> ADVISED = List.of(
            "org.springframework.transaction.annotation.Transactional",
            "jakarta.transaction.Transactional",
            DistributedLocked.class.getName());

    private MethodCheck() {}

    /**
     * Adds a fault where calls of a method cannot pass through the bean's proxy.
     *
     * @param annotated the method
     * @param byInterfaces whether the bean is proxied by its interfaces
     * @param faults receives the fault
     */
    static void requireProxy(AnnotatedMethod annotated, boolean byInterfaces, Faults faults) {
        Method method = annotated.method();
        Class<?> type = annotated.targetClass();
        int modifiers = method.getModifiers();
        if (AnnotatedElementUtils.hasAnnotation(method, Bean.class)) {
            faults.add(
                    "",
                    "is a @Bean method, which makes a bean and locks nothing when that is called",
                    "Write the annotation on the methods of the bean that it makes");
        } else if (Modifier.isPrivate(modifiers)) {
            faults.add("", "is private, and no proxy can lock it", "Make it public, and call it from another bean");
        } else if (Modifier.isStatic(modifiers)) {
            faults.add("", "is static, and no proxy can lock it", "Make it a method of the bean");
        } else if (!byInterfaces && !ProxyKind.isExtensible(type)) {
            faults.add(
                    "",
                    "belongs to a final or sealed class, of which no proxy can be made",
                    "Let " + type.getSimpleName() + " be extended");
        } else if (byInterfaces) {
            requireInterface(method, type, faults);
        } else if (Modifier.isFinal(modifiers)) {
            faults.add("", "is final, and no proxy can lock it", "Remove final");
        } else {
            requireSamePackage(method, type, faults);
        }
    }

    /** Warns of a fallback with annotations that its proxy would see, if the proxy could call it. */
    static void checkFallback(AnnotatedMethod owner, Fallback fallback, boolean byInterfaces) {
        for (Fallback.Candidate candidate : fallback.candidates()) {
            Method method = candidate.method();
            Faults faults = new Faults(owner);
            requireProxy(
                    new AnnotatedMethod(method, method, owner.targetClass(), owner.annotation()), byInterfaces, faults);
            MergedAnnotations annotations = MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY);
            if (!faults.isEmpty() && ADVISED.stream().anyMatch(annotations::isPresent)) {
                log.warn(
                        "{}, the fallback of {}, runs without its own annotations, because no proxy can call it: make it"
                                + " public, let it not be final, and declare it in the interface where there is one",
                        AnnotatedMethod.signature(method.getName(), method.getParameterTypes()),
                        owner);
            }
        }
    }

    /** Fallbacks that are locked themselves must not lead back to a method that they stand for: no call would end. */
    static void requireEnd(
            AnnotatedMethod owner,
            Fallback fallback,
            Function<AnnotatedMethod, @Nullable Fallback> fallbacks,
            Faults faults) {
        Deque<Fallback> open = new ArrayDeque<>(List.of(fallback));
        Set<Method> seen = new HashSet<>();
        while (!open.isEmpty()) {
            for (Fallback.Candidate candidate : open.remove().candidates()) {
                Method method = candidate.method();
                if (method.equals(owner.method())) {
                    faults.add(
                            "fallbackMethod",
                            "leads back to the method itself, whose lock was not acquired",
                            "Name a method without @DistributedLocked, or one that has no fallback");
                    return;
                }
                AnnotatedMethod next = AnnotatedMethod.find(method, owner.targetClass());
                Fallback further = next == null || !seen.add(method) ? null : fallbacks.apply(next);
                if (further != null) {
                    open.add(further);
                }
            }
        }
    }

    /** Returns whether what is visible in the package of one class is visible in another. */
    static boolean isSamePackage(Class<?> type, Class<?> other) {
        return type.getClassLoader() == other.getClassLoader()
                && type.getPackageName().equals(other.getPackageName());
    }

    private static void requireSamePackage(Method method, Class<?> type, Faults faults) {
        Class<?> declaring = method.getDeclaringClass();
        boolean sameName = declaring.getPackageName().equals(type.getPackageName());
        if (Modifier.isPublic(method.getModifiers())
                || Modifier.isProtected(method.getModifiers())
                || isSamePackage(declaring, type)) {
            return;
        }
        faults.add(
                "",
                "is only visible in its package, and the class of the bean, " + type.getName() + ", is in "
                        + (sameName ? "another class loader" : "another one") + ", where no proxy can lock it",
                "Make it public or protected");
    }

    private static void requireInterface(Method method, Class<?> type, Faults faults) {
        boolean declared = AnnotatedMethod.implementedBy(method, type).findAny().isPresent();
        if (!declared && !method.getDeclaringClass().isInterface()) {
            faults.add(
                    "",
                    "is in no interface of " + type.getSimpleName() + ", which is proxied by its interfaces",
                    "Declare it in one, or remove spring.aop.proxy-target-class=false");
        }
    }

    /** Warns where the container calls a method on the bean itself, where no proxy is yet, or none any more. */
    static void warnOfCallback(AnnotatedMethod annotated) {
        if (isCallback(annotated.method(), annotated.targetClass())) {
            log.warn(
                    "{} runs without its lock when the container calls it, because it calls the bean itself and not the"
                            + " proxy: let it call a method of another bean that has the annotation, or use LockTemplate",
                    annotated);
        }
    }

    private static boolean isCallback(Method method, Class<?> type) {
        return Arrays.stream(method.getDeclaredAnnotations())
                        .anyMatch(
                                each -> CALLBACKS.contains(each.annotationType().getName()))
                || isOf(InitializingBean.class, "afterPropertiesSet", method, type)
                || isOf(DisposableBean.class, "destroy", method, type);
    }

    private static boolean isOf(Class<?> callback, String name, Method method, Class<?> type) {
        return method.getName().equals(name) && method.getParameterCount() == 0 && callback.isAssignableFrom(type);
    }

    /** Warns where a method is locked, and something in it is not as its author must expect. */
    static void warn(AnnotatedMethod annotated, MethodLockSpec spec) {
        LockSettings settings = spec.settings();
        if (settings.retryCount() > 0 && !annotated.annotation().waitTime().isEmpty()) {
            log.warn("{} has retryCount and waitTime: waitTime is ignored, because retries never wait", annotated);
        }
        OngoingResult ongoing = ResultKind.of(annotated).ongoing();
        if (ongoing != null) {
            log.warn(
                    "{} {}: return what comes out of it, such as a List or a value, or a CompletableFuture, Mono or Flux"
                            + " of that",
                    annotated,
                    ongoing.problem());
        }
        if (MergedAnnotations.from(annotated.method()).isPresent(Scheduled.class)) {
            warnOfSchedule(annotated, spec.skipWhenLocked(), settings);
        }
    }

    private static void warnOfSchedule(AnnotatedMethod annotated, boolean skips, LockSettings settings) {
        boolean tries = skips || (Duration.ZERO.equals(settings.waitTime()) && settings.retryCount() == 0);
        boolean holds = !settings.minHoldTime().isZero();
        String minimum = "minHoldTime, longer than the clocks of the instances differ and shorter than the interval, as"
                + " in minHoldTime = \"30s\"";
        if (!tries) {
            log.warn(
                    "{} runs on every instance, one after the other: @Scheduled starts it on each of them, and those that"
                            + " find the lock held wait for it. Write skipWhenLocked = true{}",
                    annotated,
                    holds ? "" : " and " + minimum);
        } else if (!holds) {
            log.warn(
                    "{} may run more than once at each time of its @Scheduled: an instance whose clock is behind finds"
                            + " the lock free again. Write {}",
                    annotated,
                    minimum);
        }
    }
}
