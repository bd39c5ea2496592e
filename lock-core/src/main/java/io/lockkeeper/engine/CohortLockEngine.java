package io.lockkeeper.engine;

import io.lockkeeper.LockEngine;
import io.lockkeeper.LockException;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
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

    /** Nothing that runs there waits for anything. */
    private static final int BACKGROUND_THREADS = 2;

    private final Leases leases;
    private final Acquisitions acquisitions;
    private final Inspection inspection;
    private final ThreadHolds threadHolds;
    private final Limits limits;
    private final TimeSource clock;
    private final LockListener listener;
    private final Runnable stopThreads;

    private CohortLockEngine(
            Leases leases,
            Acquisitions acquisitions,
            Inspection inspection,
            ThreadHolds threadHolds,
            Limits limits,
            TimeSource clock,
            LockListener listener,
            Runnable stopThreads) {
        this.leases = leases;
        this.acquisitions = acquisitions;
        this.inspection = inspection;
        this.threadHolds = threadHolds;
        this.limits = limits;
        this.clock = clock;
        this.listener = listener;
        this.stopThreads = stopThreads;
    }

    /** Wires an engine over a store, and opens the store. */
    static CohortLockEngine open(LockStore store, Settings settings, TimeSource clock) {
        ThreadScheduler scheduler = new ThreadScheduler("lockkeeper-timer");
        ExecutorService background = DaemonThreads.limited("lockkeeper-command", BACKGROUND_THREADS);
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
        Downgrades downgrades = new Downgrades(store, port, times, leases, scheduler, background);
        return new CohortLockEngine(
                leases,
                acquisitions,
                new Inspection(store, leases, instances, port.clientId()),
                new ThreadHolds(downgrades::downgrade),
                new Limits(traits, settings.leaseTime()),
                clock,
                settings.listener(),
                scheduler::close);
    }

    @Override
    public LockLease acquire(LockRequest request) {
        limits.check(request);
        threadHolds.refuseHeld(request);
        return await(request);
    }

    @Override
    public void acquireAsync(LockRequest request, CompletableFuture<LockLease> result) {
        limits.check(request);
        Moment asked = clock.now();
        CompletableFuture<HeldLease> acquisition = acquisitions.begin(request, false);
        acquisition.whenComplete((lease, failure) -> leases.completions().execute(() -> {
            if (lease != null) {
                // Told first: whoever receives the lease may release it at once.
                report(request, asked, lease);
                if (!result.complete(lease)) {
                    lease.giveBack();
                }
            } else if (!result.isDone()) {
                // Otherwise the caller has given up; nothing failed.
                result.completeExceptionally(report(request, asked, failure));
            }
        }));
        result.whenComplete((lease, failure) -> acquisition.cancel(false));
    }

    @Override
    public void releaseAsync(LockLease lease, Runnable then) {
        ((HeldLease) lease).closeAsync().whenComplete((released, never) -> leases.completions()
                .execute(then));
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
        Moment asked = clock.now();
        CompletableFuture<HeldLease> acquisition = acquisitions.begin(request, !threadHolds.isEmpty());
        try {
            HeldLease lease = acquisition.join();
            report(request, asked, lease);
            return lease;
        } catch (CompletionException failure) {
            throw report(request, asked, failure);
        }
    }

    private HeldLease await(LockRequest request) {
        Moment asked = clock.now();
        if (Thread.currentThread().isInterrupted()) {
            throw report(request, asked, new LockInterruptedException(request.names(), null));
        }
        CompletableFuture<HeldLease> acquisition = acquisitions.begin(request, !threadHolds.isEmpty());
        try {
            HeldLease lease = acquisition.get();
            report(request, asked, lease);
            return lease;
        } catch (ExecutionException failure) {
            throw report(request, asked, failure);
        } catch (InterruptedException interrupt) {
            acquisition.cancel(false);
            Acquisitions.awaitPlaceGone(acquisition);
            Thread.currentThread().interrupt();
            if (!acquisition.isCancelled() && !acquisition.isCompletedExceptionally()) {
                // The grant was first: it goes back at once.
                acquisition.join().giveBack();
            }
            throw report(request, asked, new LockInterruptedException(request.names(), interrupt));
        }
    }

    private void report(LockRequest request, Moment asked, HeldLease lease) {
        listener.onAcquired(
                new LockListener.Acquired(request, lease.fencingToken(), asked.until(clock), lease.attempts()));
    }

    private LockException report(LockRequest request, Moment asked, @Nullable Throwable failure) {
        Throwable cause = failure instanceof ExecutionException || failure instanceof CompletionException
                ? failure.getCause()
                : failure;
        LockException reason = cause instanceof LockException known
                ? known
                : new LockStoreException("Lock " + String.join(", ", request.names()) + ": " + cause, cause);
        // The stack that helps is that of the caller, not that of the timer or of the store's thread.
        reason.fillInStackTrace();
        listener.onNotAcquired(new LockListener.NotAcquired(request, asked.until(clock), reason));
        return reason;
    }
}
