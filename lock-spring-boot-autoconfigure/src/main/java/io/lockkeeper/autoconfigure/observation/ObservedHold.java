/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockLostException;
import io.lockkeeper.LockRequest;
import io.micrometer.observation.Observation;
import org.jspecify.annotations.Nullable;

/** The observation of one hold. It stops when the hold and the body under it have ended, whichever is last. */
final class ObservedHold {

    private final Observation observation;
    private final LockHoldContext context;
    private Observation.@Nullable Scope body;

    ObservedHold(Observation observation, LockHoldContext context) {
        this.observation = observation;
        this.context = context;
    }

    /** Makes it current on this thread. */
    synchronized void bodyBegins() {
        body = observation.openScope();
    }

    /** Called on the thread on which the body began; returns whether the hold is over. */
    synchronized boolean bodyEnds() {
        if (body != null) {
            body.close();
            body = null;
        }
        return stopIfOver();
    }

    synchronized void downgraded(LockRequest after) {
        context.setRequest(after);
    }

    /** Returns whether nothing is left to be told. */
    synchronized boolean ended(HoldOutcome outcome) {
        if (context.getOutcome() == null) {
            context.setOutcome(outcome);
        }
        return stopIfOver();
    }

    /** Returns whether nothing is left to be told. */
    synchronized boolean lost(LockLostException loss) {
        context.setOutcome(HoldOutcome.LOST);
        observation.event(LockObservationDocumentation.LOST);
        observation.error(loss);
        return stopIfOver();
    }

    private boolean stopIfOver() {
        if (body != null || context.getOutcome() == null) {
            return false;
        }
        observation.stop();
        return true;
    }
}
