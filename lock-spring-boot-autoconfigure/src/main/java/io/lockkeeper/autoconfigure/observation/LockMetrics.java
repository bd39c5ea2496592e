/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockListener;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Counts what happens to locks, by label and mode. */
final class LockMetrics implements LockListener {

    private final MeterRegistry registry;
    private final Map<Key, LockMeters> meters = new ConcurrentHashMap<>();

    private record Key(LockMode mode, String label) {}

    LockMetrics(MeterRegistry registry) {
        this.registry = registry;
    }

    @Override
    public void onAsked(Asked event) {
        of(event.request()).waiting.incrementAndGet();
    }

    @Override
    public void onAcquired(Acquired event) {
        LockMeters own = of(event.request());
        own.waiting.decrementAndGet();
        own.held.incrementAndGet();
        Counter way = own.of(event.way());
        if (way != null) {
            way.increment();
        }
    }

    @Override
    public void onNotAcquired(NotAcquired event) {
        of(event.request()).waiting.decrementAndGet();
    }

    @Override
    public void onGivenUp(GivenUp event) {
        of(event.request()).waiting.decrementAndGet();
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
            of(event.request()).held.decrementAndGet();
        }
    }

    @Override
    public void onLost(Lost event) {
        LockMeters own = of(event.request());
        own.held.decrementAndGet();
        own.lost.increment();
    }

    @Override
    public void onRenewed(Renewed event) {
        of(event.mode(), event.label()).renewals.increment();
    }

    @Override
    public void onRenewalFailed(RenewalFailed event) {
        of(event.mode(), event.label()).renewalFailures.increment();
    }

    private LockMeters of(LockRequest request) {
        return of(request.mode(), request.label());
    }

    private LockMeters of(LockMode mode, @Nullable String label) {
        return meters.computeIfAbsent(new Key(mode, LockTags.label(label)), this::add);
    }

    private LockMeters add(Key key) {
        return new LockMeters(registry, Tags.of(LockTags.LABEL, key.label, LockTags.MODE, LockTags.mode(key.mode)));
    }
}
