/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

/** The application cannot lock: something is missing, or there is no telling with what to lock. Says what to change. */
public final class LockingMissingException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final String remedy;

    /**
     * Creates the exception.
     *
     * @param problem what is missing, with a full stop
     * @param remedy what to do, with a full stop
     */
    public LockingMissingException(String problem, String remedy) {
        super(problem);
        this.remedy = remedy;
    }

    /** Returns what to do. */
    public String remedy() {
        return remedy;
    }
}
