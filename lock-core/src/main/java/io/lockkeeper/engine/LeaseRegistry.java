/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What this instance asks for, waits for and holds: the local locks by the ids of their attempts, the callers without an
 * answer, each with the local lock that it has entered, and how many leases there are.
 */
final class LeaseRegistry {

    private final Map<String, LocalLock> locks = new ConcurrentHashMap<>();
    private final Map<PendingRequest, LocalLock> pending = new ConcurrentHashMap<>();
    private final AtomicInteger leases = new AtomicInteger();
    private final CompletableFuture<@Nullable Void> drained = new CompletableFuture<>();
    private volatile boolean draining;

    /** How many leases the draining thread has itself. */
    private volatile int own;

    // ---- attempts and their holds ----

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

    private Stream<StoreHold> holds() {
        return locks.values().stream().map(LocalLock::hold).filter(Objects::nonNull);
    }

    /** Returns the holds of a name that callers share, or have alone, now. */
    List<StoreHold> holds(String name) {
        return holds().filter(hold -> hold.spec.names().contains(name)).toList();
    }

    // ---- callers without an answer ----

    /** A caller enters a lock, or is about to. */
    void put(PendingRequest request, LocalLock lock) {
        pending.put(request, lock);
    }

    /** A caller has its answer. */
    void remove(PendingRequest request) {
        pending.remove(request);
    }

    /** Returns the lock that a caller has entered last; null: it has its answer. */
    @Nullable
    LocalLock lockOf(PendingRequest request) {
        return pending.get(request);
    }

    /** Does something with all callers and the locks that they have entered, in the order in which they came. */
    void forEachPending(BiConsumer<PendingRequest, LocalLock> action) {
        pending.entrySet().stream()
                .sorted(Comparator.comparingLong(entry -> entry.getKey().number))
                .forEach(entry -> action.accept(entry.getKey(), entry.getValue()));
    }

    List<PendingRequest> pending() {
        return List.copyOf(pending.keySet());
    }

    /** Returns who has waited longest at a local lock; empty: no caller. */
    Optional<PendingRequest> firstAt(@Nullable LocalLock lock) {
        return pending.entrySet().stream()
                .filter(entry -> entry.getValue() == lock)
                .map(Map.Entry::getKey)
                .min(Comparator.comparingLong(caller -> caller.number));
    }

    // ---- leases ----

    /** Returns the leases that callers have now. */
    List<ManagedLease> held() {
        return holds().flatMap(hold -> hold.leases().stream())
                .map(ManagedLease.class::cast)
                .toList();
    }

    /** Returns the lease of an attempt that has been held for the longest time; empty: the attempt holds nothing here. */
    Optional<ManagedLease> heldBy(String attempt) {
        return Stream.ofNullable(locks.get(attempt))
                .map(LocalLock::hold)
                .filter(hold -> hold != null && hold.attempt.equals(attempt))
                .flatMap(hold -> hold.leases().stream())
                .map(ManagedLease.class::cast)
                .min(Comparator.comparing(ManagedLease::granted));
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
        own = (int)
                held().stream().filter(lease -> lease.thread().equals(waiting)).count();
        draining = true;
        if (leases.get() <= own) {
            drained.complete(null);
        }
        return drained;
    }
}
