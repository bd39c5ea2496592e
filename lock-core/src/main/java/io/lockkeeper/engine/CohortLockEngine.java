/* SPDX-License-Identifier: Apache-2.0 */
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
import io.lockkeeper.store.StoredInstance;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.Supplier;
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
        FallbackExecutor background =
                FallbackExecutor.onTimer(DaemonThreads.limited("lockkeeper-command", BACKGROUND_THREADS), scheduler);
        Leases leases = new Leases(store, clock, scheduler, settings, background);
        StoredInstance instance = StoredInstance.ofThisProcess(ClientIds.next(), settings.application());
        Instances instances = new Instances(store, instance);
        StorePort port = new StorePort(store, instance, scheduler, background, leases, instances);
        StoreTraits traits;
        try {
            traits = port.open(settings.leaseTime());
        } catch (Throwable failure) {
            scheduler.close();
            throw failure;
        }
        CohortTimes times = CohortTimes.of(clock, traits, settings);
        Acquisitions acquisitions = new Acquisitions(
                port,
                times,
                scheduler,
                background,
                traits.commandTimeout(),
                settings.leaseTime().toMillis(),
                traits.queues() ? settings.maxPasses() : 0);
        leases.recovery().begin(() -> port.liveAttempts() + acquisitions.names() > 0, acquisitions::lookAfterForgotten);
        Callers callers = new Callers(clock, settings.listener());
        Downgrades downgrades = new Downgrades(store, port, times, leases, scheduler, background);
        return new CohortLockEngine(
                leases,
                acquisitions,
                new Inspection(store, leases, instances, callers),
                new ThreadHolds(downgrades::downgrade),
                new Limits(traits, settings.leaseTime()),
                callers,
                () -> {
                    scheduler.close();
                    background.close();
                    leases.closeExecutors();
                });
    }

    @Override
    public LockLease acquire(LockRequest request) {
        StackRoom.requireToBegin();
        limits.check(request);
        threadHolds.refuseHeld(request);
        return await(request);
    }

    @Override
    public void acquireAsync(LockRequest request, CompletableFuture<LockLease> result) {
        StackRoom.requireToBegin();
        try {
            limits.check(request);
        } catch (RuntimeException refusal) {
            result.completeExceptionally(refusal);
            return;
        }
        Caller caller = callers.asks(request);
        CompletableFuture<HeldLease> acquisition = begin(caller, () -> acquisitions.begin(request, false));
        acquisition.whenComplete((lease, failure) ->
                leases.completions().execute(() -> answer(caller, result, lease, failure, received -> received)));
        result.whenComplete(new Withdrawal(acquisition, leases.recovery()));
    }

    @Override
    public void releaseAsync(LockLease lease, Runnable then) {
        Executor executor = leases.completions();
        if (lease instanceof HeldLease own) {
            own.closeAsync().whenComplete((released, never) -> executor.execute(then));
            return;
        }
        // Not here: where a level that reads is left, the end of one that excludes waits for the store.
        executor.execute(() -> {
            CompletableFuture<?> released = closeAsync((EnteredLevel) lease);
            if (released.isDone()) {
                then.run();
            } else {
                released.whenComplete((done, never) -> executor.execute(then));
            }
        });
    }

    private static CompletableFuture<?> closeAsync(EnteredLevel level) {
        try {
            return level.closeAsync();
        } catch (Throwable failure) {
            // The end is told, with an error or without.
            return CompletableFuture.failedFuture(failure);
        }
    }

    /** Asks for a lock; whatever comes instead of an answer is one, too. */
    private CompletableFuture<HeldLease> begin(Caller caller, Supplier<CompletableFuture<HeldLease>> acquisition) {
        try {
            return acquisition.get();
        } catch (Throwable failure) {
            callers.answered(caller);
            throw failure;
        }
    }

    /** Answers a caller, who may have given up; returns whether the lease was received. */
    private static <T> boolean answer(
            Caller caller,
            CompletableFuture<T> result,
            @Nullable HeldLease lease,
            @Nullable Throwable failure,
            Function<HeldLease, T> received) {
        try {
            return tell(caller, result, lease, failure, received);
        } catch (Throwable error) {
            // Where the caller does not have the lease by now, it never will.
            boolean got = !result.completeExceptionally(error) && !result.isCompletedExceptionally();
            if (lease != null && !got) {
                lease.giveBack();
            }
            return got;
        }
    }

    private static <T> boolean tell(
            Caller caller,
            CompletableFuture<T> result,
            @Nullable HeldLease lease,
            @Nullable Throwable failure,
            Function<HeldLease, T> received) {
        if (result.isDone()) {
            // The caller has given up; nothing failed.
            caller.gaveUp();
        } else if (lease == null) {
            result.completeExceptionally(caller.failed(failure));
        } else {
            // Told first: whoever receives the lease may release it at once.
            caller.acquired(lease);
            if (result.complete(received.apply(lease))) {
                return true;
            }
        }
        if (lease != null) {
            lease.giveBack();
        }
        return false;
    }

    @Override
    public Body body(LockLease lease) {
        long acquisition = lease instanceof EnteredLevel level ? level.acquisition() : 0;
        if (acquisition == 0) {
            return () -> {};
        }
        LockListener.Body body = new LockListener.Body(acquisition);
        callers.listener().onBodyBegins(body);
        return () -> callers.listener().onBodyEnds(body);
    }

    @Override
    public LockLease enter(LockRequest request) {
        StackRoom.requireToBegin();
        limits.check(request);
        Entry entry = new Entry(request, threadHolds.reenter(request, List.of()));
        LockRequest missing = entry.missing();
        HeldLease lease = null;
        try {
            if (missing != null) {
                lease = await(missing);
                entry.add(threadHolds.begin(lease, missing));
                lease = null;
            }
            entry.bindToThread();
            return entry.level();
        } catch (RuntimeException | Error failure) {
            entry.close();
            if (lease != null) {
                lease.giveBack();
            }
            throw failure;
        }
    }

    @Override
    public CompletableFuture<Level> enterAsync(LockRequest request, Collection<? extends LockLease> enclosing) {
        StackRoom.requireToBegin();
        limits.check(request);
        boolean nested = threadHolds.isInside(enclosing);
        Entry entry = new Entry(request, threadHolds.reenter(request, enclosing));
        LockRequest missing = entry.missing();
        if (missing == null) {
            return CompletableFuture.completedFuture(entry.level());
        }
        Caller caller = callers.asks(missing);
        CompletableFuture<HeldLease> acquisition;
        try {
            acquisition = begin(caller, () -> acquisitions.begin(missing, nested));
        } catch (Throwable failure) {
            entry.closeAsync();
            throw failure;
        }
        CompletableFuture<Level> result = new CompletableFuture<>();
        Executor where = acquisition.isDone() ? Runnable::run : leases.completions();
        acquisition.whenComplete((lease, failure) -> where.execute(() -> {
            if (lease == null) {
                entry.closeAsync();
            }
            boolean received = answer(caller, result, lease, failure, own -> {
                entry.add(threadHolds.begin(own, missing));
                return entry.level();
            });
            if (!received) {
                entry.closeAsync();
            }
        }));
        result.whenComplete(new Withdrawal(acquisition, leases.recovery()));
        return result;
    }

    @Override
    public boolean covers(LockRequest request, Collection<? extends LockLease> leases) {
        return threadHolds.covers(request, leases);
    }

    @Override
    public void lock(LockRequest request, boolean interruptibly) {
        StackRoom.requireToBegin();
        limits.check(request);
        if (!threadHolds.relock(request)) {
            HeldLease lease = interruptibly ? await(request) : awaitUninterruptibly(request);
            try {
                threadHolds.add(lease).lock(request.mode());
            } catch (Throwable failure) {
                lease.giveBack();
                throw failure;
            }
        }
    }

    @Override
    public void unlock(String name, LockMode mode) {
        StackRoom.requireToEnd();
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

    /** Keeps its place through interrupts, and sets the flag again at the end. */
    private HeldLease awaitUninterruptibly(LockRequest request) {
        Caller caller = callers.asks(request);
        boolean nested = !threadHolds.isEmpty();
        CompletableFuture<HeldLease> acquisition = begin(caller, () -> acquisitions.beginWaiting(request, nested));
        HeldLease lease;
        try {
            lease = acquisition.join();
        } catch (CompletionException failure) {
            throw caller.failed(failure);
        }
        return received(caller, lease);
    }

    private static HeldLease received(Caller caller, HeldLease lease) {
        try {
            caller.acquired(lease);
            return lease;
        } catch (Throwable failure) {
            lease.giveBack();
            throw failure;
        }
    }

    private HeldLease await(LockRequest request) {
        Caller caller = callers.asks(request);
        if (Thread.currentThread().isInterrupted()) {
            throw caller.failed(new LockInterruptedException(request.names(), null));
        }
        boolean nested = !threadHolds.isEmpty();
        CompletableFuture<HeldLease> acquisition = begin(caller, () -> acquisitions.beginWaiting(request, nested));
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
        return received(caller, lease);
    }
}
