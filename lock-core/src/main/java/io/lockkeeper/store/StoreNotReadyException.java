/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import org.jspecify.annotations.Nullable;

/**
 * The store has not answered since it was opened, and the command was not sent. A caller who waits may ask again while
 * its wait lasts: the first connection may take longer than a command.
 */
public final class StoreNotReadyException extends StoreException {

    private static final long serialVersionUID = 1L;

    /** Creates the exception, with what is missing, for the person who operates the store; the cause may be null. */
    public StoreNotReadyException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
