/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.config.MeterFilter;
import java.util.Map;

/** Describes the timers of locks: those of observations are made without a description. */
final class LockMeterDescriptions implements MeterFilter {

    private static final Map<String, String> TEXTS = Map.of(
            "lockkeeper.acquire", "Time from a call for a lock to its end, by outcome",
            "lockkeeper.acquire.active", "Calls for a lock that have no answer yet",
            "lockkeeper.hold", "Time from a grant to the release or loss, by outcome",
            "lockkeeper.hold.active", "Locks that are held now",
            "lockkeeper.hold.lost", "Holds that were observed and lost");

    @Override
    public Meter.Id map(Meter.Id id) {
        String text = id.getDescription() == null ? TEXTS.get(id.getName()) : null;
        return text == null
                ? id
                : new Meter.Id(id.getName(), Tags.of(id.getTagsAsIterable()), id.getBaseUnit(), text, id.getType());
    }
}
