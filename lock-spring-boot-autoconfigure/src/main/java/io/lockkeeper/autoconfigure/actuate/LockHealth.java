/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockStatus;
import io.lockkeeper.store.GrantChannel;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;

/**
 * Whether locks work, found out without taking one or writing: DOWN where the store does not answer, or renewals of
 * held locks fail; OUT_OF_SERVICE where grants do not arrive, and callers who wait notice a free lock only when they
 * poll.
 */
final class LockHealth implements LockListener {

    /** No lock has this name; it is only looked at. */
    private static final String PROBE = "lockkeeper:health";

    /** Remaining times are partly counted on a clock of milliseconds. */
    private static final long TOLERANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final ListableBeanFactory beans;

    /** When the holds end whose last renewal failed, in nanoseconds; each under all of its names. */
    private final Map<Set<String>, Long> failing = new ConcurrentHashMap<>();

    private volatile @Nullable Instant lastRenewal;

    /** What was found, under the names that Spring Boot gives to it. */
    record Report(String status, Map<String, Object> details) {}

    LockHealth(ListableBeanFactory beans) {
        this.beans = beans;
    }

    Report look() {
        // At each look: the templates are made after their listeners.
        Collection<LockInspector> all =
                LockkeeperEndpointAutoConfiguration.inspectors(beans).values();
        Map<String, Object> details = new LinkedHashMap<>();
        List<String> refusals = new ArrayList<>();
        List<GrantChannel> channels = all.stream()
                .map(inspector -> ask(inspector::grantChannel, refusals))
                .filter(Objects::nonNull)
                .filter(GrantChannel::expected)
                .toList();
        List<Instant> since = channels.stream()
                .map(GrantChannel::since)
                .filter(Objects::nonNull)
                .sorted()
                .toList();
        if (!channels.isEmpty()) {
            boolean isOpen = since.size() == channels.size();
            details.put("grantsSince", isOpen ? since.get(since.size() - 1).toString() : "not now");
        }
        // Before the holds are looked at: a renewal that works after this makes them end later.
        long now = System.nanoTime();
        List<LockStatus> held =
                all.stream().flatMap(inspector -> inspector.heldHere().stream()).toList();
        int failures = failing(held, now);
        Instant renewed = lastRenewal;
        details.put("lastRenewal", renewed == null ? "never" : renewed.toString());
        details.put("failingRenewals", failures);
        details.put("held", held.size());
        details.put(
                "waiting",
                all.stream()
                        .mapToInt(inspector -> inspector.waitingHere().size())
                        .sum());
        all.forEach(inspector -> ask(() -> inspector.status(PROBE), refusals));
        if (!refusals.isEmpty()) {
            details.put("store", refusals.get(0));
        }
        String working = channels.stream().anyMatch(GrantChannel::isDown) ? "OUT_OF_SERVICE" : "UP";
        return new Report(refusals.isEmpty() && failures == 0 ? working : "DOWN", details);
    }

    /** Returns what a store answers; null: nothing, and why not is among the refusals. */
    private static <T> @Nullable T ask(Supplier<T> question, List<String> refusals) {
        try {
            return question.get();
        } catch (RuntimeException failure) {
            // Without the name, which means nothing to a reader.
            Throwable cause = failure.getCause() == null ? failure : failure.getCause();
            refusals.add(cause.getMessage() == null ? cause.toString() : cause.getMessage());
            return null;
        }
    }

    private int failing(Collection<LockStatus> held, long now) {
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
