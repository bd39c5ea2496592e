/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockListener;
import io.lockkeeper.LockStatus;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Remembers how renewals go. */
final class RenewalWatch implements LockListener {

    /** Remaining times are partly counted on a clock of milliseconds. */
    private static final long TOLERANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** When the holds end whose last renewal failed, in nanoseconds; each under all of its names. */
    private final Map<Set<String>, Long> failing = new ConcurrentHashMap<>();

    private volatile @Nullable Instant lastRenewal;

    /** Returns when a lease was renewed; null: none has been. */
    @Nullable
    Instant lastRenewal() {
        return lastRenewal;
    }

    /**
     * Returns the number of holds whose last renewal failed.
     *
     * @param held what is held
     * @param now a moment before that was found out, as {@link System#nanoTime()}
     */
    int failing(Collection<LockStatus> held, long now) {
        if (failing.isEmpty()) {
            return 0;
        }
        failing.values().removeIf(end -> end - now < 0);
        Map<String, Long> remaining = held.stream()
                .collect(Collectors.toMap(LockStatus::name, status -> nanos(status.remaining()), Math::max));
        // The failure may have come here after the release, or after a renewal that worked: then the lock is not
        // held, or until a later moment.
        return (int) failing.entrySet().stream()
                .filter(hold -> hold.getKey().stream()
                        .allMatch(name -> remaining.getOrDefault(name, Long.MAX_VALUE)
                                <= hold.getValue() - now + TOLERANCE_NANOS))
                .count();
    }

    @Override
    public void onRenewed(Renewed event) {
        lastRenewal = Instant.now();
        forget(event.names());
    }

    @Override
    public void onRenewalFailed(RenewalFailed event) {
        long now = System.nanoTime();
        failing.values().removeIf(end -> end - now < 0);
        failing.put(Set.copyOf(event.names()), now + nanos(event.remaining()));
    }

    @Override
    public void onReleased(Released event) {
        forget(event.request().names());
    }

    @Override
    public void onLost(Lost event) {
        forget(event.request().names());
    }

    private void forget(Collection<String> names) {
        if (!failing.isEmpty()) {
            failing.remove(Set.copyOf(names));
        }
    }

    private static long nanos(Duration duration) {
        return TimeUnit.NANOSECONDS.convert(duration);
    }
}
