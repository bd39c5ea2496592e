/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.core.io.support.ResourcePatternResolver;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

/** Finds methods into which no lock was woven, or one that cannot be reached. */
final class WeavingCheck {

    private static final int DEEPEST = 2;

    /** What woven code calls; by name, because it stands above this package and needs AspectJ. */
    static final String ASPECT = "io.lockkeeper.weaving.DistributedLockedAspect";

    /** See the AspectJ Development Environment Guide, "Configuring Load-time Weaving". */
    private static final String FILES = "org.aspectj.weaver.loadtime.configuration";

    private static final String USUAL_FILES = "META-INF/aop.xml;META-INF/aop-ajc.xml;org/aspectj/aop.xml";

    private WeavingCheck() {}

    static void check(AnnotatedMethod annotated, Faults faults) {
        if (Modifier.isStatic(annotated.method().getModifiers())) {
            faults.add("is static, and only methods of objects are locked", "Make it a method of the bean");
        } else if (SuspendingMethods.isSuspending(annotated.method())) {
            faults.add(
                    "is a suspend function, into which no lock can be woven: it runs anew whenever it is resumed",
                    "Let it return a CompletableFuture or a Mono, or use lockkeeper.mode=proxy");
        } else if (!annotated.declaration().equals(annotated.method())) {
            faults.add(
                    "is annotated in "
                            + annotated.declaration().getDeclaringClass().getSimpleName()
                            + ", and the weaver looks only at the method that runs",
                    "Write the annotation on this method");
        } else if (!isWoven(annotated.method())
                // Only Spring sees the annotation, and something else may have been woven into the method.
                || MergedAnnotations.from(annotated.method())
                                .get(DistributedLocked.class)
                                .getDistance()
                        > DEEPEST) {
            faults.add(
                    "has no lock woven into it",
                    "Let aop.xml include its class, let the weaver start before the class is loaded, and nest composed"
                            + " annotations no deeper than two levels");
        } else {
            checkReach(annotated.method().getDeclaringClass().getClassLoader(), faults);
        }
    }

    /** Adds a fault where woven code asks for the aspect in vain, or finds one that locks for another application. */
    private static void checkReach(@Nullable ClassLoader woven, Faults faults) {
        String problem = null;
        try {
            // As woven code does it: by name, in the class loader of its class.
            Class<?> aspect = Class.forName(ASPECT, true, woven);
            aspect.getMethod("aspectOf").invoke(null);
            if (aspect.getClassLoader() != WeavingCheck.class.getClassLoader()) {
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

    /** Returns whether AspectJ has moved the body of a method elsewhere, so that our aspect can run around it. */
    static boolean isWoven(Method method) {
        String body = method.getName() + "_aroundBody";
        List<String> bodies = Arrays.stream(method.getDeclaringClass().getDeclaredMethods())
                .filter(each -> each.getName().startsWith(body) && isBodyOf(method, each))
                .map(Method::getName)
                .toList();
        return !bodies.isEmpty() && isWovenInto(method.getDeclaringClass(), bodies);
    }

    /** The object comes first, then the parameters: methods of the same name have bodies of their own. */
    private static boolean isBodyOf(Method method, Method body) {
        int end = method.getParameterCount() + 1;
        return body.getParameterCount() >= end
                && Arrays.equals(body.getParameterTypes(), 1, end, method.getParameterTypes(), 0, end - 1);
    }

    /** Returns whether our aspect is among those that weavers have put into a class, whose bodies they moved. */
    static boolean isWovenInto(Class<?> type, List<String> bodies) {
        try {
            Resource file = new ClassPathResource(ClassUtils.getClassFileName(type), type);
            String compiled = file.exists() ? file.getContentAsString(StandardCharsets.ISO_8859_1) : "";
            return compiled.contains(ClassUtils.convertClassNameToResourcePath(ASPECT))
                    || (bodies.stream().anyMatch(body -> !compiled.contains(body)) && isConfigured(type));
        } catch (IOException unreadable) {
            return false;
        }
    }

    private static boolean isConfigured(Class<?> type) throws IOException {
        ResourcePatternResolver files = new PathMatchingResourcePatternResolver(type.getClassLoader());
        for (String name : StringUtils.tokenizeToStringArray(System.getProperty(FILES, USUAL_FILES), ";")) {
            for (Resource file : files.getResources(name.startsWith("file:") ? name : "classpath*:" + name)) {
                if (file.getContentAsString(StandardCharsets.ISO_8859_1).contains(ASPECT)) {
                    return true;
                }
            }
        }
        return false;
    }
}
