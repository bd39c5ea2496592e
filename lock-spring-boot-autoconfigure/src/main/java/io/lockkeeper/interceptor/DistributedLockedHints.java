/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.SpringProxy;
import org.springframework.aop.framework.Advised;
import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.TypeReference;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.aot.BeanRegistrationAotContribution;
import org.springframework.beans.factory.aot.BeanRegistrationAotProcessor;
import org.springframework.beans.factory.support.RegisteredBean;
import org.springframework.core.DecoratingProxy;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.util.ClassUtils;

/** Keeps in a native image what is read by reflection, the scripts and the page of the endpoint. */
final class DistributedLockedHints implements RuntimeHintsRegistrar, BeanRegistrationAotProcessor {

    /** A bean in an expression; the name of one that is no word is quoted. */
    private static final Pattern BEAN = Pattern.compile("@(\\w+|['\"][^'\"]+)");

    private static final String HEALTH = "org.springframework.boot.actuate.health.Health";

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
        hints.reflection()
                .registerType(DistributedLocked.class, MemberCategory.INVOKE_DECLARED_METHODS)
                // What #root is, and what its properties are.
                .registerType(LockNames.Root.class, MemberCategory.INVOKE_PUBLIC_METHODS)
                .registerType(Method.class, MemberCategory.INVOKE_PUBLIC_METHODS)
                .registerType(Class.class, MemberCategory.INVOKE_PUBLIC_METHODS);
        // What answers for the health of locks in Spring Boot 3, and what it calls.
        for (String type :
                List.of(HEALTH, HEALTH + "$Builder", "io.lockkeeper.autoconfigure.actuate.LockHealth$Report")) {
            hints.reflection().registerType(TypeReference.of(type), MemberCategory.INVOKE_PUBLIC_METHODS);
        }
        hints.proxies().registerJdkProxy(DistributedLocked.class);
        // The second asks for the locks before a manager commits. By name, because they may not be there.
        for (String type :
                List.of(HEALTH + "Indicator", "org.springframework.transaction.PlatformTransactionManager")) {
            hints.proxies()
                    .registerJdkProxy(
                            TypeReference.of(type),
                            TypeReference.of(SpringProxy.class),
                            TypeReference.of(Advised.class),
                            TypeReference.of(DecoratingProxy.class));
        }
        hints.resources().registerPattern("io/lockkeeper/redis/*.lua");
        hints.resources().registerPattern("io/lockkeeper/autoconfigure/actuate/locks.html");
    }

    @Override
    public @Nullable BeanRegistrationAotContribution processAheadOfTime(RegisteredBean bean) {
        Class<?> type = ClassUtils.getUserClass(bean.getBeanClass());
        Collection<AnnotatedMethod> methods = AnnotatedMethod.allOf(type);
        return methods.isEmpty()
                ? null
                : (generation, code) -> {
                    ReflectionHints hints = generation.getRuntimeHints().reflection();
                    // The startup check looks at all methods, also for one that a misspelt fallback may have meant.
                    for (Class<?> each = type; each != null && each != Object.class; each = each.getSuperclass()) {
                        hints.registerType(each, MemberCategory.INVOKE_DECLARED_METHODS);
                    }
                    methods.forEach(method -> register(method, bean.getBeanFactory(), hints));
                };
    }

    private static void register(AnnotatedMethod annotated, BeanFactory beans, ReflectionHints hints) {
        hints.registerMethod(annotated.method(), ExecutableMode.INVOKE);
        hints.registerMethod(annotated.declaration(), ExecutableMode.INVOKE);
        // The annotation on the method, and all that lead from it to ours.
        MergedAnnotation<?> annotation =
                MergedAnnotations.from(annotated.declaration()).get(DistributedLocked.class);
        for (MergedAnnotation<?> each = annotation; each != null; each = each.getMetaSource()) {
            hints.registerType(each.getType(), MemberCategory.INVOKE_DECLARED_METHODS);
        }
        Fallback fallback = Fallback.find(annotated, annotated.annotation().fallbackMethod(), new Faults(annotated));
        if (fallback != null) {
            fallback.candidates().forEach(candidate -> hints.registerMethod(candidate.method(), ExecutableMode.INVOKE));
        }
        String names = String.join(" ", annotated.annotation().name());
        if (names.contains("#{")) {
            new BindingReflectionHintsRegistrar()
                    .registerReflectionHints(hints, annotated.method().getGenericParameterTypes());
            // Expressions call any method of a parameter or a bean.
            Stream.concat(
                            Stream.of(annotated.method().getParameterTypes()),
                            BEAN.matcher(names)
                                    .results()
                                    .map(found -> found.group(1).replaceAll("^['\"]", ""))
                                    .filter(beans::containsBean)
                                    .map(beans::getType)
                                    .filter(Objects::nonNull))
                    .forEach(type -> hints.registerType(type, MemberCategory.INVOKE_PUBLIC_METHODS));
        }
    }
}
