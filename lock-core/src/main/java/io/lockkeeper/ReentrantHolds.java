/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
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

    /** Up to so many threads, none is looked for that has ended. */
    private static final int FEW_THREADS = 16;

    /** A wait of zero would be no wait. */
    private static final Duration SHORTEST_WAIT = Duration.ofNanos(1);

    final LockManager manager;
    private final @Nullable AcquisitionInterceptor interceptor;

    /** Threads that are inside of something, or did not unlock what ended by itself. */
    private final Map<Thread, LockOwner> threads = new ConcurrentHashMap<>();

    private volatile int manyThreads = FEW_THREADS;
    final LockOwner outside = new LockOwner(this);

    ReentrantHolds(LockManager manager, @Nullable AcquisitionInterceptor interceptor) {
        this.manager = manager;
        this.interceptor = interceptor;
    }

    // ---- owners ----

    /** Returns this thread as an owner, or what stands for all that are inside of nothing. */
    LockOwner knownThread() {
        return knownThread(Thread.currentThread());
    }

    LockOwner knownThread(Thread thread) {
        return threads.getOrDefault(thread, outside);
    }

    /** Returns this thread as an owner. */
    LockOwner thisThread() {
        LockOwner known = knownThread();
        if (known == outside) {
            known = new LockOwner(this);
            if (threads.size() >= manyThreads) {
                // One that ended without its unlocks cannot unlock any more; what is still held is not forgotten.
                threads.entrySet()
                        .removeIf(entry -> !entry.getKey().isAlive()
                                && entry.getValue().levels().stream().noneMatch(LockLease::isHeld));
                manyThreads = FEW_THREADS + 2 * threads.size();
            }
            threads.put(Thread.currentThread(), known);
        }
        return known;
    }

    void forgetThisThread(LockOwner owner) {
        threads.remove(Thread.currentThread(), owner);
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
        Entry entry = new Entry(request, true, List.of());
        if (entry.keeper != null) {
            return entry.enter(true);
        }
        manager.check(request);
        entry.refuseHeld();
        return AcquiredLease.ofThisCaller().apply(manager.acquire(request, entry.isNested(), true));
    }

    /**
     * Acquires as {@link #acquire}, without blocking.
     *
     * @param received makes of a lease what the caller receives
     */
    void acquireAsync(
            LockRequest request, CompletableFuture<LockLease> result, Function<LockManager.Lease, LockLease> received) {
        try {
            Entry entry = new Entry(request, true, List.of());
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
        return new Entry(request, body, List.of()).enter(interruptibly);
    }

    /**
     * Lets this thread enter a lock without blocking. The level belongs to no owner.
     *
     * @param enclosing leases under which the caller runs besides: what they hold is entered again, too
     * @return the level to come; ended by the caller, it gives up the place
     */
    CompletableFuture<LockLease> enterAsync(LockRequest request, Collection<? extends LockLease> enclosing) {
        return new Entry(request, true, enclosing).enterAsync();
    }

    /** One call that asks for locks, on its thread: what surrounds it, and what is held already. */
    private final class Entry {

        private final LockRequest request;
        private final NestedLease level;

        /** What surrounding work holds on. */
        private final List<NestedLease> kept;

        /** That, and the other levels under which the call is made. */
        private final List<NestedLease> around;

        /** Receives a lease that holds the lock on; null: nothing does. */
        private final @Nullable Consumer<LockLease> keeper;

        /** How long it took to extend what is held already; null: it was not extended. */
        private volatile @Nullable Duration extendedFor;

        Entry(LockRequest request, boolean body, Collection<? extends LockLease> enclosing) {
            this.request = request;
            this.level = new NestedLease(ReentrantHolds.this, request, body);
            this.kept = interceptor == null ? List.of() : levels(interceptor.heldOn());
            this.around = enclosing.isEmpty()
                    ? kept
                    : Stream.concat(levels(enclosing).stream(), kept.stream()).toList();
            this.keeper = interceptor == null ? null : interceptor.beforeAcquisition(request, isReentry());
        }

        // ---- what is held already ----

        private boolean isReentry() {
            return request.names().stream()
                    .allMatch(name -> isHeld(find(name, LockMode.EXCLUSIVE)) || isHeld(find(name, LockMode.READ)));
        }

        private static boolean isHeld(@Nullable ReentrantHold hold) {
            return hold != null && hold.lease().isHeld();
        }

        private @Nullable ReentrantHold find(String name, LockMode mode) {
            LockOwner owner = knownThread();
            ReentrantHold found = owner == outside ? null : owner.find(name, mode);
            for (int i = 0; found == null && i < around.size(); i++) {
                found = around.get(i).find(name, mode);
            }
            return found;
        }

        boolean isNested() {
            LockOwner owner = knownThread();
            return !around.isEmpty() || (owner != outside && !owner.levels().isEmpty());
        }

        /** Refuses a request for a lease of its own that would wait for this very thread. */
        void refuseHeld() {
            for (String name : request.names()) {
                if (manager.excludes() && isHeld(find(name, request.mode()))) {
                    throw new IllegalStateException("This thread holds lock '" + name + "' already, through execute,"
                            + " run, a DistributedLock or an annotated method, and would wait for itself: acquire and"
                            + " tryAcquire give a lease of their own each time. Use execute or run to enter the lock"
                            + " again, or LockContext.current() to get the lease.");
                }
            }
        }

        /** Returns the holds of names that are held already. */
        private List<ReentrantHold> held() {
            List<ReentrantHold> held = new ArrayList<>(1);
            for (String name : request.names()) {
                ReentrantHold hold = find(name, request.mode());
                if (hold == null || beginsAnew(hold)) {
                    continue;
                }
                hold.lease().ensureHeld();
                if (hold.lease().mode() == LockMode.READ && !level.reads()) {
                    throw new LockUpgradeException(name, request.mode());
                }
                if (!held.contains(hold)) {
                    held.add(hold);
                }
            }
            return held;
        }

        /**
         * Returns whether a hold has ended and is forgotten, because no body of it runs: a fixed lease that ended as
         * asked.
         *
         * @throws LockLostException if the hold was lost; it is forgotten then, too
         */
        private boolean beginsAnew(ReentrantHold hold) {
            LockManager.Lease lease = hold.lease();
            if (lease.isHeld() || hold.hasBodies()) {
                return false;
            }
            knownThread().drop(entered -> entered.leases().size() == 1 && entered.isIn(hold));
            boolean asAsked = lease.hasEndedAsAsked();
            hold.drop();
            if (!asAsked) {
                lease.ensureHeld();
            }
            log.warn(
                    "Lock '{}' is locked again after its lease time is over, but was not unlocked: call unlock() in a"
                            + " finally block",
                    lease.name());
            return true;
        }

        /** Enters what is held, and has its fixed ends extended that the request wants later; null: there are none. */
        private @Nullable CompletableFuture<?> extend(List<ReentrantHold> held) {
            held.forEach(level::enter);
            Duration leaseTime = request.leaseTime();
            if (held.isEmpty() || leaseTime == null) {
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
            LockRequest missing = level.missing();
            Duration extended = extendedFor;
            if (extended == null) {
                return missing;
            }
            level.ensureHeld();
            Duration wait = request.waitTime();
            if (missing == null || wait == null || wait.isZero()) {
                return missing;
            }
            Duration left = wait.minus(extended);
            return missing.withWaitTime(left.compareTo(SHORTEST_WAIT) < 0 ? SHORTEST_WAIT : left);
        }

        // ---- entering ----

        /** Enters, waiting for the lock and for the store. */
        NestedLease enter(boolean interruptibly) {
            manager.check(request);
            List<ReentrantHold> held = held();
            try {
                CompletableFuture<?> extended = extend(held);
                if (extended != null) {
                    await(extended);
                }
                LockRequest missing = missing();
                if (missing != null) {
                    level.begin(manager.acquire(missing, isNested(), interruptibly));
                }
                level.complete().bindTo(thisThread());
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
            manager.check(request);
            boolean nested = isNested();
            List<ReentrantHold> held = held();
            CompletableFuture<LockLease> result = new CompletableFuture<>();
            result.handle((done, failure) -> done == null ? level.closeAsync() : null);
            try {
                CompletableFuture<?> extended = extend(held);
                if (extended == null) {
                    enterAsync(nested, result);
                } else {
                    extended.whenComplete((done, failure) -> manager.execute(() -> {
                        if (failure == null) {
                            enterAsync(nested, result);
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

        private void enterAsync(boolean nested, CompletableFuture<LockLease> result) {
            try {
                LockRequest missing = missing();
                if (missing != null) {
                    manager.acquireAsync(missing, nested, result, this::begin, true);
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
            NestedLease again = level.again();
            LockOwner owner = level.owner;
            try {
                if (owner != null) {
                    again.bindTo(owner);
                }
                keeper.accept(again);
                return level;
            } catch (Throwable failure) {
                again.close();
                throw failure;
            }
        }

        private boolean isKept(String name) {
            return kept.stream()
                    .anyMatch(held -> held.names().contains(name)
                            && (level.reads() || held.mode() != LockMode.READ)
                            && held.isHeld());
        }
    }
}
