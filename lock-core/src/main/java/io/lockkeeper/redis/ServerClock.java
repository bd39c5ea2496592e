package io.lockkeeper.redis;

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

    private final LongSupplier nanoTime;
    private final AtomicReference<@Nullable Sample> sample = new AtomicReference<>();

    ServerClock(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** Returns whether the server has told its time. */
    boolean isKnown() {
        return sample.get() != null;
    }

    /** Takes in the time that a reply told. */
    void told(long serverMillis) {
        long now = nanoTime.getAsLong();
        Sample fresh = new Sample(serverMillis, now);
        // The later estimate is the better one; an old one gives way whatever it says, because local clocks drift.
        sample.accumulateAndGet(fresh, (old, next) -> {
            if (old == null || next == null || now - old.nanos > REFRESH_NANOS) {
                return next;
            }
            return next.serverMillis >= old.at(now) ? next : old;
        });
    }

    /** Returns the earliest time that the server's clock can show now, in ms; 0 while nothing is known. */
    long millis() {
        Sample last = sample.get();
        return last == null ? 0 : last.at(nanoTime.getAsLong());
    }

    private record Sample(long serverMillis, long nanos) {

        long at(long now) {
            return serverMillis + TimeUnit.NANOSECONDS.toMillis(now - nanos);
        }
    }
}
