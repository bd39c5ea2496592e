/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import org.jspecify.annotations.Nullable;

/** The store failed, refused, or did not answer in time. */
public class StoreException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Creates the exception, with what went wrong, for the person who operates the store; the cause may be null. */
    public StoreException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
