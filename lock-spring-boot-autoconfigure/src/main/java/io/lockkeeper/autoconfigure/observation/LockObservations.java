/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockListener;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.autoconfigure.observation.LockAcquireContext.Outcome;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Observes acquisitions and holds. Both have the parent that was current at the call, on whatever thread they end; a
 * hold is current only while the body of a call runs, on its thread.
 */
final class LockObservations implements LockListener {

    private static final LockAcquireConvention ACQUIRE = new LockAcquireConvention() {};
    private static final LockHoldConvention HOLD = new LockHoldConvention() {};

    private final ObservationRegistry registry;
    private final @Nullable LockAcquireConvention acquireConvention;
    private final @Nullable LockHoldConvention holdConvention;
    private final Map<Long, Observation> asking = new ConcurrentHashMap<>();
    private final Map<Long, Hold> holds = new ConcurrentHashMap<>();

    LockObservations(
            ObservationRegistry registry,
            @Nullable LockAcquireConvention acquireConvention,
            @Nullable LockHoldConvention holdConvention) {
        this.registry = registry;
        this.acquireConvention = acquireConvention;
        this.holdConvention = holdConvention;
    }

    boolean isObserving() {
        return registry != ObservationRegistry.NOOP;
    }

    static ReleaseResult outcome(ReleaseResult result) {
        return result == ReleaseResult.ALREADY_RELEASED ? ReleaseResult.RELEASED : result;
    }

    @Override
    public void onAsked(Asked event) {
        Observation observation = LockObservationDocumentation.ACQUIRE.observation(
                acquireConvention, ACQUIRE, () -> new LockAcquireContext(event.request()), registry);
        if (!observation.isNoop()) {
            asking.put(event.acquisition(), observation.start());
        }
    }

    @Override
    public void onAcquired(Acquired event) {
        Observation asked = ended(event.acquisition(), Outcome.ACQUIRED, null);
        Observation hold = LockObservationDocumentation.HOLD.observation(
                holdConvention, HOLD, () -> new LockHoldContext(event.request(), event.fencingToken()), registry);
        if (hold.isNoop()) {
            return;
        }
        if (asked != null && asked.getContext().getParentObservation() instanceof Observation outer) {
            hold.parentObservation(outer);
        }
        holds.put(event.acquisition(), new Hold(hold.start()));
    }

    @Override
    public void onNotAcquired(NotAcquired event) {
        Outcome outcome = Outcome.of(event);
        ended(event.acquisition(), outcome, outcome == Outcome.ERROR ? event.reason() : null);
    }

    @Override
    public void onGivenUp(GivenUp event) {
        ended(event.acquisition(), Outcome.INTERRUPTED, null);
    }

    private @Nullable Observation ended(long acquisition, Outcome outcome, @Nullable Throwable error) {
        Observation asked = asking.remove(acquisition);
        if (asked != null) {
            ((LockAcquireContext) asked.getContext()).setOutcome(outcome);
            if (error != null) {
                asked.error(error);
            }
            asked.stop();
        }
        return asked;
    }

    /** Makes the hold current on this thread. */
    @Override
    public void onBodyBegins(Body event) {
        tell(event.acquisition(), hold -> hold.body = hold.observation.openScope());
    }

    /** Called on the thread on which the body began. */
    @Override
    public void onBodyEnds(Body event) {
        tell(event.acquisition(), hold -> {
            if (hold.body != null) {
                hold.body.close();
                hold.body = null;
            }
        });
    }

    @Override
    public void onDowngraded(Downgraded event) {
        tell(event.acquisition(), hold -> hold.context.setRequest(event.after()));
    }

    @Override
    public void onReleased(Released event) {
        tell(event.acquisition(), hold -> {
            if (hold.context.getOutcome() == null) {
                hold.context.setOutcome(outcome(event.result()));
            }
        });
    }

    @Override
    public void onLost(Lost event) {
        tell(event.acquisition(), hold -> {
            hold.context.setOutcome(ReleaseResult.LOST);
            hold.observation.event(LockObservationDocumentation.LOST);
            hold.observation.error(event.loss());
        });
    }

    /** Tells a hold of an event; its observation stops when it and the body under it have ended, whichever is last. */
    private void tell(long acquisition, Consumer<Hold> event) {
        Hold hold = holds.get(acquisition);
        if (hold == null) {
            return;
        }
        synchronized (hold) {
            // Another event may have stopped it since it was found.
            if (holds.get(acquisition) != hold) {
                return;
            }
            event.accept(hold);
            if (hold.body == null && hold.context.getOutcome() != null) {
                holds.remove(acquisition);
                hold.observation.stop();
            }
        }
    }

    /** The observation of one hold, which guards it. */
    private static final class Hold {

        private final Observation observation;
        private final LockHoldContext context;
        private Observation.@Nullable Scope body;

        Hold(Observation observation) {
            this.observation = observation;
            this.context = (LockHoldContext) observation.getContext();
        }
    }
}
