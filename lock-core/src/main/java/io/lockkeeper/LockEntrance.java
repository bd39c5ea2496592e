/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The one way in for all forms of a {@link LockTemplate}: asks what surrounds an acquisition, such as a transaction, then enters
 * again what the thread holds, then acquires. Surrounding work that holds a lock on is one more level of the thread's hold, so
 * that the same thread enters the lock again until that work has ended.
 */
final class LockEntrance {

    private static final LockSurroundings NOTHING = (request, reentry) -> null;

    private final LockManager manager;
    private final ReentrantHolds holds;
    private final LockSurroundings surroundings;

    LockEntrance(LockManager manager, @Nullable LockSurroundings surroundings) {
        this.manager = manager;
        this.holds = new ReentrantHolds(manager);
        this.surroundings = surroundings == null ? NOTHING : surroundings;
    }

    /** Acquires a lease of its own; where surrounding work holds it on, a level of the thread. */
    LockLease acquire(LockRequest request) {
        LockLease acquired = acquireUnwatched(request);
        return acquired instanceof LockManager.Lease lease
                ? AcquiredLease.ofThisCaller().apply(lease)
                : acquired;
    }

    private LockLease acquireUnwatched(LockRequest request) {
        return inside(kept -> {
            Consumer<LockLease> keeper = ask(request, List.of());
            if (keeper != null) {
                return enter(request, keeper, kept);
            }
            manager.check(request);
            ReentrantHolds.Owner thread = holds.knownThread();
            if (thread == null) {
                return manager.acquire(request, false, true);
            }
            holds.refuseHeld(thread, request);
            return manager.acquire(request, thread.holdsAny(), true);
        });
    }

    /**
     * Acquires as {@link #acquire}, without blocking.
     *
     * @param received makes of a lease what the caller receives
     */
    void acquireAsync(
            LockRequest request, CompletableFuture<LockLease> result, Function<LockManager.Lease, LockLease> received) {
        try {
            Collection<LockLease> kept = surroundings.heldOn();
            Consumer<LockLease> keeper = ask(request, kept);
            if (keeper == null) {
                manager.check(request);
                manager.acquireAsync(request, false, result, received, false);
                return;
            }
            CompletableFuture<EnteredLease> entering = enterAsync(request, keeper, kept, kept);
            entering.whenComplete((level, failure) -> manager.execute(() -> {
                if (level == null) {
                    result.completeExceptionally(failure);
                } else if (!result.complete(level)) {
                    // The caller has ended the future, and the lease was not received.
                    level.closeAsync();
                }
            }));
            result.whenComplete((lease, failure) -> entering.cancel(false));
        } catch (RuntimeException | Error refused) {
            // A caller with a future looks for failures nowhere else.
            result.completeExceptionally(refused);
        }
    }

    /** Lets this thread enter a lock, which it may hold already. */
    EnteredLease enter(LockRequest request) {
        return inside(kept -> enter(request, ask(request, List.of()), kept));
    }

    private EnteredLease enter(LockRequest request, @Nullable Consumer<LockLease> keeper, Collection<LockLease> kept) {
        ReentrantHolds.Owner thread = holds.thisThread();
        EnteredLease lease = holds.enter(thread, request);
        if (keeper != null && !holds.covers(request, kept)) {
            try {
                keep(holds.enter(thread, unchanged(request)), keeper);
            } catch (RuntimeException | Error failure) {
                lease.close();
                throw failure;
            }
        }
        return lease;
    }

    /**
     * Enters a lock without blocking.
     *
     * @param enclosing leases under which the caller runs, besides those of this thread
     */
    CompletableFuture<EnteredLease> enterAsync(LockRequest request, Collection<? extends LockLease> enclosing) {
        Collection<LockLease> kept = surroundings.heldOn();
        List<LockLease> around = new ArrayList<>(enclosing);
        around.addAll(kept);
        return enterAsync(request, ask(request, around), kept, around);
    }

    private CompletableFuture<EnteredLease> enterAsync(
            LockRequest request,
            @Nullable Consumer<LockLease> keeper,
            Collection<LockLease> kept,
            Collection<LockLease> around) {
        ReentrantHolds.Owner thread = holds.thisThread();
        CompletableFuture<EnteredLease> entering;
        try {
            entering = holds.enterAsync(thread, request, around);
        } finally {
            holds.leaveThread();
        }
        return keeper == null || holds.covers(request, kept) ? entering : kept(thread, request, keeper, entering);
    }

    /** Returns a level to come, beside which there is one that is kept. */
    private CompletableFuture<EnteredLease> kept(
            ReentrantHolds.Owner thread,
            LockRequest request,
            Consumer<LockLease> keeper,
            CompletableFuture<EnteredLease> entering) {
        CompletableFuture<EnteredLease> result = new CompletableFuture<>();
        entering.whenComplete((level, failure) -> {
            if (level == null) {
                result.completeExceptionally(failure);
                return;
            }
            try {
                // Entered again, so it is there at once.
                keep(
                        holds.enterAsync(thread, unchanged(request), List.of(level))
                                .join(),
                        keeper);
            } catch (Throwable lost) {
                level.closeAsync();
                result.completeExceptionally(lost);
                return;
            }
            if (!result.complete(level)) {
                level.closeAsync();
            }
        });
        result.whenComplete((level, failure) -> entering.cancel(false));
        return result;
    }

    /** Lets this thread enter a lock until the matching {@link #unlock}. */
    void lock(LockRequest request, boolean interruptibly) {
        inside(kept -> {
            Consumer<LockLease> keeper = ask(request, List.of());
            ReentrantHolds.Owner thread = holds.thisThread();
            try {
                holds.lock(thread, request, interruptibly);
            } finally {
                holds.leaveThread();
            }
            if (keeper != null && !holds.covers(request, kept)) {
                try {
                    keep(holds.enter(thread, unchanged(request)), keeper);
                } catch (RuntimeException | Error failure) {
                    holds.unlock(thread, request);
                    throw failure;
                }
            }
            return request;
        });
    }

    void unlock(LockRequest request) {
        try {
            holds.unlock(holds.thisThread(), request);
        } finally {
            holds.leaveThread();
        }
    }

    ReleaseResult release(LockRequest request) {
        try {
            return holds.release(holds.thisThread(), request);
        } finally {
            holds.leaveThread();
        }
    }

    Optional<LockLease> held(Thread thread, LockRequest request) {
        ReentrantHolds.Owner owner = holds.knownThread(thread);
        return owner == null ? Optional.empty() : holds.lease(owner, request);
    }

    int holdCount(LockRequest request) {
        ReentrantHolds.Owner thread = holds.knownThread();
        return thread == null ? 0 : holds.holdCount(thread, request);
    }

    /** Returns whether any of some names is held; what this thread holds is known without asking the store. */
    boolean isLocked(LockRequest request) {
        ReentrantHolds.Owner thread = holds.knownThread();
        return (thread != null && holds.holdsAny(thread, request))
                || request.names().stream().anyMatch(name -> manager.isLocked(name, request.mode()));
    }

    /** Releases a lease that was acquired without blocking, and runs something on the executor when that is done. */
    void releaseAsync(LockLease lease, Runnable then) {
        CompletableFuture<?> released;
        try {
            released =
                    lease instanceof EnteredLease level ? level.closeAsync() : ((LockManager.Lease) lease).closeAsync();
        } catch (Throwable failure) {
            // The end is told, with an error or without.
            released = CompletableFuture.failedFuture(failure);
        }
        released.whenComplete((done, never) -> manager.execute(then));
    }

    /** Tells that this thread begins to run a body; the result is called when the body has ended. */
    Body body(EnteredLease lease) {
        long acquisition = lease.acquisition();
        if (acquisition == 0) {
            return () -> {};
        }
        LockListener.Body body = new LockListener.Body(acquisition);
        manager.listener().onBodyBegins(body);
        return () -> manager.listener().onBodyEnds(body);
    }

    /** A body that runs. */
    interface Body extends AutoCloseable {

        /** The body has ended. */
        @Override
        void close();
    }

    private @Nullable Consumer<LockLease> ask(LockRequest request, Collection<? extends LockLease> enclosing) {
        if (surroundings == NOTHING) {
            return null;
        }
        boolean reentry;
        try {
            reentry = holds.isHeld(holds.thisThread(), request, enclosing);
        } finally {
            holds.leaveThread();
        }
        return surroundings.beforeAcquisition(request, reentry);
    }

    /** A level that is only kept asks for no lease time: it would ask the store to extend what has just begun. */
    private static LockRequest unchanged(LockRequest request) {
        return new LockRequest(
                request.names(),
                request.mode(),
                request.waitTime(),
                null,
                request.retryCount(),
                request.retryDelay(),
                request.minHoldTime(),
                request.label());
    }

    /** Gives a level to the one that keeps it, or ends it where that fails. */
    private static void keep(LockLease level, Consumer<LockLease> keeper) {
        try {
            keeper.accept(level);
        } catch (Throwable failure) {
            level.close();
            throw failure;
        }
    }

    /** Asks for a lock on a thread that is inside all that its surrounding work holds on. */
    private <T> T inside(Function<Collection<LockLease>, T> asking) {
        Collection<LockLease> kept = surroundings.heldOn();
        List<Runnable> leave = kept.stream()
                .filter(lease -> lease instanceof EnteredLease && lease.isHeld())
                .map(lease -> ((EnteredLease) lease).enterThread())
                .toList();
        try {
            return asking.apply(kept);
        } finally {
            leave.forEach(Runnable::run);
            holds.leaveThread();
        }
    }
}
