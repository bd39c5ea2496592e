/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

/** There are methods with the annotation, but something is missing without which none of them is locked. */
public final class LockingMissingException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final String remedy;

    LockingMissingException(String problem, String remedy) {
        super(problem);
        this.remedy = remedy;
    }

    LockingMissingException(int methods, String reason, String remedy) {
        this("No method with @DistributedLocked would be locked (there are " + methods + "): " + reason, remedy);
    }

    /** Returns what to do. */
    public String remedy() {
        return remedy;
    }
}
