/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.List;

/** There are methods with the annotation, but something is missing without which none of them is locked. */
public final class LockingMissingException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final String remedy;

    private LockingMissingException(String problem, String remedy) {
        super(problem);
        this.remedy = remedy;
    }

    static LockingMissingException noOperations(int methods) {
        return new LockingMissingException(
                none(methods, "there is no LockOperations bean."),
                "Define a LockTemplate bean, or let the auto-configuration of Lockkeeper define it.");
    }

    static LockingMissingException noAdvisor(int methods) {
        return new LockingMissingException(
                none(methods, "there is no DistributedLockedAdvisor bean."),
                "Do not remove or replace the bean 'distributedLockedAdvisor' of Lockkeeper's auto-configuration.");
    }

    static LockingMissingException noProxies(int methods, String creator) {
        return new LockingMissingException(
                none(methods, "no auto-proxy creator puts proxies around beans."),
                "Do not remove or replace the bean '" + creator + "', or add @EnableAspectJAutoProxy.");
    }

    static LockingMissingException noWeaver(int methods) {
        return new LockingMissingException(
                none(
                        methods,
                        "lockkeeper.mode is aspectj, but the AspectJ weaver does not run, or does not weave"
                                + " Lockkeeper's aspect into them."),
                "Start the JVM with -javaagent:aspectjweaver.jar, the jar of org.aspectj:aspectjweaver, or remove"
                        + " lockkeeper.mode=aspectj.");
    }

    static LockingMissingException inParent(List<String> names) {
        return new LockingMissingException(
                "The methods with @DistributedLocked of " + names + " would not be locked: these beans are in a parent"
                        + " context, in which Lockkeeper's auto-configuration does not run.",
                "Define these beans in the context that has the auto-configuration, or let it run in the parent.");
    }

    private static String none(int methods, String because) {
        return "No method with @DistributedLocked would be locked (there are " + methods + "): " + because;
    }

    /** Returns what to do. */
    public String remedy() {
        return remedy;
    }
}
