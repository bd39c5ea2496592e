/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockListener;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.ObservationView;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Observes acquisitions and holds. Both have the parent that was current at the call, on whatever thread they end; a
 * hold is current only while the body of a call runs, on its thread.
 */
final class LockObservations implements LockListener {

    private final ObservationRegistry registry;
    private final @Nullable LockAcquireConvention acquireConvention;
    private final @Nullable LockHoldConvention holdConvention;
    private final Map<Long, Asking> asking = new ConcurrentHashMap<>();
    private final Map<Long, ObservedHold> holds = new ConcurrentHashMap<>();

    private record Asking(Observation observation, LockAcquireContext context) {}

    LockObservations(
            ObservationRegistry registry,
            @Nullable LockAcquireConvention acquireConvention,
            @Nullable LockHoldConvention holdConvention) {
        this.registry = registry;
        this.acquireConvention = acquireConvention;
        this.holdConvention = holdConvention;
    }

    @Override
    public void onAsked(Asked event) {
        LockAcquireContext context = new LockAcquireContext(event.request());
        Observation observation = LockObservationDocumentation.ACQUIRE.observation(
                acquireConvention, DefaultLockAcquireConvention.INSTANCE, () -> context, registry);
        asking.put(event.acquisition(), new Asking(observation.start(), context));
    }

    @Override
    public void onAcquired(Acquired event) {
        Asking asked = asking.get(event.acquisition());
        ObservationView parent = asked == null ? null : asked.context.getParentObservation();
        ended(event.acquisition(), AcquireOutcome.ACQUIRED, null);
        LockHoldContext context = new LockHoldContext(event.request(), event.fencingToken());
        Observation hold = LockObservationDocumentation.HOLD.observation(
                holdConvention, DefaultLockHoldConvention.INSTANCE, () -> context, registry);
        if (parent instanceof Observation outer) {
            hold.parentObservation(outer);
        }
        holds.put(event.acquisition(), new ObservedHold(hold.start(), context));
    }

    @Override
    public void onNotAcquired(NotAcquired event) {
        AcquireOutcome outcome = AcquireOutcome.of(event);
        ended(event.acquisition(), outcome, outcome == AcquireOutcome.ERROR ? event.reason() : null);
    }

    @Override
    public void onGivenUp(GivenUp event) {
        ended(event.acquisition(), AcquireOutcome.INTERRUPTED, null);
    }

    private void ended(long acquisition, AcquireOutcome outcome, @Nullable Throwable error) {
        Asking asked = asking.remove(acquisition);
        if (asked != null) {
            asked.context.setOutcome(outcome);
            if (error != null) {
                asked.observation.error(error);
            }
            asked.observation.stop();
        }
    }

    @Override
    public void onBodyBegins(Body event) {
        ObservedHold hold = holds.get(event.acquisition());
        if (hold != null) {
            hold.bodyBegins();
        }
    }

    @Override
    public void onBodyEnds(Body event) {
        tell(event.acquisition(), ObservedHold::bodyEnds);
    }

    @Override
    public void onDowngraded(Downgraded event) {
        ObservedHold hold = holds.get(event.acquisition());
        if (hold != null) {
            hold.downgraded(event.after());
        }
    }

    @Override
    public void onReleased(Released event) {
        tell(event.acquisition(), hold -> hold.ended(HoldOutcome.of(event.result())));
    }

    @Override
    public void onLost(Lost event) {
        tell(event.acquisition(), hold -> hold.lost(event.loss()));
    }

    private void tell(long acquisition, Predicate<ObservedHold> ending) {
        ObservedHold hold = holds.get(acquisition);
        if (hold != null && ending.test(hold)) {
            holds.remove(acquisition);
        }
    }
}
