/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockListener.NotAcquired;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.micrometer.observation.Observation;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What is known of an observed acquisition. */
public class LockAcquireContext extends Observation.Context {

    private final LockRequest request;
    private @Nullable Outcome outcome;

    /** How a request for a lock ended: in lower case, the tag {@code outcome} of {@code lockkeeper.acquire}. */
    public enum Outcome {

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
        static Outcome of(NotAcquired event) {
            if (event.reason() instanceof LockInterruptedException) {
                return INTERRUPTED;
            }
            if (!(event.reason() instanceof LockNotAcquiredException)) {
                return ERROR;
            }
            LockRequest request = event.request();
            return request.retryCount() == 0 && Duration.ZERO.equals(request.waitTime()) ? BUSY : TIMEOUT;
        }
    }

    /**
     * Creates the context of an acquisition that begins.
     *
     * @param request what is asked for, complete
     */
    public LockAcquireContext(LockRequest request) {
        this.request = request;
    }

    /** Returns what is asked for. */
    public LockRequest getRequest() {
        return request;
    }

    /** Returns how it ended; null while it goes on. */
    public @Nullable Outcome getOutcome() {
        return outcome;
    }

    void setOutcome(Outcome ended) {
        outcome = ended;
    }
}
