/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;

/** Finds methods around which no proxy can put a lock. */
final class ProxyCheck {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

    /** Annotations of which a fallback must not be deprived without a word. By name, because they may not be there. */
    private static final List<String> ADVISED = List.of(
            "org.springframework.transaction.annotation.Transactional",
            "jakarta.transaction.Transactional",
            DistributedLocked.class.getName());

    private ProxyCheck() {}

    /**
     * Adds a fault where calls of a method cannot pass through the bean's proxy.
     *
     * @param annotated the method
     * @param byInterfaces whether the bean is proxied by its interfaces
     * @param faults receives the fault
     */
    static void check(AnnotatedMethod annotated, boolean byInterfaces, Faults faults) {
        Method method = annotated.method();
        Class<?> type = annotated.targetClass();
        int modifiers = method.getModifiers();
        if (Modifier.isPrivate(modifiers)) {
            faults.add("", "is private, and no proxy can lock it", "Make it public, and call it from another bean");
        } else if (Modifier.isStatic(modifiers)) {
            faults.add("", "is static, and no proxy can lock it", "Make it a method of the bean");
        } else if (!byInterfaces && !ProxyKind.isExtensible(type)) {
            faults.add(
                    "",
                    "belongs to a final or sealed class, of which no proxy can be made",
                    "Let " + type.getSimpleName() + " be extended");
        } else if (byInterfaces) {
            checkInterfaces(method, type, faults);
        } else if (Modifier.isFinal(modifiers)) {
            faults.add("", "is final, and no proxy can lock it", "Remove final");
        } else if (isHiddenFrom(type, method)) {
            faults.add(
                    "",
                    "is only visible in its package, and the class of the bean, " + type.getName()
                            + ", is in another one, where no proxy can lock it",
                    "Make it public or protected");
        }
    }

    /** Warns of a fallback with annotations that its proxy would see, if the proxy could call it. */
    static void checkFallback(AnnotatedMethod owner, Fallback fallback, boolean byInterfaces) {
        for (Fallback.Candidate candidate : fallback.candidates()) {
            Method method = candidate.method();
            Faults faults = new Faults(owner);
            check(new AnnotatedMethod(method, method, owner.targetClass(), owner.annotation()), byInterfaces, faults);
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

    private static boolean isHiddenFrom(Class<?> type, Method method) {
        Class<?> declaring = method.getDeclaringClass();
        return !Modifier.isPublic(method.getModifiers())
                && !Modifier.isProtected(method.getModifiers())
                && !isSamePackage(declaring, type);
    }

    /** Returns whether what is visible in the package of one class is visible in another. */
    static boolean isSamePackage(Class<?> type, Class<?> other) {
        return type.getClassLoader() == other.getClassLoader()
                && type.getPackageName().equals(other.getPackageName());
    }

    private static void checkInterfaces(Method method, Class<?> type, Faults faults) {
        boolean declared = AnnotatedMethod.implementedBy(method, type).findAny().isPresent();
        if (!declared && !method.getDeclaringClass().isInterface()) {
            faults.add(
                    "",
                    "is in no interface of " + type.getSimpleName() + ", which is proxied by its interfaces",
                    "Declare it in one, or remove spring.aop.proxy-target-class=false");
        }
    }
}
