/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockRequest;
import io.lockkeeper.annotation.DistributedLocked;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.Pointcut;
import org.springframework.beans.factory.Aware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.core.io.support.ResourcePatternResolver;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.AsyncConfigurer;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.config.TaskManagementConfigUtils;
import org.springframework.transaction.config.TransactionManagementConfigUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

/** Checks an annotated method: whether its annotation is right, and its lock there and of use when it is called. */
record MethodCheck(MethodLockSpecs specs, boolean woven) {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

    /** By name, because the annotations may not be there. */
    private static final List<String> CALLBACKS = List.of(
            "jakarta.annotation.PostConstruct",
            "jakarta.annotation.PreDestroy",
            "jakarta.annotation.Resource",
            "jakarta.inject.Inject",
            "org.springframework.beans.factory.annotation.Autowired",
            "org.springframework.beans.factory.annotation.Value");

    /** Annotations of which a fallback must not be deprived without a word. By name, because they may not be there. */
    private static final List<String> TRANSACTIONAL =
            List.of("org.springframework.transaction.annotation.Transactional", "jakarta.transaction.Transactional");

    /** The beginnings of the names of other annotations that Spring's proxies see. */
    private static final List<String> OTHER_ADVICE = List.of(
            "org.springframework.cache.annotation.",
            "org.springframework.scheduling.annotation.Async",
            "org.springframework.security.access.",
            "org.springframework.retry.annotation.",
            "org.springframework.resilience.annotation.");

    /** Where the aspects are that weave transactions in; they begin none unless the application has one as a bean. */
    private static final String TRANSACTIONS = "org.springframework.transaction.aspectj.";

    /** Where those are that weave other threads in, which also need a bean for it. */
    private static final String THREADS = "org.springframework.scheduling.aspectj.";

    void checkCalls(AnnotatedMethod method, boolean byInterfaces, Faults faults) {
        if (woven) {
            WeavingCheck.check(method, faults);
        } else {
            ProxyCheck.check(method, byInterfaces, faults);
        }
    }

    /** Adds a fault where a body is woven to run on another thread, inside of the lock that a proxy puts around it. */
    void checkThreads(AnnotatedMethod annotated, Faults faults) {
        Method method = annotated.method();
        Class<?> result = method.getReturnType();
        // As the aspect does: something else may have been woven into the method.
        boolean isAsynchronous = (result == void.class || Future.class.isAssignableFrom(result))
                && (method.isAnnotationPresent(Async.class)
                        || method.getDeclaringClass().isAnnotationPresent(Async.class));
        if (!woven
                && isAsynchronous
                && specs.hasBean(TaskManagementConfigUtils.ASYNC_EXECUTION_ASPECT_BEAN_NAME)
                // Without any, bodies run on the thread of the call.
                && (specs.hasBean(Executor.class) || specs.hasBean(AsyncConfigurer.class))
                && WeavingCheck.isWoven(method, THREADS)) {
            ProxyCheck.checkThreads(annotated, List.of(Pointcut.TRUE), faults);
        }
    }

    /** Adds faults of the annotation, and warns where it is right, but not of the use that its author must expect. */
    void checkAnnotation(AnnotatedMethod method, boolean byInterfaces, Faults faults) {
        MethodLockSpec spec = specs.check(method, faults);
        if (spec == null) {
            return;
        }
        String impossible = specs.impossible(spec);
        if (impossible != null) {
            faults.add("", "can never have its lock: " + impossible, "Change the annotation, or the store");
        }
        LockRequest settings = spec.settings();
        if (settings.retryCount() > 0 && !method.annotation().waitTime().isEmpty()) {
            log.warn("{} has retryCount and waitTime: waitTime is ignored, because retries never wait", method);
        }
        String ongoing = new ResultKind(method).warning();
        if (ongoing != null) {
            log.warn("{} {}", method, ongoing);
        }
        if (MergedAnnotations.from(method.method()).isPresent(Scheduled.class)) {
            warnOfSchedule(method, spec);
        }
        if (spec.fallback() != null) {
            warnOfFallback(method, spec, spec.fallback(), byInterfaces);
            checkEndOfFallbacks(method, spec.fallback(), faults);
        }
    }

    /** Warns of a fallback whose annotations its proxy would see if it called it, or that asks for the same lock. */
    private void warnOfFallback(AnnotatedMethod owner, MethodLockSpec spec, Fallback fallback, boolean byInterfaces) {
        for (Fallback.Candidate candidate : fallback.candidates()) {
            Method method = candidate.method();
            Faults faults = new Faults(owner);
            if (!woven) {
                ProxyCheck.check(
                        new AnnotatedMethod(method, method, owner.targetClass(), owner.annotation(), false),
                        byInterfaces,
                        faults);
            }
            MergedAnnotations annotations = MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY);
            boolean isTransactional = TRANSACTIONAL.stream().anyMatch(annotations::isPresent);
            if (woven && isTransactional && !isTransactionWoven(method)) {
                log.warn(
                        "{}, the fallback of {}, runs without its @Transactional, because a woven lock calls it on the bean"
                                + " itself and not on the proxy: weave transactions, too, or let it use TransactionTemplate",
                        AnnotatedMethod.signature(method),
                        owner);
            }
            if (!faults.isEmpty()
                    && (isTransactional || annotations.isPresent(DistributedLocked.class) || isAdvised(annotations))) {
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

    private static boolean isAdvised(MergedAnnotations annotations) {
        return annotations.stream().map(each -> each.getType().getName()).anyMatch(name -> OTHER_ADVICE.stream()
                .anyMatch(name::startsWith));
    }

    private boolean isTransactionWoven(Method method) {
        return specs.hasBean(TransactionManagementConfigUtils.TRANSACTION_ASPECT_BEAN_NAME)
                && WeavingCheck.isWoven(method, TRANSACTIONS);
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
        boolean isCallback = (callbacks.contains(method.getName()) && method.getParameterCount() == 0)
                || CALLBACKS.stream().anyMatch(MergedAnnotations.from(method)::isPresent)
                || Stream.of(InitializingBean.class, DisposableBean.class, AutoCloseable.class)
                        .anyMatch(each ->
                                each.isAssignableFrom(annotated.targetClass()) && ClassUtils.hasMethod(each, method))
                || AnnotatedMethod.implementedBy(method, annotated.targetClass())
                        .map(Method::getDeclaringClass)
                        .anyMatch(Aware.class::isAssignableFrom);
        if (isCallback && !woven) {
            log.warn(
                    "{} runs without its lock when the container calls it, because it calls the bean itself and not the"
                            + " proxy: let it call a method of another bean that has the annotation, or use LockTemplate",
                    annotated);
        }
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

    /** Finds methods into which no lock was woven, or one that cannot be reached. */
    static final class WeavingCheck {

        private static final int DEEPEST = 2;

        /** What woven code calls; by name, because it stands above this package and needs AspectJ. */
        static final String ASPECT = "io.lockkeeper.weaving.DistributedLockedAspect";

        /** See the AspectJ Development Environment Guide, "Configuring Load-time Weaving". */
        private static final String FILES = "org.aspectj.weaver.loadtime.configuration";

        private static final String USUAL_FILES = "META-INF/aop.xml;META-INF/aop-ajc.xml;org/aspectj/aop.xml";

        private WeavingCheck() {}

        static void check(AnnotatedMethod annotated, Faults faults) {
            Method declared = annotated.declaration();
            boolean isProxied = Proxy.isProxyClass(annotated.method().getDeclaringClass());
            boolean isInherited = isProxied
                    && declared.isDefault()
                    && AnnotatedMethod.implementedBy(annotated.method(), annotated.targetClass())
                            .allMatch(declared::equals);
            Method running = isInherited ? declared : annotated.method();
            if (Modifier.isStatic(annotated.method().getModifiers())) {
                faults.add("is static, and only methods of objects are locked", "Make it a method of the bean");
            } else if (AnnotatedMethod.isSuspending(annotated.method())) {
                faults.add(
                        "is a suspend function, into which no lock can be woven: it runs anew whenever it is resumed",
                        "Let it return a CompletableFuture or a Mono, or use lockkeeper.mode=proxy");
            } else if (!declared.equals(running)) {
                faults.add(
                        "is annotated in "
                                + declared.getDeclaringClass().getSimpleName()
                                + ", and the weaver looks only at the method that runs",
                        isProxied
                                ? "Write the annotation on the methods that call this one, or use lockkeeper.mode=proxy"
                                : "Write the annotation on this method");
            } else if (!isWoven(running)
                    // Only Spring sees the annotation, and something else may have been woven into the method.
                    || MergedAnnotations.from(running)
                                    .get(DistributedLocked.class)
                                    .getDistance()
                            > DEEPEST) {
                faults.add(
                        "has no lock woven into it",
                        "Let aop.xml include its class, let the weaver start before the class is loaded, and nest composed"
                                + " annotations no deeper than two levels");
            } else {
                checkReach(running.getDeclaringClass().getClassLoader(), faults);
            }
        }

        /** Adds a fault where woven code does not find the aspect, or one that locks for another application. */
        private static void checkReach(@Nullable ClassLoader woven, Faults faults) {
            String problem = null;
            try {
                // As woven code does it: by name, in the class loader of its class.
                Class<?> aspect = Class.forName(ASPECT, true, woven);
                aspect.getMethod("aspectOf").invoke(null);
                if (aspect.getClassLoader() != MethodCheck.class.getClassLoader()) {
                    problem = "its class loader has a " + ASPECT + " of its own";
                }
            } catch (ReflectiveOperationException | LinkageError unreachable) {
                problem = unreachable.toString();
            }
            if (problem != null) {
                faults.add(
                        "has a lock woven into it that would not be found when it is called: " + problem,
                        "Let the class loader of its class find lock-spring-boot-autoconfigure where the application has it");
            }
        }

        static boolean isWoven(Method method) {
            return isWoven(method, ASPECT);
        }

        /** Returns whether AspectJ has moved the body of a method elsewhere, so that an aspect can run around it. */
        static boolean isWoven(Method method, String aspect) {
            String body = method.getName() + "_aroundBody";
            List<String> bodies = Arrays.stream(method.getDeclaringClass().getDeclaredMethods())
                    .filter(each -> each.getName().startsWith(body) && isBodyOf(method, each))
                    .map(Method::getName)
                    .toList();
            return !bodies.isEmpty() && isWovenInto(method.getDeclaringClass(), bodies, aspect);
        }

        /** The object comes first, then the parameters: methods of the same name have bodies of their own. */
        private static boolean isBodyOf(Method method, Method body) {
            int end = method.getParameterCount() + 1;
            return body.getParameterCount() >= end
                    && Arrays.equals(body.getParameterTypes(), 1, end, method.getParameterTypes(), 0, end - 1);
        }

        /** Returns whether an aspect is among those that weavers have put into a class, whose bodies they moved. */
        private static boolean isWovenInto(Class<?> type, List<String> bodies, String aspect) {
            try {
                Resource file = new ClassPathResource(ClassUtils.getClassFileName(type), type);
                String compiled = file.exists() ? file.getContentAsString(StandardCharsets.ISO_8859_1) : "";
                return compiled.contains(ClassUtils.convertClassNameToResourcePath(aspect))
                        || (bodies.stream().anyMatch(body -> !compiled.contains(body)) && isConfigured(type, aspect));
            } catch (IOException unreadable) {
                return false;
            }
        }

        private static boolean isConfigured(Class<?> type, String aspect) throws IOException {
            ResourcePatternResolver files = new PathMatchingResourcePatternResolver(type.getClassLoader());
            for (String name : StringUtils.tokenizeToStringArray(System.getProperty(FILES, USUAL_FILES), ";")) {
                for (Resource file : files.getResources(name.startsWith("file:") ? name : "classpath*:" + name)) {
                    if (file.getContentAsString(StandardCharsets.ISO_8859_1).contains(aspect)) {
                        return true;
                    }
                }
            }
            return false;
        }
    }
}
