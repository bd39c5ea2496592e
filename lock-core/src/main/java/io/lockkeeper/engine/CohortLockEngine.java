package io.lockkeeper.engine;

import io.lockkeeper.LockEngine;
import io.lockkeeper.LockException;
import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoreTimes;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import org.jspecify.annotations.Nullable;

/**
 * Gives leases to the callers of one JVM. Each name has one cohort of callers who share a place in the store; a request
 * that cannot share (fair, or with a fixed lease) has a cohort of its own.
 */
final class CohortLockEngine implements LockEngine {

    /** Nothing that runs there waits for anything. */
    private static final int BACKGROUND_THREADS = 2;

    private final Leases leases;
    private final Acquisitions acquisitions;
    private final ThreadHolds threadHolds = new ThreadHolds();
    private final TimeSource clock;
    private final LockListener listener;
    private final Runnable stopThreads;

    private CohortLockEngine(
            Leases leases, Acquisitions acquisitions, TimeSource clock, LockListener listener, Runnable stopThreads) {
        this.leases = leases;
        this.acquisitions = acquisitions;
        this.clock = clock;
        this.listener = listener;
        this.stopThreads = stopThreads;
    }

    /** Wires an engine over a store, and opens the store. */
    static CohortLockEngine open(LockStore store, Settings settings, TimeSource clock) {
        ThreadScheduler scheduler = new ThreadScheduler("lockkeeper-timer");
        ExecutorService background = DaemonThreads.limited("lockkeeper-command", BACKGROUND_THREADS);
        Leases leases = new Leases(store, clock, scheduler, settings, background);
        StorePort port = new StorePort(store, scheduler, background, leases);
        StoreTimes times = store.open(settings.application(), settings.leaseTime(), port);
        port.opened(times);
        CohortTimes cohortTimes = new CohortTimes(
                clock, times.pollInterval().toMillis(), settings.maxPassTime().toNanos());
        Acquisitions acquisitions = new Acquisitions(
                port, cohortTimes, scheduler, background, settings.leaseTime().toMillis(), settings.maxPasses());
        return new CohortLockEngine(leases, acquisitions, clock, settings.listener(), scheduler::close);
    }

    @Override
    public LockLease acquire(LockRequest request) {
        refuseUnsupported(request);
        threadHolds.refuseHeld(request);
        return await(request);
    }

    @Override
    public void acquireAsync(LockRequest request, CompletableFuture<LockLease> result) {
        refuseUnsupported(request);
        Moment asked = clock.now();
        CompletableFuture<HeldLease> acquisition = acquisitions.begin(request, false);
        acquisition.whenComplete((lease, failure) -> leases.completions().execute(() -> {
            if (lease != null) {
                // Told first: whoever receives the lease may release it at once.
                report(request, asked, lease);
                if (!result.complete(lease)) {
                    lease.closeAsync();
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
        return hold(request, true).enter();
    }

    @Override
    public void lock(LockRequest request, boolean interruptibly) {
        hold(request, interruptibly).lock();
    }

    @Override
    public void unlock(String name) {
        ThreadHold hold = threadHolds.entered(name);
        if (hold == null || !hold.unlock()) {
            throw new IllegalMonitorStateException("Lock '" + name + "' is not locked by this thread");
        }
    }

    @Override
    public Optional<LockLease> held(String name) {
        return threadHolds.lease(name);
    }

    @Override
    public int holdCount(String name) {
        return threadHolds.levels(name);
    }

    @Override
    public boolean isLocked(String name) {
        return leases.isLocked(name);
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

    private ThreadHold hold(LockRequest request, boolean interruptibly) {
        refuseUnsupported(request);
        ThreadHold hold = threadHolds.find(request.names().get(0));
        if (hold != null) {
            hold.lease().ensureHeld();
            return hold;
        }
        return threadHolds.add(interruptibly ? await(request) : awaitUninterruptibly(request));
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
                acquisition.join().release();
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

    private static void refuseUnsupported(LockRequest request) {
        if (request.names().size() > 1) {
            throw new UnsupportedOperationException("Several names in one request are not supported yet: " + request);
        }
        if (request.mode() == LockMode.READ || request.mode() == LockMode.WRITE) {
            throw new UnsupportedOperationException("The modes READ and WRITE are not supported yet: " + request);
        }
        if (!request.minHoldTime().isZero()) {
            throw new UnsupportedOperationException("A minimum hold time is not supported yet: " + request);
        }
    }
}
