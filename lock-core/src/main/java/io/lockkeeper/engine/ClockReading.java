/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** A point in time on the monotonic and on the wall clock: the present, when something was sent, or a deadline. */
record ClockReading(long nanos, long wallMillis) {

    /** On the monotonic clock: no time at which something is to be done. */
    static final long NEVER = Long.MIN_VALUE;

    ClockReading plusMillis(long millis) {
        return new ClockReading(nanos + TimeUnit.MILLISECONDS.toNanos(millis), wallMillis + millis);
    }

    ClockReading minusNanos(long less) {
        return new ClockReading(nanos - less, wallMillis - TimeUnit.NANOSECONDS.toMillis(less));
    }

    /** Returns whether either clock says that this deadline has passed: the pessimistic answer. */
    boolean hasPassedAt(ClockReading now) {
        return now.nanos - nanos >= 0 || now.wallMillis >= wallMillis;
    }

    /** Returns whether this is later than another reading, on the monotonic clock. */
    boolean isAfter(ClockReading other) {
        return nanos - other.nanos > 0;
    }

    /** Returns a deadline that passes with the first of this one and another, whichever clock says so. */
    ClockReading orEarlier(ClockReading other) {
        return new ClockReading(nanos - other.nanos < 0 ? nanos : other.nanos, Math.min(wallMillis, other.wallMillis));
    }

    /** Returns the nanoseconds until this deadline by the clock that is ahead; not negative. */
    long nanosFrom(ClockReading now) {
        long monotonic = nanos - now.nanos;
        long wall = Math.max(0, wallMillis - now.wallMillis);
        return Math.max(0, wall < Long.MAX_VALUE / 1_000_000 ? Math.min(monotonic, wall * 1_000_000) : monotonic);
    }

    /**
     * Returns the nanoseconds until this deadline by the monotonic clock alone, for which a store is to keep something:
     * a wall clock that was set forward may be set back. Not negative.
     */
    long nanosToKeepFrom(ClockReading now) {
        return Math.max(0, nanos - now.nanos);
    }

    /** Returns the time from this reading to a later one, on the monotonic clock. */
    Duration until(ClockReading now) {
        return Duration.ofNanos(Math.max(0, now.nanos - nanos));
    }
}
