/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import org.jspecify.annotations.Nullable;

/** The store failed, refused, or did not answer in time. */
public class StoreException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message what went wrong, for the person who operates the store
     * @param cause what the driver threw; null where there is nothing
     */
    public StoreException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
