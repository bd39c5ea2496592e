/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.time.Duration;

/**
 * A point in time on both clocks.
 *
 * @param nanos on the monotonic clock
 * @param wallMillis on the wall clock
 */
record Moment(long nanos, long wallMillis) {

    /** Returns this moment, so many milliseconds later. */
    Moment plusMillis(long millis) {
        return new Moment(nanos + millis * 1_000_000, wallMillis + millis);
    }

    /** Returns whether either clock says that this moment has come: the pessimistic reading of a deadline. */
    boolean hasPassed(TimeSource time) {
        return time.nanoTime() - nanos >= 0 || time.currentTimeMillis() >= wallMillis;
    }

    /** Returns whether this moment is later than another, on the monotonic clock. */
    boolean isAfter(Moment other) {
        return nanos - other.nanos > 0;
    }

    /** Returns the nanoseconds until this moment by the clock that is ahead; not negative. */
    long nanosFrom(TimeSource time) {
        long monotonic = nanos - time.nanoTime();
        long wall = Math.max(0, wallMillis - time.currentTimeMillis());
        return Math.max(0, wall < Long.MAX_VALUE / 1_000_000 ? Math.min(monotonic, wall * 1_000_000) : monotonic);
    }

    /** Returns the time from this moment to the present, on the monotonic clock. */
    Duration until(TimeSource time) {
        return Duration.ofNanos(Math.max(0, time.nanoTime() - nanos));
    }
}
