/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one way in for all forms of a {@link LockTemplate}: asks what surrounds an acquisition, such as a transaction,
 * then enters again what the thread holds, without asking the manager, and acquires what is missing. Surrounding work
 * that holds a lock on has a level of its own, so that its thread enters the lock again until that work has ended.
 */
class ReentrantHolds {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    /** Up to so many owners, none is looked for that has ended. */
    private static final int FEW_OWNERS = 16;

    /** A wait of zero would be no wait. */
    private static final Duration SHORTEST_WAIT = Duration.ofNanos(1);

    final LockManager manager;
    private final @Nullable AcquisitionInterceptor interceptor;

    /** Those who are inside of something, or did not unlock what ended by itself: threads. */
    private final Map<Object, LockOwner> owners = new ConcurrentHashMap<>();

    private volatile int manyOwners = FEW_OWNERS;

    ReentrantHolds(LockManager manager, @Nullable AcquisitionInterceptor interceptor) {
        this.manager = manager;
        this.interceptor = interceptor;
    }

    // ---- owners ----

    /** Returns who asks on this thread. */
    Object self() {
        return Thread.currentThread();
    }

    /** Returns what an owner is inside of. */
    LockOwner known(Object owner) {
        return owners.getOrDefault(owner, LockOwner.OUTSIDE);
    }

    /** Puts an owner inside a level: what that holds, it enters again as if it had acquired it. */
    void enter(Object owner, NestedLease level) {
        if (owners.size() >= manyOwners) {
            // One that ended without its unlocks cannot unlock any more; what is still held is not forgotten.
            owners.entrySet()
                    .removeIf(entry -> entry.getKey() instanceof Thread thread
                            && !thread.isAlive()
                            && entry.getValue().levels().stream().noneMatch(LockLease::isHeld));
            manyOwners = FEW_OWNERS + 2 * owners.size();
        }
        forgetEnded(owner);
        change(owner, known -> known.enter(level));
    }

    /** Takes an owner out of a level, on any thread. */
    void leave(Object owner, NestedLease level) {
        change(owner, known -> known.leave(level));
    }

    /** Takes one of the unlocks that an owner owes; false: there is none. */
    boolean takeOwed(Object owner, LockRequest request) {
        LockRequest owed = known(owner).owedFor(request);
        if (owed != null) {
            change(owner, known -> known.pay(owed));
        }
        return owed != null;
    }

    /** Forgets the locks of an owner that ended by themselves; their unlocks are owed from now on. */
    private void forgetEnded(Object owner) {
        for (NestedLease level : known(owner).levels()) {
            if (level.hasEnded()) {
                change(owner, known -> known.owe(level));
                if (level.leases().stream().anyMatch(LockManager.Lease::hasEndedAsAsked)) {
                    log.warn(
                            "Lock '{}' was not unlocked before its lease time was over: call unlock() in a finally block",
                            String.join("', '", level.names()));
                }
            }
        }
    }

    private void change(Object owner, UnaryOperator<LockOwner> change) {
        owners.compute(owner, (same, known) -> {
            LockOwner changed = change.apply(known == null ? LockOwner.OUTSIDE : known);
            return changed.isOutside() ? null : changed;
        });
    }

    /** Returns the leases that are levels of these holds, and have not ended. */
    private List<NestedLease> levels(Collection<? extends LockLease> leases) {
        return leases.isEmpty()
                ? List.of()
                : leases.stream()
                        .filter(lease -> lease instanceof NestedLease level && level.isOf(this))
                        .map(NestedLease.class::cast)
                        .toList();
    }

    // ---- the forms ----

    /** Acquires a lease of its own; where surrounding work holds it on, a level of the thread. */
    LockLease acquire(LockRequest request) {
        Entry entry = new Entry(request, NestedLease.Kind.BODY, List.of());
        if (entry.keeper != null) {
            return entry.enter(true);
        }
        manager.check(request);
        entry.refuseHeld();
        return AcquiredLease.ofThisCaller(request).apply(manager.acquire(request, entry.isNested(), true));
    }

    /**
     * Acquires as {@link #acquire}, without blocking.
     *
     * @param received makes of a lease what the caller receives
     */
    void acquireAsync(
            LockRequest request, CompletableFuture<LockLease> result, Function<LockManager.Lease, LockLease> received) {
        try {
            Entry entry = new Entry(request, NestedLease.Kind.BODY, List.of());
            manager.check(request);
            if (entry.keeper == null) {
                manager.acquireAsync(request, entry.isNested(), result, received, false);
                return;
            }
            // Held on at once where the lock is there, so that this thread enters it again from now on.
            CompletableFuture<LockLease> entering = entry.enterAsync();
            entering.whenComplete((lease, failure) -> manager.execute(() -> {
                if (lease == null) {
                    result.completeExceptionally(failure);
                } else if (!result.complete(lease)) {
                    ((NestedLease) lease).closeAsync();
                }
            }));
            result.whenComplete((lease, failure) -> entering.cancel(false));
        } catch (RuntimeException | Error refused) {
            // A caller with a future looks for failures nowhere else.
            result.completeExceptionally(refused);
        }
    }

    /**
     * Lets this thread enter a lock, waiting for it and for the store.
     *
     * @param body whether for a body; else until an unlock
     */
    NestedLease enter(LockRequest request, boolean body, boolean interruptibly) {
        return new Entry(request, body ? NestedLease.Kind.BODY : NestedLease.Kind.LOCK, List.of()).enter(interruptibly);
    }

    /**
     * Lets this thread enter a lock without blocking. The level belongs to no owner.
     *
     * @param enclosing leases under which the caller runs besides: what they hold is entered again, too
     * @return the level to come; ended by the caller, it gives up the place
     */
    CompletableFuture<LockLease> enterAsync(LockRequest request, Collection<? extends LockLease> enclosing) {
        return new Entry(request, NestedLease.Kind.BODY, enclosing).enterAsync();
    }

    /** One call that asks for locks, on its thread: what surrounds it, and what is held already. */
    private final class Entry {

        private final LockRequest request;
        private final NestedLease level;
        private final Object owner = self();

        /** What the owner is inside of. */
        private final LockOwner known = known(owner);

        /** The other levels under which the call is made. */
        private final List<NestedLease> enclosing;

        /** Receives a lease that holds the lock on; null: nothing does. */
        private final @Nullable Consumer<LockLease> keeper;

        /** How long it took to extend what is held already; null: it was not extended. */
        private volatile @Nullable Duration extendedFor;

        Entry(LockRequest request, NestedLease.Kind kind, Collection<? extends LockLease> enclosing) {
            this.request = request;
            this.level = new NestedLease(ReentrantHolds.this, request, kind);
            this.enclosing = levels(enclosing);
            this.keeper = interceptor == null ? null : interceptor.beforeAcquisition(request, isReentry());
        }

        // ---- what is held already ----

        private boolean isReentry() {
            return request.names().stream().allMatch(this::isHeld);
        }

        private boolean isHeld(String name) {
            ReentrantHold hold = find(name);
            return hold != null && hold.lease().isHeld();
        }

        private @Nullable ReentrantHold find(String name) {
            ReentrantHold found = known.find(name, request.mode());
            for (int i = 0; found == null && i < enclosing.size(); i++) {
                found = enclosing.get(i).find(name, request.mode());
            }
            return found;
        }

        boolean isNested() {
            return !enclosing.isEmpty() || !known.levels().isEmpty();
        }

        /** Refuses a request for a lease of its own that would wait for this very thread. */
        void refuseHeld() {
            for (String name : request.names()) {
                if (manager.excludes() && isHeld(name)) {
                    throw new IllegalStateException("This thread holds lock '" + name + "' already, through execute,"
                            + " run, a DistributedLock or an annotated method, and would wait for itself: acquire and"
                            + " tryAcquire give a lease of their own each time. Use execute or run to enter the lock"
                            + " again, or LockContext.current() to get the lease.");
                }
            }
        }

        /**
         * Enters what is held already. A fixed lease that ended as asked begins anew where only its unlock is missing.
         *
         * @throws LockLostException if a hold was lost; where only its unlock is missing, it is forgotten then, too
         */
        private void enterHeld() {
            for (String name : request.names()) {
                ReentrantHold hold = find(name);
                if (hold == null || level.isIn(hold)) {
                    continue;
                }
                LockManager.Lease lease = hold.lease();
                if (hold.hasEnded()) {
                    boolean asAsked = lease.hasEndedAsAsked();
                    hold.drop();
                    forgetEnded(owner);
                    if (asAsked) {
                        continue;
                    }
                }
                lease.ensureHeld();
                level.enter(hold);
            }
        }

        /** Has the fixed ends extended of what is held that the request wants later; null: there are none. */
        private @Nullable CompletableFuture<?> extend() {
            Duration leaseTime = request.leaseTime();
            if (leaseTime == null || level.leases().isEmpty()) {
                return null;
            }
            long begunNanos = manager.nanoTime();
            CompletableFuture<?>[] extensions = level.leases().stream()
                    .filter(lease -> lease.isFixed() && lease.remaining().compareTo(leaseTime) < 0)
                    .map(lease -> lease.extendAsync(leaseTime, request))
                    .toArray(CompletableFuture<?>[]::new);
            return extensions.length == 0
                    ? null
                    : CompletableFuture.allOf(extensions)
                            .thenRun(() -> extendedFor = Duration.ofNanos(manager.nanoTime() - begunNanos));
        }

        /** Returns a request for what is not held yet, with the time that extensions left; null: nothing is missing. */
        private @Nullable LockRequest missing() {
            Duration extended = extendedFor;
            if (extended != null) {
                level.ensureHeld();
            }
            List<String> names = level.missing();
            if (names.isEmpty()) {
                return null;
            }
            LockRequest missing = names == request.names() ? request : request.withNames(names);
            Duration wait = request.waitTime();
            if (extended == null || wait == null || wait.isZero()) {
                return missing;
            }
            Duration left = wait.minus(extended);
            return missing.withWaitTime(left.compareTo(SHORTEST_WAIT) < 0 ? SHORTEST_WAIT : left);
        }

        // ---- entering ----

        /** Enters, waiting for the lock and for the store. */
        NestedLease enter(boolean interruptibly) {
            manager.check(request);
            try {
                enterHeld();
                CompletableFuture<?> extended = extend();
                if (extended != null) {
                    await(extended);
                }
                LockRequest missing = missing();
                if (missing != null) {
                    level.begin(manager.acquire(missing, isNested(), interruptibly));
                }
                level.complete().bindTo(owner);
                return keep();
            } catch (Throwable failure) {
                level.close();
                throw failure;
            }
        }

        private void await(CompletableFuture<?> extended) {
            try {
                level.leases().get(0).join(extended);
            } catch (CompletionException failure) {
                throw notExtended(failure);
            }
        }

        /** Enters without blocking; a result that the caller has ended gives up the level. */
        CompletableFuture<LockLease> enterAsync() {
            CompletableFuture<LockLease> result = new CompletableFuture<>();
            result.handle((done, failure) -> done == null ? level.closeAsync() : null);
            try {
                manager.check(request);
                enterHeld();
                CompletableFuture<?> extended = extend();
                if (extended == null) {
                    enterAsync(result);
                } else {
                    extended.whenComplete((done, failure) -> manager.execute(() -> {
                        if (failure == null) {
                            enterAsync(result);
                        } else {
                            result.completeExceptionally(notExtended(failure));
                        }
                    }));
                }
            } catch (Throwable failure) {
                result.completeExceptionally(failure);
            }
            return result;
        }

        private void enterAsync(CompletableFuture<LockLease> result) {
            try {
                LockRequest missing = missing();
                if (missing != null) {
                    manager.acquireAsync(missing, isNested(), result, this::begin, true);
                } else {
                    level.complete();
                    result.complete(keep());
                }
            } catch (Throwable failure) {
                result.completeExceptionally(failure);
            }
        }

        private LockLease begin(LockManager.Lease lease) {
            level.begin(lease);
            level.complete();
            return keep();
        }

        private RuntimeException notExtended(Throwable failure) {
            Throwable cause = failure.getCause() == null ? failure : failure.getCause();
            return cause instanceof LockException known
                    ? known
                    : new LockStoreException(
                            "Lock '" + String.join("', '", request.names()) + "' could not be extended: "
                                    + cause.getMessage(),
                            cause);
        }

        /** Gives the surrounding work a level of its own, unless that holds the lock on already. */
        private NestedLease keep() {
            if (keeper == null || level.names().stream().allMatch(this::isKept)) {
                return level;
            }
            NestedLease again = level.keep();
            try {
                keeper.accept(again.bindTo(owner));
                return level;
            } catch (Throwable failure) {
                again.close();
                throw failure;
            }
        }

        private boolean isKept(String name) {
            return known.levels().stream()
                    .anyMatch(held -> held.kind == NestedLease.Kind.KEPT
                            && held.names().contains(name)
                            && (level.reads() || held.mode() != LockMode.READ)
                            && held.isHeld());
        }
    }
}
