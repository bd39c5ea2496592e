/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/** Finds methods around which no proxy can put a lock. */
final class ProxyCheck {

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

    private static boolean isHiddenFrom(Class<?> type, Method method) {
        Class<?> declaring = method.getDeclaringClass();
        return !Modifier.isPublic(method.getModifiers())
                && !Modifier.isProtected(method.getModifiers())
                && !declaring.getPackageName().equals(type.getPackageName());
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
