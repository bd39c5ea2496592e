/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockRequest;
import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.scheduling.annotation.Scheduled;

/** Checks an annotated method: whether its annotation is right, its lock there when it is called, and of any use then. */
record MethodCheck(MethodLockSpecs specs, boolean woven) {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

    /** By name, because the annotations may not be there. */
    private static final Set<String> CALLBACKS =
            Set.of("jakarta.annotation.PostConstruct", "jakarta.annotation.PreDestroy");

    /** Annotations of which a fallback must not be deprived without a word. By name, because they may not be there. */
    private static final List<String> ADVISED = List.of(
            "org.springframework.transaction.annotation.Transactional",
            "jakarta.transaction.Transactional",
            DistributedLocked.class.getName());

    void checkCalls(AnnotatedMethod method, boolean byInterfaces, Faults faults) {
        if (woven) {
            WeavingCheck.check(method, faults);
        } else {
            ProxyCheck.check(method, byInterfaces, faults);
        }
    }

    /** Adds faults of the annotation, and warns where it is right, but not of the use that its author must expect. */
    void checkAnnotation(AnnotatedMethod method, boolean byInterfaces, Faults faults) {
        MethodLockSpec spec = specs.check(method, faults);
        if (spec == null) {
            return;
        }
        LockRequest settings = spec.settings();
        if (settings.retryCount() > 0 && !method.annotation().waitTime().isEmpty()) {
            log.warn("{} has retryCount and waitTime: waitTime is ignored, because retries never wait", method);
        }
        String ongoing = new ResultKind(method).warning();
        if (ongoing != null) {
            log.warn(
                    "{} {}: return what comes out of it, such as a List or a value, or a CompletableFuture, Mono or Flux"
                            + " of that",
                    method,
                    ongoing);
        }
        if (MergedAnnotations.from(method.method()).isPresent(Scheduled.class)) {
            warnOfSchedule(method, spec);
        }
        if (spec.fallback() != null && !woven) {
            warnOfFallback(method, spec, spec.fallback(), byInterfaces);
            checkEndOfFallbacks(method, spec.fallback(), faults);
        }
    }

    /** Warns of a fallback whose annotations its proxy would see if it could call it, or that asks for the same lock. */
    private void warnOfFallback(AnnotatedMethod owner, MethodLockSpec spec, Fallback fallback, boolean byInterfaces) {
        for (Fallback.Candidate candidate : fallback.candidates()) {
            Method method = candidate.method();
            Faults faults = new Faults(owner);
            ProxyCheck.check(
                    new AnnotatedMethod(method, method, owner.targetClass(), owner.annotation()), byInterfaces, faults);
            MergedAnnotations annotations = MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY);
            if (!faults.isEmpty() && ADVISED.stream().anyMatch(annotations::isPresent)) {
                log.warn(
                        "{}, the fallback of {}, runs without its own annotations, because no proxy can call it: make it"
                                + " public, let it not be final, and declare it in the interface where there is one",
                        AnnotatedMethod.signature(method),
                        owner);
            }
            AnnotatedMethod locked = faults.isEmpty() ? AnnotatedMethod.find(method, owner.targetClass()) : null;
            if (locked != null && waitsAgain(locked, spec)) {
                log.warn(
                        "{}, the fallback of {}, asks again for the lock that was not acquired, and waits for it a second"
                                + " time: write waitTime = \"0s\" or another name there, or leave its @DistributedLocked"
                                + " out",
                        AnnotatedMethod.signature(method),
                        owner);
            }
        }
    }

    private boolean waitsAgain(AnnotatedMethod fallback, MethodLockSpec spec) {
        MethodLockSpec second = specs.check(fallback, new Faults(fallback));
        return second != null
                && !Collections.disjoint(second.written(), spec.written())
                && !specs.isTriedOnce(fallback, second);
    }

    /** Fallbacks that are locked themselves must not lead back to a method that they stand for: no call would end. */
    private void checkEndOfFallbacks(AnnotatedMethod owner, Fallback fallback, Faults faults) {
        Deque<Fallback> open = new ArrayDeque<>(List.of(fallback));
        Set<Method> seen = new HashSet<>();
        while (!open.isEmpty()) {
            for (Fallback.Candidate candidate : open.remove().candidates()) {
                Method method = candidate.method();
                if (method.equals(owner.method())) {
                    faults.add(
                            Fallback.ATTRIBUTE,
                            "leads back to the method itself, whose lock was not acquired",
                            "Name a method without @DistributedLocked, or one that has no fallback");
                    return;
                }
                AnnotatedMethod next = AnnotatedMethod.find(method, owner.targetClass());
                MethodLockSpec further = next == null || !seen.add(method) ? null : specs.checked(next);
                if (further != null && further.fallback() != null) {
                    open.add(further.fallback());
                }
            }
        }
    }

    /** Warns where the container calls a method on the bean itself, where no proxy is yet, or none any more. */
    void warnOfCallback(AnnotatedMethod annotated, Set<String> callbacks) {
        Method method = annotated.method();
        Class<?> type = annotated.targetClass();
        boolean isCallback = (callbacks.contains(method.getName()) && method.getParameterCount() == 0)
                || Arrays.stream(method.getDeclaredAnnotations())
                        .anyMatch(
                                each -> CALLBACKS.contains(each.annotationType().getName()))
                || isOf(InitializingBean.class, "afterPropertiesSet", method, type)
                || isOf(DisposableBean.class, "destroy", method, type)
                || isOf(AutoCloseable.class, "close", method, type);
        if (isCallback && !woven) {
            log.warn(
                    "{} runs without its lock when the container calls it, because it calls the bean itself and not the"
                            + " proxy: let it call a method of another bean that has the annotation, or use LockTemplate",
                    annotated);
        }
    }

    private static boolean isOf(Class<?> callback, String name, Method method, Class<?> type) {
        return method.getName().equals(name) && method.getParameterCount() == 0 && callback.isAssignableFrom(type);
    }

    private void warnOfSchedule(AnnotatedMethod annotated, MethodLockSpec spec) {
        boolean tries = spec.skipWhenLocked() || specs.isTriedOnce(annotated, spec);
        boolean holds = !spec.settings().minHoldTime().isZero();
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
