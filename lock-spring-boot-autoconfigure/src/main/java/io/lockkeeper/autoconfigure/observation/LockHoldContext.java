/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import io.micrometer.observation.Observation;
import org.jspecify.annotations.Nullable;

/** What is known of an observed hold. */
public class LockHoldContext extends Observation.Context {

    private final long fencingToken;
    private LockRequest request;
    private @Nullable ReleaseResult outcome;

    /**
     * Creates the context of a hold that begins.
     *
     * @param request the request that led to it
     * @param fencingToken the token of the first name
     */
    public LockHoldContext(LockRequest request, long fencingToken) {
        this.request = request;
        this.fencingToken = fencingToken;
    }

    /** Returns the request that led to the hold; for one that goes on as a reader's, that for reading. */
    public LockRequest getRequest() {
        return request;
    }

    /** Returns the token of the first name. */
    public long getFencingToken() {
        return fencingToken;
    }

    /** Returns how it ended: RELEASED, LOST or UNKNOWN; null while it goes on. */
    public @Nullable ReleaseResult getOutcome() {
        return outcome;
    }

    void setRequest(LockRequest changed) {
        request = changed;
    }

    void setOutcome(ReleaseResult ended) {
        outcome = ended;
    }
}
