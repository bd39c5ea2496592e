/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockListener.Way;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The gauges and counters of one label and mode, all of which are there from the first request on. */
final class LockMeters {

    final AtomicInteger held = new AtomicInteger();
    final AtomicInteger waiting = new AtomicInteger();
    final Counter lost;
    final Counter renewals;
    final Counter renewalFailures;
    private final Counter passes;
    private final Counter grants;
    private final Counter recoveredPolls;

    LockMeters(MeterRegistry registry, Tags tags) {
        gauge(registry, tags, "lockkeeper.held", held, "Locks held by this instance");
        gauge(registry, tags, "lockkeeper.waiting", waiting, "Callers who have asked for a lock and have no answer");
        lost = counter(registry, tags, "lockkeeper.lost", "Locks that ended without a release");
        renewals = counter(registry, tags, "lockkeeper.renewals", "Renewed leases");
        renewalFailures = counter(registry, tags, "lockkeeper.renewal.failures", "Renewals that failed");
        passes = counter(registry, tags, "lockkeeper.passes", "Locks passed on within this instance");
        grants = counter(registry, tags, "lockkeeper.grants", "Locks that a message gave to this instance");
        recoveredPolls = counter(
                registry,
                tags,
                "lockkeeper.polls.recovered",
                "Locks that a poll found, because a message was lost or a holder crashed");
    }

    /** Returns what counts the locks that come in a way; null: nothing does. */
    @Nullable
    Counter of(Way way) {
        return switch (way) {
            case ANSWER -> null;
            case PASS -> passes;
            case GRANT -> grants;
            case POLL -> recoveredPolls;
        };
    }

    private static void gauge(MeterRegistry registry, Tags tags, String name, AtomicInteger number, String text) {
        Gauge.builder(name, number, AtomicInteger::get)
                .description(text)
                .tags(tags)
                .register(registry);
    }

    private static Counter counter(MeterRegistry registry, Tags tags, String name, String text) {
        return Counter.builder(name).description(text).tags(tags).register(registry);
    }
}
