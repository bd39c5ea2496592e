/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

/**
 * Something that is wrong with an annotated method.
 *
 * @param type the class that declares the method
 * @param method the method with its parameter types, such as {@code pay(Order)}; empty where the class itself
 * @param attribute the attribute of the annotation that is wrong; empty where the method itself is
 * @param problem what is wrong, without a full stop
 * @param remedy what to write instead, without a full stop
 */
public record DistributedLockedFault(Class<?> type, String method, String attribute, String problem, String remedy) {

    /** Returns where the fault is: class, method and attribute. */
    public String place() {
        String place = method.isEmpty() ? type.getName() : type.getName() + "." + method;
        return attribute.isEmpty() ? place : place + ", " + attribute;
    }

    @Override
    public String toString() {
        return place() + ": " + problem + (problem.endsWith("?") ? " " : ". ") + remedy + ".";
    }
}
