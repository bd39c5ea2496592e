/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import org.jspecify.annotations.Nullable;

/**
 * The store failed or did not answer in time, which says nothing about who holds the lock. A caller who waits hears of
 * a silent store 100 ms after the end of the wait at the latest, and a caller who does not wait after one command
 * timeout.
 */
public final class LockStoreException extends LockException {

    private static final long serialVersionUID = 1L;

    /** Creates the exception, with what was tried and what went wrong; the cause may be null. */
    public LockStoreException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
