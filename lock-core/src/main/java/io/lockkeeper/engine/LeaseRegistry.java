/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.BiPredicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What this instance asks for, waits for and holds: the local locks by the ids of their attempts, the callers without
 * an answer, each with the local lock that it has entered, and the number of leases.
 */
final class LeaseRegistry {

    private final Map<AcquireSpec.AttemptId, LocalLock> locks = new ConcurrentHashMap<>();
    private final Map<PendingRequest, LocalLock> pending = new ConcurrentHashMap<>();
    final AtomicInteger leases = new AtomicInteger();

    /** The queue of leases that their callers have dropped. */
    final ReferenceQueue<LockLease> forgotten = new ReferenceQueue<>();

    final ManagedLease.OwedReleases owedReleases = new ManagedLease.OwedReleases();
    private final CompletableFuture<@Nullable Void> drained = new CompletableFuture<>();

    /** Whether a thread waits for the end of all leases but its own. */
    private volatile boolean drains;

    private final Set<ManagedLease> own = ConcurrentHashMap.newKeySet();

    /** Whether there has ever been a lock that broke. */
    volatile boolean breaks;

    // ---- attempts and their holds ----

    void track(AcquireSpec.AttemptId attempt, LocalLock lock) {
        locks.put(attempt, lock);
    }

    void untrack(AcquireSpec.AttemptId attempt) {
        locks.remove(attempt);
    }

    /** Returns the lock of an attempt; null: the attempt has ended. */
    @Nullable
    LocalLock lockOf(AcquireSpec.AttemptId attempt) {
        return locks.get(attempt);
    }

    /** Returns the lock of an attempt by its text; null: the attempt has ended, or is not one of ours. */
    @Nullable
    LocalLock lockOf(String attempt) {
        AcquireSpec.AttemptId id = AcquireSpec.AttemptId.parse(attempt);
        // A parser accepts other digits and upper case, which are no ids of this library.
        return id == null || !id.toString().equals(attempt) ? null : locks.get(id);
    }

    Collection<LocalLock> locks() {
        return locks.values();
    }

    int attempts() {
        return locks.size();
    }

    /** Returns each hold once; until the store confirms a downgrade, a lock is registered under two attempts. */
    Stream<StoreHold> holds() {
        return locks.values().stream()
                .map(LocalLock::hold)
                .filter(Objects::nonNull)
                .distinct();
    }

    // ---- callers without an answer ----

    void put(PendingRequest request, LocalLock lock) {
        pending.put(request, lock);
    }

    void remove(PendingRequest request) {
        pending.remove(request);
    }

    /** Returns the lock that a caller has entered last; null: it has its answer. */
    @Nullable
    LocalLock lockOf(PendingRequest request) {
        return pending.get(request);
    }

    /** Applies an action to the callers that meet a condition, in the order of their arrival. */
    void forEachPending(
            BiPredicate<PendingRequest, LocalLock> condition, BiConsumer<PendingRequest, LocalLock> action) {
        pending.entrySet().stream()
                .filter(entry -> condition.test(entry.getKey(), entry.getValue()))
                .sorted(Comparator.comparingLong(entry -> entry.getKey().number))
                .forEach(entry -> action.accept(entry.getKey(), entry.getValue()));
    }

    Set<PendingRequest> pending() {
        return pending.keySet();
    }

    // ---- leases ----

    List<ManagedLease> held() {
        return leasesOf(holds()).toList();
    }

    /** Returns the lease of an attempt that has been held for longest; empty: the attempt holds nothing here. */
    Optional<ManagedLease> heldBy(String attempt) {
        return leasesOf(Stream.ofNullable(lockOf(attempt))
                        .map(LocalLock::hold)
                        .filter(hold -> hold != null && hold.attempt().equals(attempt)))
                .min(Comparator.comparingLong(lease -> lease.grantedNanos));
    }

    private static Stream<ManagedLease> leasesOf(Stream<StoreHold> holds) {
        return holds.flatMap(hold -> hold.leases().stream()).map(ManagedLease.class::cast);
    }

    void reportForgotten() {
        for (Reference<?> dropped = forgotten.poll(); dropped != null; dropped = forgotten.poll()) {
            ((ForgottenLease) dropped).report();
        }
    }

    /** A lease has ended. */
    void over(ManagedLease ended) {
        // In this order, so that it does not count as a lease to wait for.
        own.remove(ended);
        leases.decrementAndGet();
        tellIfDrained();
    }

    private void tellIfDrained() {
        if (drains && leases.get() <= own.size()) {
            drained.complete(null);
        }
    }

    /** Returns a future that completes with the last lease; called when new callers are refused. */
    CompletableFuture<?> drained() {
        drains = true;
        tellIfDrained();
        return drained;
    }

    /** The leases of a thread that waits for the end are not waited for: it cannot end them. */
    void excludeLeasesOf(Thread waiting) {
        held().stream()
                .filter(lease -> lease.ofThread && lease.thread.equals(waiting))
                .forEach(own::add);
        // A lease may have ended before it was added.
        own.removeIf(lease -> !lease.isHeld());
        tellIfDrained();
    }
}
