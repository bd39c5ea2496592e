/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What this instance asks for, waits for and holds: the local locks by the ids of their attempts, and how many leases there are. */
final class LeaseRegistry {

    private final Map<String, LocalLock> locks = new ConcurrentHashMap<>();
    private final AtomicInteger leases = new AtomicInteger();
    private final CompletableFuture<@Nullable Void> drained = new CompletableFuture<>();
    private volatile boolean draining;

    /** How many leases the draining thread has itself. */
    private volatile int own;

    /** Messages about an attempt, and about its hold, concern a lock from now on. */
    void track(String attempt, LocalLock lock) {
        locks.put(attempt, lock);
    }

    /** An attempt has ended, and so has its hold. */
    void untrack(String attempt) {
        locks.remove(attempt);
    }

    /** Returns the lock of an attempt; null: the attempt has ended. */
    @Nullable
    LocalLock lockOf(String attempt) {
        return locks.get(attempt);
    }

    void forEachLock(Consumer<LocalLock> action) {
        locks.values().forEach(action);
    }

    /** Returns how many attempts ask, wait or hold. */
    int attempts() {
        return locks.size();
    }

    /** Returns the holds of a name that callers share, or have alone, now. */
    List<StoreHold> holds(String name) {
        return locks.values().stream()
                .map(LocalLock::hold)
                .filter(Objects::nonNull)
                .filter(hold -> hold.spec.names().contains(name))
                .toList();
    }

    /** Returns the leases that callers have now. */
    List<ManagedLease> held() {
        List<ManagedLease> held = new ArrayList<>();
        for (LocalLock lock : locks.values()) {
            StoreHold hold = lock.hold();
            if (hold != null) {
                for (StoreHold.Holder holder : hold.leases()) {
                    held.add((ManagedLease) holder);
                }
            }
        }
        return held;
    }

    /** Returns the lease of an attempt that has been held for the longest time; empty: the attempt holds nothing here. */
    Optional<ManagedLease> heldBy(String attempt) {
        LocalLock lock = locks.get(attempt);
        StoreHold hold = lock == null ? null : lock.hold();
        if (hold == null || !hold.attempt.equals(attempt)) {
            return Optional.empty();
        }
        return hold.leases().stream().map(ManagedLease.class::cast).min(Comparator.comparing(ManagedLease::granted));
    }

    void begun() {
        leases.incrementAndGet();
    }

    void over() {
        if (leases.decrementAndGet() <= own && draining) {
            drained.complete(null);
        }
    }

    /** Returns how many leases have begun and are not over. */
    int leases() {
        return leases.get();
    }

    /**
     * Returns what is completed when no lease is left; called once no caller gets one who holds nothing.
     *
     * @param waiting the thread that waits, and whose leases are not waited for: it cannot end them; null: none does
     */
    CompletableFuture<?> drained(@Nullable Thread waiting) {
        own = waiting == null
                ? 0
                : (int) held().stream()
                        .filter(lease -> lease.thread().equals(waiting))
                        .count();
        draining = true;
        if (leases.get() <= own) {
            drained.complete(null);
        }
        return drained;
    }
}
