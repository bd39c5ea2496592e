/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import org.jspecify.annotations.Nullable;

/** The root of all failures of locking. There is one subclass for each outcome. */
public abstract class LockException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    LockException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
