/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one way in for all forms of a {@link LockTemplate}: asks what surrounds an acquisition, such as a transaction, then
 * enters again what the thread holds, without asking the manager, and acquires what is missing. Surrounding work that holds a
 * lock on has a level of its own, so that its thread enters the lock again until that work has ended.
 */
final class ReentrantHolds {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);
    private static final AcquisitionInterceptor NOTHING = (request, reentry) -> null;

    /** Up to so many threads, none is looked for that has ended. */
    private static final int FEW_THREADS = 16;

    final LockManager manager;
    private final AcquisitionInterceptor interceptor;

    /** Threads that are inside of something, or did not unlock what ended by itself. */
    private final Map<Thread, LockOwner> threads = new ConcurrentHashMap<>();

    private volatile int manyThreads = FEW_THREADS;
    final LockOwner outside = new LockOwner(this);

    ReentrantHolds(LockManager manager, @Nullable AcquisitionInterceptor interceptor) {
        this.manager = manager;
        this.interceptor = interceptor == null ? NOTHING : interceptor;
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
                        .removeIf(entry ->
                                !entry.getKey().isAlive() && !entry.getValue().isHolding());
                manyThreads = FEW_THREADS + 2 * threads.size();
            }
            threads.put(Thread.currentThread(), known);
        }
        return known;
    }

    void forgetThisThread(LockOwner owner) {
        threads.remove(Thread.currentThread(), owner);
    }

    /** Returns whether a lease is that of a lock in a mode: where nothing excludes, a name is read and written apart. */
    boolean isSeen(LockLease lease, LockMode mode) {
        return manager.excludes() || (lease.mode() == LockMode.READ) == (mode == LockMode.READ);
    }

    // ---- leases of their own ----

    /** Acquires a lease of its own; where surrounding work holds it on, a level of the thread. */
    LockLease acquire(LockRequest request) {
        List<NestedLease> kept = levels(interceptor.heldOn());
        Consumer<LockLease> keeper = ask(request, kept);
        if (keeper != null) {
            return enter(request, kept, keeper, true, true);
        }
        manager.check(request);
        LockOwner owner = knownThread();
        refuseHeld(owner, request, kept);
        return AcquiredLease.ofThisCaller().apply(manager.acquire(request, owner.isInside() || !kept.isEmpty(), true));
    }

    /** Refuses a request for a lease of its own that would wait for this very thread. */
    private void refuseHeld(LockOwner owner, LockRequest request, List<NestedLease> kept) {
        for (String name : request.names()) {
            ReentrantHold hold = manager.excludes() ? find(owner, name, request.mode(), kept) : null;
            if (hold != null && hold.lease().isHeld()) {
                throw new IllegalStateException("This thread holds lock '" + name + "' already, through execute, run, a"
                        + " DistributedLock or an annotated method, and would wait for itself: acquire and tryAcquire"
                        + " give a lease of their own each time. Use execute or run to enter the lock again, or"
                        + " LockContext.current() to get the lease.");
            }
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
            List<NestedLease> kept = levels(interceptor.heldOn());
            Consumer<LockLease> keeper = ask(request, kept);
            if (keeper == null) {
                manager.check(request);
                manager.acquireAsync(request, false, result, received, false);
                return;
            }
            CompletableFuture<NestedLease> entering = enterAsync(knownThread(), request, kept, kept, keeper);
            entering.whenComplete((level, failure) -> manager.execute(() -> {
                if (level == null) {
                    result.completeExceptionally(failure);
                } else if (!result.complete(level)) {
                    level.closeAsync();
                }
            }));
            result.whenComplete((lease, failure) -> entering.cancel(false));
        } catch (RuntimeException | Error refused) {
            // A caller with a future looks for failures nowhere else.
            result.completeExceptionally(refused);
        }
    }

    /** Releases a lease that was acquired without blocking, and runs something on the executor when that is done. */
    void releaseAsync(LockLease lease, Runnable then) {
        CompletableFuture<?> released;
        try {
            released =
                    lease instanceof NestedLease level ? level.closeAsync() : ((LockManager.Lease) lease).closeAsync();
        } catch (Throwable failure) {
            // The end is told, with an error or without.
            released = CompletableFuture.failedFuture(failure);
        }
        released.whenComplete((done, never) -> manager.execute(then));
    }

    // ---- levels of what a thread holds ----

    /**
     * Lets this thread enter a lock, waiting for it and for the store.
     *
     * @param body whether for a body; else until an unlock
     */
    NestedLease enter(LockRequest request, boolean body, boolean interruptibly) {
        List<NestedLease> kept = levels(interceptor.heldOn());
        return enter(request, kept, ask(request, kept), body, interruptibly);
    }

    private NestedLease enter(
            LockRequest request,
            List<NestedLease> kept,
            @Nullable Consumer<LockLease> keeper,
            boolean body,
            boolean interruptibly) {
        manager.check(request);
        LockOwner owner = knownThread();
        List<ReentrantHold> held = held(owner, request, kept);
        for (LockManager.Lease shorter : endingBefore(request, held)) {
            if (!shorter.extend(Objects.requireNonNull(request.leaseTime()))) {
                shorter.ensureHeld();
            }
        }
        NestedLease level = new NestedLease(this, request, body);
        try {
            held.forEach(level::enter);
            LockRequest missing = level.missing();
            if (missing != null) {
                boolean nested = owner.isInside() || !kept.isEmpty();
                level.begin(manager.acquire(missing, nested, interruptibly));
            }
            level.complete().bindTo(thisThread());
            keep(level, kept, keeper);
            return level;
        } catch (Throwable failure) {
            level.close();
            throw failure;
        }
    }

    /**
     * Lets this thread enter a lock without blocking. The level belongs to no owner.
     *
     * @param enclosing leases under which the caller runs besides: what they hold is entered again, too
     * @return the level to come; ended by the caller, it gives up the place
     */
    CompletableFuture<NestedLease> enterAsync(LockRequest request, Collection<? extends LockLease> enclosing) {
        List<NestedLease> kept = levels(interceptor.heldOn());
        List<NestedLease> around =
                Stream.concat(levels(enclosing).stream(), kept.stream()).toList();
        return enterAsync(knownThread(), request, around, kept, ask(request, around));
    }

    CompletableFuture<NestedLease> enterAsync(
            LockOwner owner,
            LockRequest request,
            List<NestedLease> around,
            List<NestedLease> kept,
            @Nullable Consumer<LockLease> keeper) {
        manager.check(request);
        boolean nested = owner.isInside() || !around.isEmpty();
        List<ReentrantHold> held = held(owner, request, around);
        CompletableFuture<?>[] extensions = endingBefore(request, held).stream()
                .map(lease -> lease.extendAsync(Objects.requireNonNull(request.leaseTime())))
                .toArray(CompletableFuture<?>[]::new);
        CompletableFuture<NestedLease> result = new CompletableFuture<>();
        Runnable enter = () -> enterAsync(request, held, nested, result, level -> keep(level, kept, keeper));
        if (extensions.length == 0) {
            enter.run();
            return result;
        }
        CompletableFuture.allOf(extensions)
                .whenComplete((done, failure) -> manager.execute(
                        failure == null ? enter : () -> result.completeExceptionally(failed(request, failure))));
        return result;
    }

    private void enterAsync(
            LockRequest request,
            List<ReentrantHold> held,
            boolean nested,
            CompletableFuture<NestedLease> result,
            Consumer<NestedLease> entered) {
        NestedLease level = new NestedLease(this, request, true);
        result.handle((done, failure) -> done == null ? level.closeAsync() : null);
        try {
            held.forEach(hold -> hold.lease().ensureHeld());
            held.forEach(level::enter);
            LockRequest missing = level.missing();
            if (missing == null) {
                entered.accept(level.complete());
                result.complete(level);
                return;
            }
            manager.acquireAsync(
                    missing,
                    nested,
                    result,
                    lease -> {
                        level.begin(lease);
                        entered.accept(level.complete());
                        return level;
                    },
                    true);
        } catch (Throwable failure) {
            result.completeExceptionally(failure);
        }
    }

    private static RuntimeException failed(LockRequest request, Throwable failure) {
        Throwable cause = failure.getCause() == null ? failure : failure.getCause();
        return cause instanceof LockException known
                ? known
                : new LockStoreException(
                        "Lock '" + String.join("', '", request.names()) + "' could not be extended: "
                                + cause.getMessage(),
                        cause);
    }

    /** Returns the holds of names that are held already. */
    private List<ReentrantHold> held(LockOwner owner, LockRequest request, List<NestedLease> around) {
        if (owner == outside && around.isEmpty()) {
            return List.of();
        }
        List<ReentrantHold> found = new ArrayList<>(1);
        for (String name : request.names()) {
            ReentrantHold hold = find(owner, name, request.mode(), around);
            if (hold == null || beginsAnew(owner, hold)) {
                continue;
            }
            hold.lease().ensureHeld();
            if (hold.lease().mode() == LockMode.READ && request.mode() != LockMode.READ) {
                throw new LockUpgradeException(name, request.mode());
            }
            if (!found.contains(hold)) {
                found.add(hold);
            }
        }
        return found;
    }

    /**
     * Returns whether an owner's hold has ended and is forgotten, because no body of it runs: a fixed lease that ended as
     * asked.
     *
     * @throws LockLostException if the hold was lost; it is forgotten then, too
     */
    private static boolean beginsAnew(LockOwner owner, ReentrantHold hold) {
        LockManager.Lease lease = hold.lease();
        if (lease.isHeld() || hold.hasBodies()) {
            return false;
        }
        owner.dropIf(level -> level.size() == 1 && level.isIn(hold));
        boolean asAsked = lease.hasEndedAsAsked();
        hold.drop();
        if (!asAsked) {
            lease.ensureHeld();
        }
        log.warn(
                "Lock '{}' is locked again after its lease time is over, but was not unlocked: call unlock() in a finally"
                        + " block",
                lease.name());
        return true;
    }

    /** Returns the leases with a fixed end that a request wants to hold for longer. */
    private static List<LockManager.Lease> endingBefore(LockRequest request, List<ReentrantHold> held) {
        return request.leaseTime() == null || held.isEmpty()
                ? List.of()
                : held.stream()
                        .map(ReentrantHold::lease)
                        .filter(lease -> lease.isFixed() && lease.remaining().compareTo(request.leaseTime()) < 0)
                        .toList();
    }

    private static @Nullable ReentrantHold find(LockOwner owner, String name, LockMode mode, List<NestedLease> around) {
        ReentrantHold found = owner.find(name, mode);
        for (int i = 0; found == null && i < around.size(); i++) {
            found = around.get(i).find(name, mode);
        }
        return found;
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

    // ---- what surrounds an acquisition ----

    private @Nullable Consumer<LockLease> ask(LockRequest request, List<NestedLease> around) {
        if (interceptor == NOTHING) {
            return null;
        }
        LockOwner owner = knownThread();
        boolean reentry = request.names().stream()
                .allMatch(name -> owner.holdCount(name, LockMode.EXCLUSIVE) > 0
                        || owner.holdCount(name, LockMode.READ) > 0
                        || around.stream().anyMatch(lease -> lease.names().contains(name) && lease.isHeld()));
        return interceptor.beforeAcquisition(request, reentry);
    }

    /** Gives the surrounding work a level of its own, unless that holds the lock on already. */
    private static void keep(NestedLease level, List<NestedLease> kept, @Nullable Consumer<LockLease> keeper) {
        if (keeper == null
                || level.names().stream().allMatch(name -> kept.stream()
                        .anyMatch(held -> held.names().contains(name)
                                && (level.reads() || held.mode() != LockMode.READ)
                                && held.isHeld()))) {
            return;
        }
        NestedLease again = level.again();
        LockOwner owner = level.owner;
        try {
            if (owner != null) {
                again.bindTo(owner);
            }
            keeper.accept(again);
        } catch (Throwable failure) {
            again.close();
            throw failure;
        }
    }
}
