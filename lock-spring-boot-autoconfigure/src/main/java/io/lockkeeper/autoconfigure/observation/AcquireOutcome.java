/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockListener.NotAcquired;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import java.time.Duration;
import java.util.Locale;

/** How a request for a lock ended: the values of the tag {@code outcome} of {@code lockkeeper.acquire}. */
public enum AcquireOutcome {

    /** The caller got the lock. */
    ACQUIRED,

    /** Others held the lock, and the caller did not want to wait. */
    BUSY,

    /** The caller waited, or tried several times, in vain. */
    TIMEOUT,

    /** The caller was interrupted, or cancelled the future. */
    INTERRUPTED,

    /** The store failed or did not answer, or the template is closed. */
    ERROR;

    /** Returns why a request ended without a lock. */
    static AcquireOutcome of(NotAcquired event) {
        if (event.reason() instanceof LockInterruptedException) {
            return INTERRUPTED;
        }
        if (event.reason() instanceof LockNotAcquiredException) {
            return triesOnce(event.request()) ? BUSY : TIMEOUT;
        }
        return ERROR;
    }

    private static boolean triesOnce(LockRequest request) {
        return request.retryCount() == 0 && Duration.ZERO.equals(request.waitTime());
    }

    /** Returns the value of the tag. */
    public String tag() {
        return name().toLowerCase(Locale.ROOT);
    }
}
