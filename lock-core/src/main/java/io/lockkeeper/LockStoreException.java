/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import org.jspecify.annotations.Nullable;

/**
 * The store failed or did not answer in time. It says nothing about who holds the lock. A caller who waits hears of a silent
 * store at the end of the wait, and a caller who does not wait after one command timeout.
 */
public final class LockStoreException extends LockException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message what was tried and what went wrong
     * @param cause what the store or its driver threw; null where there is none
     */
    public LockStoreException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
