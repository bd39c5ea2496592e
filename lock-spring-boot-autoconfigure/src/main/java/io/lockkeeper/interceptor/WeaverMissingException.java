/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

/** Locks should be woven into classes, but no annotated method of any bean has one. */
public final class WeaverMissingException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    WeaverMissingException(int methods) {
        super("Locks should be woven into the classes of methods with @DistributedLocked, but none of the " + methods
                + " annotated methods is woven: the AspectJ weaver does not run.");
    }
}
