/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockInstance;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockWait;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.GrantChannel;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoredLock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Looks at locks for operators. */
final class LockInspection implements LockInspector {

    /** So many names are looked at: most may be of locks that were released a moment ago. */
    private static final int MOST_NAMES = 100_000;

    private static final int AT_ONCE = 100;

    private final LockStore store;
    private final LeaseRegistry registry;
    private final InstanceDirectory instances;
    private final PendingRequests pending;
    private final Clock clock;
    private final Consumer<StoreHold> revoked;

    /**
     * Makes an inspection.
     *
     * @param revoked ends a hold of this instance that was taken away by force
     */
    LockInspection(
            LockStore store,
            LeaseRegistry registry,
            InstanceDirectory instances,
            PendingRequests pending,
            Clock clock,
            Consumer<StoreHold> revoked) {
        this.store = store;
        this.registry = registry;
        this.instances = instances;
        this.pending = pending;
        this.clock = clock;
        this.revoked = revoked;
    }

    @Override
    public Optional<LockStatus> status(String name) {
        LockRequest.of(name);
        return StoreCalls.answer(name, describe(name));
    }

    /** Returns whether a lock is held: in READ by readers, in WRITE by one holder alone, in other modes in any way. */
    boolean isLocked(String name, LockMode mode) {
        Optional<StoredLock> found = StoreCalls.answer(name, store.inspect(name));
        return found.filter(lock -> !lock.holders().isEmpty())
                .filter(lock -> switch (mode) {
                    case READ -> lock.mode() == ClaimMode.READ;
                    case WRITE -> lock.mode() != ClaimMode.READ;
                    case EXCLUSIVE, FAIR -> true;
                })
                .isPresent();
    }

    private CompletableFuture<Optional<LockStatus>> describe(String name) {
        return store.inspect(name)
                .thenCompose(found -> found.isEmpty()
                        ? CompletableFuture.completedFuture(Optional.empty())
                        : describe(found.get()).thenApply(Optional::of));
    }

    private CompletableFuture<LockStatus> describe(StoredLock lock) {
        CompletableFuture<List<LockInstance>> holders =
                describe(lock.holders(), (attempt, instance) -> registry.heldBy(attempt)
                        .map(lease -> holder(instance, lease, lock.name()))
                        .orElse(instance));
        CompletableFuture<List<LockInstance>> waiters =
                describe(lock.waiters(), (attempt, instance) -> pending.firstAt(registry.lockOf(attempt))
                        .map(caller -> waiter(instance, caller))
                        .orElse(instance));
        return holders.thenCombine(
                waiters,
                (holding, waiting) -> new LockStatus(
                        lock.name(),
                        LockMode.valueOf(lock.mode().name()),
                        holding,
                        lock.token(),
                        Duration.ofMillis(lock.remainingMillis()),
                        waiting,
                        lock.waiting()));
    }

    private CompletableFuture<List<LockInstance>> describe(
            List<String> attempts, BiFunction<String, LockInstance, LockInstance> detail) {
        return instances.all(attempts).thenApply(found -> IntStream.range(0, attempts.size())
                .mapToObj(place -> detail.apply(attempts.get(place), found.get(place)))
                .toList());
    }

    /** Returns this instance as the holder of a lease. */
    static LockInstance holder(LockInstance instance, ManagedLease lease, String name) {
        return new LockInstance(
                instance.id(),
                instance.application(),
                instance.host(),
                instance.pid(),
                instance.since(),
                lease.granted(),
                null,
                lease.label(),
                nameOf(lease.thread()),
                lease.fencingToken(name));
    }

    private static LockInstance waiter(LockInstance instance, PendingRequest caller) {
        return new LockInstance(
                instance.id(),
                instance.application(),
                instance.host(),
                instance.pid(),
                instance.since(),
                null,
                Instant.ofEpochMilli(caller.asked.wallMillis()),
                caller.request.label(),
                nameOf(caller.thread()),
                null);
    }

    @SuppressWarnings("deprecation") // Java 17 has no other way to the id.
    private static String nameOf(Thread thread) {
        return thread.getName().isEmpty() ? "#" + thread.getId() : thread.getName();
    }

    @Override
    public Optional<LockInstance> here() {
        return Optional.of(instances.here());
    }

    @Override
    public List<LockStatus> heldHere() {
        Map<String, LockStatus> held = new LinkedHashMap<>();
        for (ManagedLease lease : registry.held()) {
            if (lease.isHeld()) {
                for (String name : lease.names()) {
                    LockStatus status = new LockStatus(
                            name,
                            lease.mode(),
                            List.of(holder(instances.here(), lease, name)),
                            lease.fencingToken(name),
                            lease.remaining(),
                            List.of());
                    held.merge(name, status, LockInspection::longer);
                }
            }
        }
        return List.copyOf(held.values());
    }

    @Override
    public List<LockWait> waitingHere() {
        ClockReading now = clock.now();
        return pending.all().stream()
                .map(caller -> new LockWait(
                        caller.request.names(),
                        caller.request.mode(),
                        caller.request.label(),
                        caller.asked.until(now),
                        Instant.ofEpochMilli(caller.asked.wallMillis()),
                        nameOf(caller.thread())))
                .toList();
    }

    @Override
    public GrantChannel grantChannel() {
        return store.grantChannel();
    }

    private static LockStatus longer(LockStatus a, LockStatus b) {
        return a.remaining().compareTo(b.remaining()) >= 0 ? a : b;
    }

    @Override
    public List<LockStatus> find(String namePattern, int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("The limit must be 1 or more, but is " + limit);
        }
        List<String> candidates = StoreCalls.answer(namePattern, store.find(namePattern, Math.max(limit, MOST_NAMES)));
        List<LockStatus> found = new ArrayList<>();
        for (int from = 0; from < candidates.size() && found.size() < limit; from += AT_ONCE) {
            List<CompletableFuture<Optional<LockStatus>>> answers =
                    candidates.subList(from, Math.min(candidates.size(), from + AT_ONCE)).stream()
                            .map(this::describe)
                            .toList();
            answers.forEach(answer -> StoreCalls.answer(namePattern, answer).ifPresent(found::add));
        }
        return found.size() > limit ? List.copyOf(found.subList(0, limit)) : found;
    }

    @Override
    public boolean forceRelease(String name) {
        LockRequest.of(name);
        // Those that begin later may come after the revocation.
        List<StoreHold> ours = registry.holds(name);
        boolean held = StoreCalls.answer(name, store.revoke(name));
        if (held) {
            ours.forEach(revoked);
        }
        return held;
    }
}
