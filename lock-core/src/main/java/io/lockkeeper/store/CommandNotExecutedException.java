/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import org.jspecify.annotations.Nullable;

/**
 * No copy of the command was executed, nor ever will be: there was no connection to send it over, or the server refused
 * it. Only where that is certain, because what a command has taken is then not given back.
 */
public final class CommandNotExecutedException extends StoreException {

    private static final long serialVersionUID = 1L;

    /** Creates the exception, with what went wrong, for the person who operates the store; the cause may be null. */
    public CommandNotExecutedException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
