/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * An estimate of the server's clock that is never ahead of it: each reply tells the server's time at some moment before
 * the reply arrived, and local time is added from its arrival on.
 */
final class ServerClock {

    private static final long REFRESH_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Two clocks drift apart by less than 1 in 1,000: NTP slews each of them by half of that at most. */
    private static final long DRIFT = 1_000;

    private final LongSupplier nanoTime;
    private final AtomicReference<@Nullable Sample> sample = new AtomicReference<>();

    ServerClock(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    boolean isKnown() {
        return sample.get() != null;
    }

    void told(long serverMicros) {
        long now = nanoTime.getAsLong();
        Sample fresh = new Sample(serverMicros, now);
        // The later estimate is the better one; an old one gives way whatever it says, because local clocks drift.
        sample.accumulateAndGet(fresh, (old, next) -> {
            if (old == null || next == null || now - old.nanos > REFRESH_NANOS) {
                return next;
            }
            return next.at(now) >= old.at(now) ? next : old;
        });
    }

    /** Returns the earliest time that the server's clock can show now, in us; 0 while nothing is known. */
    long micros() {
        Sample last = sample.get();
        return last == null ? 0 : last.at(nanoTime.getAsLong());
    }

    private record Sample(long serverMicros, long nanos) {

        long at(long now) {
            long passed = TimeUnit.NANOSECONDS.toMicros(now - nanos);
            // What the server did when it told the time is over: the next command comes at least 1 us later
            return serverMicros + 1 + passed - passed / DRIFT;
        }
    }

    /** The clocks of all servers, by their names: each master of a cluster has its own. */
    static final class All {

        private final Map<String, ServerClock> clocks = new ConcurrentHashMap<>();

        ServerClock of(String server) {
            return clocks.computeIfAbsent(server, name -> new ServerClock(System::nanoTime));
        }

        /** Returns the clock of the server that answered first, for those that have said nothing yet. */
        ServerClock first() {
            return of(ClusterTopology.ANY);
        }

        long micros(String server) {
            return (of(server).isKnown() ? of(server) : first()).micros();
        }
    }
}
