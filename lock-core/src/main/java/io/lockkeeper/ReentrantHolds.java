/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Every acquisition of a {@link LockTemplate} passes here. It first asks the interceptor, which may know of a
 * surrounding transaction, then reenters the locks that the thread holds, without a request, and acquires the missing
 * ones. Surrounding work that keeps a lock beyond its body has a level of its own, so that its thread can reenter the
 * lock until that work ends.
 */
class ReentrantHolds {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    /** Up to this number of owners, threads that have ended are not looked for. */
    private static final int FEW_OWNERS = 16;

    final LockManager manager;
    private final @Nullable AcquisitionInterceptor interceptor;

    /** The threads that are inside of a level, or owe the unlock of a lock that ended by itself. */
    private final Map<Object, LockOwner> owners = new ConcurrentHashMap<>();

    private volatile int manyOwners = FEW_OWNERS;

    ReentrantHolds(LockManager manager, @Nullable AcquisitionInterceptor interceptor) {
        this.manager = manager;
        this.interceptor = interceptor;
    }

    // ---- owners ----

    /** Returns the owner of levels that are entered on this thread. */
    Object self() {
        return Thread.currentThread();
    }

    /** Returns the levels of an owner. */
    LockOwner known(Object owner) {
        return owners.getOrDefault(owner, LockOwner.OUTSIDE);
    }

    /** Adds a level to an owner, who can reenter the locks that the level holds. */
    void enter(Object owner, NestedLease level) {
        if (owners.size() >= manyOwners) {
            // Threads that have ended cannot unlock any more. Those whose locks are still held stay.
            owners.entrySet()
                    .removeIf(entry -> entry.getKey() instanceof Thread thread
                            && !thread.isAlive()
                            && entry.getValue().levels().stream().noneMatch(LockLease::isHeld));
            manyOwners = FEW_OWNERS + 2 * owners.size();
        }
        forgetEnded(owner, null);
        owners.merge(
                owner,
                LockOwner.OUTSIDE.enter(level),
                (known, only) -> known.enter(only.levels().get(0)));
    }

    /** Removes a level from an owner, on any thread. */
    void leave(Object owner, NestedLease level) {
        change(owner, known -> known.leave(level));
    }

    /** Counts one unlock that an owner owes as done; false: it owes none. */
    boolean takeOwed(Object owner, LockRequest request) {
        boolean owes = known(owner).owed(request) != null;
        change(owner, known -> known.pay(request));
        return owes;
    }

    /**
     * Removes the locks of an owner that have ended by themselves; their unlocks are owed from now on.
     *
     * @param lost a hold whose locks are removed as well; null: none
     */
    private void forgetEnded(Object owner, @Nullable ReentrantHold lost) {
        LockOwner before = known(owner);
        for (int i = 0; i < before.levels().size(); i++) {
            NestedLease level = before.levels().get(i);
            boolean isOfLost = lost != null && level.kind == NestedLease.Kind.LOCK && level.isIn(lost);
            if (isOfLost || level.hasEnded(before)) {
                change(owner, known -> known.owe(level));
                if (level.leases().stream().anyMatch(LockManager.Lease::hasEndedAsAsked)) {
                    log.warn(
                            "Lock '{}' was not unlocked before its lease time was over: call unlock() in a finally block",
                            String.join("', '", level.names()));
                }
                // Other locks of the level may still be held, and are released.
                level.closeAsync();
            }
        }
    }

    private void change(Object owner, UnaryOperator<LockOwner> change) {
        owners.computeIfPresent(owner, (same, known) -> {
            LockOwner changed = change.apply(known);
            return changed.isOutside() ? null : changed;
        });
    }

    // ---- the forms ----

    /** Acquires a lease that is independent of the thread; a level of the thread if surrounding work keeps the lock. */
    LockLease acquire(LockRequest request) {
        Entry entry = new Entry(request, NestedLease.Kind.BODY, List.of());
        if (entry.keeper != null) {
            return entry.enter(true);
        }
        manager.check(request);
        entry.refuseHeld();
        Function<LockManager.Lease, LockLease> received = AcquiredLease.ofThisCaller(request);
        LockManager.Lease lease = manager.acquire(request, entry.isNested(), true, 0);
        try {
            lease.receivedHere();
            return received.apply(lease);
        } catch (Throwable failure) {
            lease.giveBack();
            throw failure;
        }
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
                manager.acquireAsync(request, entry.isNested(), result, received, false, 0);
                return;
            }
            // If the lock is free, the surrounding work keeps it at once, and this thread can reenter it.
            CompletableFuture<LockLease> entering = entry.enterAsync();
            manager.await(
                    entering,
                    () -> true,
                    (lease, failure) -> manager.execute(() -> {
                        if (lease == null) {
                            result.completeExceptionally(failure);
                        } else if (!result.complete(lease)) {
                            ((NestedLease) lease).closeAsync();
                        }
                    }));
            result.whenComplete((lease, failure) -> entering.cancel(false));
        } catch (RuntimeException | Error refused) {
            // Failures are reported through the future only.
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

    /** One call that asks for locks: its surroundings, and the locks that its thread already holds. */
    private final class Entry {

        private final LockRequest request;

        /** Replaced if the call has to begin anew. */
        private volatile NestedLease level;

        private final Object owner = self();

        /** The levels of the owner, and the others under which the call is made. */
        private final LockOwner around;

        /** Receives a lease with which surrounding work keeps the lock; null: none does. */
        private final @Nullable Consumer<LockLease> keeper;

        /** How much of the wait time the extension of held locks has taken. */
        private volatile long waitedNanos;

        Entry(LockRequest request, NestedLease.Kind kind, Collection<? extends LockLease> enclosing) {
            this.request = request;
            this.level = new NestedLease(ReentrantHolds.this, request, kind);
            // Locks that only have to be unlocked must not count as held, nor hide other levels that hold them.
            forgetEnded(owner, null);
            LockOwner inside = known(owner);
            for (LockLease lease : enclosing) {
                inside = lease instanceof NestedLease level && level.isOf(ReentrantHolds.this)
                        ? inside.enter(level)
                        : inside;
            }
            this.around = inside;
            this.keeper = interceptor == null ? null : interceptor.beforeAcquisition(request, isReentry());
        }

        // ---- locks that are held already ----

        private boolean isReentry() {
            return request.names().stream().allMatch(this::isHeld);
        }

        private boolean isHeld(String name) {
            ReentrantHold hold = around.find(name, request.mode());
            return hold != null && hold.lease().isHeld();
        }

        boolean isNested() {
            return !around.levels().isEmpty();
        }

        /** Refuses a request for an independent lease that would wait for this very thread. */
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
         * Reenters the locks that are held already. A lock whose fixed lease has ended, and of which only the unlock is
         * missing, is acquired anew; a stage under the old hold keeps that, and hears of its end.
         *
         * @throws LockLostException if a hold was lost; one of which only the unlock is missing is removed first
         */
        private void enterHeld() {
            for (String name : request.names()) {
                ReentrantHold hold = around.find(name, request.mode());
                if (hold == null || level.isIn(hold)) {
                    continue;
                }
                LockManager.Lease lease = hold.lease();
                if (lease.isHeld()) {
                    level.enter(hold);
                    continue;
                }
                boolean onlyLocks = around.hasOnlyLocksOf(hold);
                boolean beginsAnew = hold.isOver() || (onlyLocks && lease.hasEndedAsAsked());
                if (onlyLocks) {
                    forgetEnded(owner, hold);
                }
                if (!beginsAnew) {
                    lease.ensureHeld();
                }
            }
        }

        /**
         * Extends the held locks whose fixed ends are earlier than the request wants. All new ends take effect
         * together, when the store has answered for all. Null: there is nothing to extend.
         */
        private @Nullable CompletableFuture<BooleanSupplier> extend() {
            Duration leaseTime = request.leaseTime();
            if (leaseTime == null || level.leases().isEmpty()) {
                return null;
            }
            long waitedBefore = waitedNanos;
            long begunNanos = manager.nanoTime();
            List<CompletableFuture<BooleanSupplier>> extensions = level.leases().stream()
                    .filter(lease -> lease.isFixed() && lease.remaining().compareTo(leaseTime) < 0)
                    .map(lease -> lease.extendFor(request, waitedBefore))
                    .toList();
            return extensions.isEmpty()
                    ? null
                    : CompletableFuture.allOf(extensions.toArray(CompletableFuture<?>[]::new))
                            .thenApply(answered -> {
                                waitedNanos = waitedBefore + manager.nanoTime() - begunNanos;
                                return () -> giveEnds(extensions);
                            });
        }

        /** Sets the new ends; none of them if a lock was lost, or the caller has gone. */
        private boolean giveEnds(List<CompletableFuture<BooleanSupplier>> extensions) {
            boolean held = level.isHeld();
            for (CompletableFuture<BooleanSupplier> extension : extensions) {
                held = held && extension.join().getAsBoolean();
            }
            return held;
        }

        /**
         * Returns whether to extend once more, because a lock ended meanwhile or was downgraded.
         *
         * @throws LockLostException as {@link #enterHeld}
         */
        private boolean isExtendedAgain(BooleanSupplier extension) {
            boolean extended = extension.getAsBoolean();
            return beginsAnew() || (!extended && level.isHeld());
        }

        /**
         * Reenters the held locks once more if one of them ended meanwhile, as if it had ended before the call. False:
         * all are held, or the caller has gone.
         *
         * @throws LockLostException as {@link #enterHeld}
         */
        private boolean beginsAnew() {
            NestedLease ended = level;
            if (ended.isHeld() || ended.isReleased()) {
                return false;
            }
            level = new NestedLease(ReentrantHolds.this, request, ended.kind);
            try {
                enterHeld();
                return true;
            } finally {
                ended.closeAsync();
            }
        }

        /** Returns a request for the names that are not held yet; null: none is missing. */
        private @Nullable LockRequest missing() {
            if (request.leaseTime() != null) {
                // An extension may have found that a lock was lost.
                level.ensureHeld();
            }
            List<String> names = level.missing();
            return names.isEmpty() ? null : request.withNames(names);
        }

        // ---- entering ----

        /** Enters, waiting for the lock and for the store. */
        NestedLease enter(boolean interruptibly) {
            manager.check(request);
            try {
                enterHeld();
                CompletableFuture<BooleanSupplier> extended = extend();
                while (extended != null) {
                    LockManager.Lease any = level.leases().get(0);
                    if (interruptibly) {
                        any.await(extended);
                    }
                    extended = isExtendedAgain(any.join(extended)) ? extend() : null;
                }
                LockRequest missing = missing();
                if (missing != null) {
                    level.begin(manager.acquire(missing, isNested(), interruptibly, waitedNanos));
                }
                level.bindTo(owner);
                return keep();
            } catch (CompletionException failure) {
                level.close();
                throw notExtended(failure);
            } catch (InterruptedException interrupt) {
                level.close();
                Thread.currentThread().interrupt();
                throw new LockInterruptedException(request.names(), interrupt);
            } catch (Throwable failure) {
                level.close();
                throw failure;
            }
        }

        /** Enters without blocking; if the caller completes the result, the level is given up. */
        CompletableFuture<LockLease> enterAsync() {
            CompletableFuture<LockLease> result = new CompletableFuture<>();
            result.whenComplete((done, failure) -> {
                if (done == null) {
                    level.closeAsync();
                }
            });
            try {
                manager.check(request);
                enterHeld();
                extendAndEnterRest(result);
            } catch (Throwable failure) {
                result.completeExceptionally(failure);
            }
            return result;
        }

        private void extendAndEnterRest(CompletableFuture<LockLease> result) {
            CompletableFuture<BooleanSupplier> extended = extend();
            if (extended == null) {
                enterRest(result);
            } else {
                manager.await(
                        extended,
                        () -> true,
                        (done, failure) -> manager.execute(() -> extended(result, done, failure)));
            }
        }

        private void extended(
                CompletableFuture<LockLease> result, BooleanSupplier extension, @Nullable Throwable failure) {
            try {
                if (failure != null) {
                    result.completeExceptionally(notExtended(failure));
                } else if (isExtendedAgain(extension)) {
                    extendAndEnterRest(result);
                } else {
                    enterRest(result);
                }
            } catch (Throwable lost) {
                result.completeExceptionally(lost);
            }
            if (result.isCompletedExceptionally()) {
                // The result may have failed before this level replaced another one.
                level.closeAsync();
            }
        }

        private void enterRest(CompletableFuture<LockLease> result) {
            try {
                LockRequest missing = missing();
                if (missing != null) {
                    manager.acquireAsync(missing, isNested(), result, this::begin, true, waitedNanos);
                } else {
                    result.complete(keep());
                }
            } catch (Throwable failure) {
                result.completeExceptionally(failure);
            }
        }

        private LockLease begin(LockManager.Lease lease) {
            level.begin(lease);
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

        /** Gives the surrounding work a level of its own, unless it keeps the lock already. */
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
            return around.levels().stream()
                    .anyMatch(held -> held.kind == NestedLease.Kind.KEPT
                            && held.names().contains(name)
                            && (level.reads() || held.mode() != LockMode.READ)
                            && held.isHeld());
        }
    }
}
