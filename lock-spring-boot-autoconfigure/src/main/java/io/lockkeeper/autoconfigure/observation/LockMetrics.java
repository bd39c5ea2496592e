/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockListener;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.autoconfigure.observation.LockAcquireContext.Outcome;
import io.micrometer.common.KeyValue;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.LongTaskTimer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Counts and times what happens to locks, by label and mode. */
final class LockMetrics implements LockListener {

    private final MeterRegistry registry;
    private final boolean timed;
    private final Map<Key, Meters> meters = new ConcurrentHashMap<>();

    /** What each acquisition does now, where that is timed: it waits, or holds. */
    private final Map<Long, LongTaskTimer.Sample> underWay = new ConcurrentHashMap<>();

    private record Key(LockMode mode, String label) {}

    private record TimerKey(String name, Enum<?> outcome, String error) {}

    /** Has no timers where locks are observed: their observations are timed. */
    LockMetrics(MeterRegistry registry, boolean timed) {
        this.registry = registry;
        this.timed = timed;
    }

    @Override
    public void onAsked(Asked event) {
        Meters own = of(event.request());
        own.waiting.incrementAndGet();
        begin(event.acquisition(), own.asking);
    }

    private void begin(long acquisition, @Nullable LongTaskTimer timer) {
        if (timer != null) {
            underWay.put(acquisition, timer.start());
        }
    }

    private void end(long acquisition) {
        LongTaskTimer.Sample sample = underWay.remove(acquisition);
        if (sample != null) {
            sample.stop();
        }
    }

    @Override
    public void onAcquired(Acquired event) {
        Meters own = asked(event.acquisition(), event.request(), Outcome.ACQUIRED, null, event.waited());
        own.held.incrementAndGet();
        begin(event.acquisition(), own.holding);
        switch (event.way()) {
            case ANSWER -> {}
            case PASS -> own.passes.increment();
            case GRANT -> own.grants.increment();
            case POLL -> own.recoveredPolls.increment();
        }
    }

    @Override
    public void onNotAcquired(NotAcquired event) {
        Outcome outcome = Outcome.of(event);
        Throwable error = outcome == Outcome.ERROR ? event.reason() : null;
        asked(event.acquisition(), event.request(), outcome, error, event.waited());
    }

    @Override
    public void onGivenUp(GivenUp event) {
        asked(event.acquisition(), event.request(), Outcome.INTERRUPTED, null, event.waited());
    }

    private Meters asked(
            long acquisition, LockRequest request, Outcome outcome, @Nullable Throwable error, Duration waited) {
        end(acquisition);
        Meters own = of(request);
        own.waiting.decrementAndGet();
        own.record("lockkeeper.acquire", outcome, error, waited);
        return own;
    }

    @Override
    public void onDowngraded(Downgraded event) {
        of(event.before()).held.decrementAndGet();
        of(event.after()).held.incrementAndGet();
    }

    @Override
    public void onReleased(Released event) {
        // A lost lease is told as such, before or after its release.
        if (event.result() != ReleaseResult.LOST) {
            ReleaseResult outcome = LockObservations.outcome(event.result());
            held(event.acquisition(), event.request(), outcome, null, event.held());
        }
    }

    @Override
    public void onLost(Lost event) {
        of(event.request()).lost.increment();
        held(
                event.acquisition(),
                event.request(),
                ReleaseResult.LOST,
                event.loss(),
                event.loss().heldFor());
    }

    private void held(
            long acquisition, LockRequest request, ReleaseResult outcome, @Nullable Throwable error, Duration held) {
        end(acquisition);
        Meters own = of(request);
        own.held.decrementAndGet();
        own.record("lockkeeper.hold", outcome, error, held);
    }

    @Override
    public void onRenewed(Renewed event) {
        of(event.mode(), event.label()).renewals.increment();
    }

    @Override
    public void onRenewalFailed(RenewalFailed event) {
        of(event.mode(), event.label()).renewalFailures.increment();
    }

    private Meters of(LockRequest request) {
        return of(request.mode(), request.label());
    }

    private Meters of(LockMode mode, @Nullable String label) {
        return meters.computeIfAbsent(new Key(mode, label == null ? KeyValue.NONE_VALUE : label), Meters::new);
    }

    /** The meters of one label and mode. Gauges and counters are there from the first request on. */
    private final class Meters {

        private final Tags tags;
        private final AtomicInteger held = new AtomicInteger();
        private final AtomicInteger waiting = new AtomicInteger();
        private final Counter lost;
        private final Counter renewals;
        private final Counter renewalFailures;
        private final Counter passes;
        private final Counter grants;
        private final Counter recoveredPolls;
        private final @Nullable LongTaskTimer asking;
        private final @Nullable LongTaskTimer holding;
        private final Map<TimerKey, Timer> timers = new ConcurrentHashMap<>();

        Meters(Key key) {
            tags = Tags.of("label", key.label, "mode", LockObservationDocumentation.text(key.mode));
            gauge("lockkeeper.held", held, "Locks held by this instance");
            gauge("lockkeeper.waiting", waiting, "Callers who have asked for a lock and have no answer");
            lost = counter("lockkeeper.lost", "Locks that ended without a release");
            renewals = counter("lockkeeper.renewals", "Renewed leases");
            renewalFailures = counter("lockkeeper.renewal.failures", "Renewals that failed");
            passes = counter("lockkeeper.passes", "Locks passed on within this instance");
            grants = counter("lockkeeper.grants", "Locks that a message gave to this instance");
            recoveredPolls = counter(
                    "lockkeeper.polls.recovered",
                    "Locks that a poll found, because a message was lost or a holder crashed");
            asking = timed ? longTaskTimer("lockkeeper.acquire.active") : null;
            holding = timed ? longTaskTimer("lockkeeper.hold.active") : null;
        }

        private LongTaskTimer longTaskTimer(String name) {
            return LongTaskTimer.builder(name)
                    .tags(tags)
                    .tag("outcome", KeyValue.NONE_VALUE)
                    .register(registry);
        }

        private void gauge(String name, AtomicInteger number, String text) {
            Gauge.builder(name, number, AtomicInteger::get)
                    .description(text)
                    .tags(tags)
                    .register(registry);
        }

        private Counter counter(String name, String text) {
            return Counter.builder(name).description(text).tags(tags).register(registry);
        }

        void record(String name, Enum<?> outcome, @Nullable Throwable error, Duration time) {
            if (timed) {
                String failure =
                        error == null ? KeyValue.NONE_VALUE : error.getClass().getSimpleName();
                timers.computeIfAbsent(new TimerKey(name, outcome, failure), this::timer)
                        .record(time);
            }
        }

        /** The tags are those of an observation, so that the application's queries serve with and without spans. */
        private Timer timer(TimerKey key) {
            return Timer.builder(key.name)
                    .tags(tags)
                    .tags("outcome", LockObservationDocumentation.text(key.outcome), "error", key.error)
                    .register(registry);
        }
    }
}
