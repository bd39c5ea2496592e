/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The thread was interrupted while it waited for a lock. Its interrupt flag is set again; it holds nothing. */
public final class LockInterruptedException extends LockException {

    private static final long serialVersionUID = 1L;

    /** Creates the exception for the names that were asked for; the cause is null where no interruption was thrown. */
    public LockInterruptedException(List<String> names, @Nullable InterruptedException cause) {
        super("Interrupted while waiting for lock " + String.join(", ", names), cause);
    }
}
