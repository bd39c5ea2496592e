/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockListener;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Times acquisitions and holds where they are not observed: an observation would time them as well. */
final class LockTimers implements LockListener {

    private final MeterRegistry registry;
    private final Map<Key, Timer> timers = new ConcurrentHashMap<>();

    private record Key(String name, String label, LockMode mode, String outcome) {}

    LockTimers(MeterRegistry registry) {
        this.registry = registry;
    }

    @Override
    public void onAcquired(Acquired event) {
        acquire(event.request(), AcquireOutcome.ACQUIRED, event.waited());
    }

    @Override
    public void onNotAcquired(NotAcquired event) {
        acquire(event.request(), AcquireOutcome.of(event), event.waited());
    }

    @Override
    public void onGivenUp(GivenUp event) {
        acquire(event.request(), AcquireOutcome.INTERRUPTED, event.waited());
    }

    @Override
    public void onReleased(Released event) {
        // A lost lease is told as such, before or after its release.
        if (event.result() != ReleaseResult.LOST) {
            hold(event.request(), HoldOutcome.of(event.result()), event.held());
        }
    }

    @Override
    public void onLost(Lost event) {
        hold(event.request(), HoldOutcome.LOST, event.loss().heldFor());
    }

    private void acquire(LockRequest request, AcquireOutcome outcome, Duration waited) {
        record("lockkeeper.acquire", request, outcome.tag(), waited);
    }

    private void hold(LockRequest request, HoldOutcome outcome, Duration held) {
        record("lockkeeper.hold", request, outcome.tag(), held);
    }

    private void record(String name, LockRequest request, String outcome, Duration time) {
        Key key = new Key(name, LockTags.label(request.label()), request.mode(), outcome);
        timers.computeIfAbsent(key, this::timer).record(time);
    }

    private Timer timer(Key key) {
        return Timer.builder(key.name)
                .tag(LockTags.LABEL, key.label)
                .tag(LockTags.MODE, LockTags.mode(key.mode))
                .tag(LockTags.OUTCOME, key.outcome)
                .register(registry);
    }
}
