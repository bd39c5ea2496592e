/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockRequest;
import io.micrometer.observation.Observation;
import org.jspecify.annotations.Nullable;

/** What is known of an observed acquisition. */
public class LockAcquireContext extends Observation.Context {

    private final LockRequest request;
    private @Nullable AcquireOutcome outcome;

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
    public @Nullable AcquireOutcome getOutcome() {
        return outcome;
    }

    void setOutcome(AcquireOutcome ended) {
        outcome = ended;
    }
}
