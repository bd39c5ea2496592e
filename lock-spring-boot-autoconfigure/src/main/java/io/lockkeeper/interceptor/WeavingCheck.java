/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;

/** Finds methods into which no lock was woven. */
final class WeavingCheck {

    private WeavingCheck() {}

    /**
     * Adds a fault where a method runs without its lock.
     *
     * @param annotated the method
     * @param faults receives the fault
     */
    static void check(AnnotatedMethod annotated, Faults faults) {
        if (Modifier.isStatic(annotated.method().getModifiers())) {
            faults.add("", "is static, and only methods of objects are locked", "Make it a method of the bean");
        } else if (SuspendingMethods.isSuspending(annotated.method())) {
            faults.add(
                    "",
                    "is a suspend function, into which no lock can be woven: it runs anew whenever it is resumed",
                    "Let it return a CompletableFuture or a Mono, or use lockkeeper.mode=proxy");
        } else if (!annotated.declaration().equals(annotated.method())) {
            faults.add(
                    "",
                    "is annotated in "
                            + annotated.declaration().getDeclaringClass().getSimpleName()
                            + ", and the weaver looks only at the method that runs",
                    "Write the annotation on this method");
        } else if (!isWoven(annotated.method())) {
            faults.add(
                    "",
                    "has no lock woven into it",
                    "Let aop.xml include its class and io.lockkeeper.weaving, let the weaver start before the class is"
                            + " loaded, and nest composed annotations no deeper than two levels");
        }
    }

    /** Returns whether AspectJ has moved the body of a method elsewhere, so that something can run around it. */
    static boolean isWoven(Method method) {
        String body = method.getName() + "_aroundBody";
        return Arrays.stream(method.getDeclaringClass().getDeclaredMethods())
                .anyMatch(each -> each.getName().startsWith(body));
    }
}
