package io.lockkeeper.engine;

import io.lockkeeper.LockEngine;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoreTraits;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import org.jspecify.annotations.Nullable;

/**
 * Gives leases to the callers of one JVM. Each name has one cohort of callers who share a place in the store; a request
 * that cannot share (fair, for writing, for several names, with a fixed lease or a minimum hold) has a cohort of its own.
 */
final class CohortLockEngine implements LockEngine {

    private final Leases leases;
    private final Acquisitions acquisitions;
    private final Inspection inspection;
    private final ThreadHolds threadHolds;
    private final Limits limits;
    private final Callers callers;
    private final Runnable stopThreads;

    private CohortLockEngine(
            Leases leases,
            Acquisitions acquisitions,
            Inspection inspection,
            ThreadHolds threadHolds,
            Limits limits,
            Callers callers,
            Runnable stopThreads) {
        this.leases = leases;
        this.acquisitions = acquisitions;
        this.inspection = inspection;
        this.threadHolds = threadHolds;
        this.limits = limits;
        this.callers = callers;
        this.stopThreads = stopThreads;
    }

    /** Wires an engine over a store, and opens the store. */
    static CohortLockEngine open(LockStore store, Settings settings, TimeSource clock) {
        ThreadScheduler scheduler = new ThreadScheduler("lockkeeper-timer");
        ExecutorService background = DaemonThreads.cached("lockkeeper-command");
        Leases leases = new Leases(store, clock, scheduler, settings, background);
        Instances instances = new Instances(store);
        StorePort port = new StorePort(store, ClientIds.next(), scheduler, background, leases, instances);
        StoreTraits traits = port.open(settings.application(), settings.leaseTime());
        CohortTimes times = new CohortTimes(
                clock, traits.pollInterval().toMillis(), settings.maxPassTime().toNanos());
        Acquisitions acquisitions = new Acquisitions(
                port,
                times,
                scheduler,
                background,
                settings.leaseTime().toMillis(),
                traits.queues() ? settings.maxPasses() : 0);
        Callers callers = new Callers(clock, settings.listener());
        Downgrades downgrades = new Downgrades(store, port, times, leases, scheduler, background);
        return new CohortLockEngine(
                leases,
                acquisitions,
                new Inspection(store, leases, instances, callers, port.clientId()),
                new ThreadHolds(downgrades::downgrade),
                new Limits(traits, settings.leaseTime()),
                callers,
                scheduler::close);
    }

    @Override
    public LockLease acquire(LockRequest request) {
        limits.check(request);
        threadHolds.refuseHeld(request);
        return await(request);
    }

    @Override
    public CompletableFuture<LockLease> acquireAsync(LockRequest request) {
        limits.check(request);
        Caller caller = callers.asks(request);
        CompletableFuture<HeldLease> acquisition = acquisitions.begin(request, false);
        CompletableFuture<LockLease> result = new CompletableFuture<>();
        acquisition.whenComplete(
                (lease, failure) -> leases.callbacks().execute(() -> answer(caller, result, lease, failure)));
        result.whenComplete((lease, failure) -> acquisition.cancel(false));
        return result;
    }

    private static void answer(
            Caller caller,
            CompletableFuture<LockLease> result,
            @Nullable HeldLease lease,
            @Nullable Throwable failure) {
        if (result.isDone()) {
            // The caller has given up; nothing failed.
            caller.gaveUp();
        } else if (lease == null) {
            result.completeExceptionally(caller.failed(failure));
        } else {
            caller.acquired(lease);
        }
        if (lease != null && !result.complete(lease)) {
            lease.giveBack();
        }
    }

    @Override
    public Body body(LockLease lease) {
        long acquisition = lease instanceof LevelLease level
                ? level.acquisition()
                : lease instanceof JointLease joint ? joint.acquisition() : 0;
        if (acquisition == 0) {
            return () -> {};
        }
        LockListener.Body body = new LockListener.Body(acquisition);
        callers.listener().onBodyBegins(body);
        return () -> callers.listener().onBodyEnds(body);
    }

    @Override
    public LockLease enter(LockRequest request) {
        List<LevelLease> levels = new ArrayList<>(1);
        for (ThreadHold hold : holds(request, true)) {
            List<String> names = request.names().stream()
                    .filter(hold.lease().names()::contains)
                    .toList();
            levels.add(hold.enter(request.mode(), names));
        }
        return levels.size() == 1 ? levels.get(0) : new JointLease(request.names(), request.mode(), levels);
    }

    @Override
    public void lock(LockRequest request, boolean interruptibly) {
        holds(request, interruptibly).get(0).lock(request.mode());
    }

    @Override
    public void unlock(String name, LockMode mode) {
        ThreadHold hold = threadHolds.entered(name);
        if (hold == null || !hold.unlock(mode)) {
            throw new IllegalMonitorStateException("Lock '" + name + "' is not locked by this thread");
        }
    }

    @Override
    public Optional<LockLease> held(String name, LockMode mode) {
        return threadHolds.lease(name, mode);
    }

    @Override
    public int holdCount(String name, LockMode mode) {
        return threadHolds.levels(name, mode);
    }

    @Override
    public boolean isLocked(String name, LockMode mode) {
        return inspection.isLocked(name, mode);
    }

    @Override
    public LockInspector inspector() {
        return inspection;
    }

    @Override
    public void close() {
        acquisitions.close();
        leases.awaitHolders();
        acquisitions.closeToAll();
        leases.close();
        stopThreads.run();
    }

    @Override
    public String toString() {
        return "held=" + leases.size() + ", names=" + acquisitions.names();
    }

    /** Returns this thread's holds of all names that are asked for: those it has, and one more of what is missing. */
    private List<ThreadHold> holds(LockRequest request, boolean interruptibly) {
        limits.check(request);
        List<ThreadHold> holds = threadHolds.reentered(request);
        LockRequest missing = holds.isEmpty() ? request : without(request, holds);
        if (missing != null) {
            holds.add(threadHolds.add(interruptibly ? await(missing) : awaitUninterruptibly(missing)));
        }
        return holds;
    }

    /** Returns a request for the names that are in none of some holds; null: there are none. */
    private static @Nullable LockRequest without(LockRequest request, List<ThreadHold> holds) {
        List<String> missing = request.names().stream()
                .filter(name ->
                        holds.stream().noneMatch(hold -> hold.lease().names().contains(name)))
                .toList();
        return missing.isEmpty()
                ? null
                : new LockRequest(
                        missing,
                        request.mode(),
                        request.waitTime(),
                        request.leaseTime(),
                        request.retryCount(),
                        request.retryDelay(),
                        request.minHoldTime(),
                        request.label());
    }

    /** Keeps its place through interrupts, and sets the flag again at the end. */
    private HeldLease awaitUninterruptibly(LockRequest request) {
        Caller caller = callers.asks(request);
        CompletableFuture<HeldLease> acquisition = acquisitions.begin(request, !threadHolds.isEmpty());
        HeldLease lease;
        try {
            lease = acquisition.join();
        } catch (CompletionException failure) {
            throw caller.failed(failure);
        }
        caller.acquired(lease);
        return lease;
    }

    private HeldLease await(LockRequest request) {
        Caller caller = callers.asks(request);
        if (Thread.currentThread().isInterrupted()) {
            throw caller.failed(new LockInterruptedException(request.names(), null));
        }
        CompletableFuture<HeldLease> acquisition = acquisitions.begin(request, !threadHolds.isEmpty());
        HeldLease lease;
        try {
            lease = acquisition.get();
        } catch (ExecutionException failure) {
            throw caller.failed(failure);
        } catch (InterruptedException interrupt) {
            acquisition.cancel(false);
            Acquisitions.awaitPlaceGone(acquisition);
            Thread.currentThread().interrupt();
            if (!acquisition.isCancelled() && !acquisition.isCompletedExceptionally()) {
                // The grant was first: it goes back at once.
                acquisition.join().giveBack();
            }
            throw caller.failed(new LockInterruptedException(request.names(), interrupt));
        }
        caller.acquired(lease);
        return lease;
    }
}
