/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.function.LongSupplier;

/** What the Redis store knows of the time of its server, over the clock of a simulation. */
public final class SimulatedServerClock {

    private final ServerClock clock;

    /**
     * Creates a clock that knows nothing.
     *
     * @param nanoTime the monotonic clock of the client
     */
    public SimulatedServerClock(LongSupplier nanoTime) {
        this.clock = new ServerClock(nanoTime);
    }

    /** Returns whether the server has told its time. */
    public boolean isKnown() {
        return clock.isKnown();
    }

    /** Takes in the time that a reply told. */
    public void told(long serverMicros) {
        clock.told(serverMicros);
    }

    /** Returns the earliest time that the server's clock can show now, in us. */
    public long micros() {
        return clock.micros();
    }
}
