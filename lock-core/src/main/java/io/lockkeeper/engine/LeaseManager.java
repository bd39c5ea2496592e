/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockManager;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Gives leases to callers, who wait on their thread or go on meanwhile. */
final class LeaseManager implements LockManager {

    /** Nothing that runs there waits for anything. */
    private static final int BACKGROUND_THREADS = 2;

    /** What a user's executor refuses runs on so many threads; what blocks there may let the rest wait. */
    private static final int REFUSED_THREADS = 32;

    private final LocalLockManager locks;
    private final LockInspection inspection;
    private final EngineContext context;
    private final Duration leaseTime;
    private final Runnable stopThreads;

    LeaseManager(LocalLockManager locks, EngineContext context, Duration leaseTime, Runnable stopThreads) {
        this.locks = locks;
        this.inspection = locks.inspection();
        this.context = context;
        this.leaseTime = leaseTime;
        this.stopThreads = stopThreads;
    }

    /** Wires a manager over a store, and opens the store. */
    static LeaseManager open(LockStore store, Settings settings, Clock clock) {
        ThreadScheduler scheduler = new ThreadScheduler("lockkeeper-timer");
        RetryingExecutor background =
                RetryingExecutor.onTimer(DaemonThreads.limited("lockkeeper-command", BACKGROUND_THREADS), scheduler);
        // Not in the background: a callback may block, and nothing there may wait for it.
        Executor refused = DaemonThreads.limited("lockkeeper-refused", REFUSED_THREADS);
        RetryingExecutor callbacks = RetryingExecutor.retrying(settings.urgent(), refused, scheduler);
        RetryingExecutor completions = RetryingExecutor.retrying(settings.executor(), refused, scheduler);
        EngineContext context = new EngineContext(
                clock,
                scheduler,
                background,
                callbacks,
                completions,
                settings.listener(),
                EngineContext::random,
                LeaseManager::giveWay);
        LocalLockManager locks;
        try {
            locks = new LocalLockManager(store, settings, context);
        } catch (Throwable failure) {
            scheduler.close();
            throw failure;
        }
        return new LeaseManager(locks, context, settings.leaseTime(), () -> {
            scheduler.close();
            background.close();
            callbacks.close();
            completions.close();
        });
    }

    @SuppressWarnings("ThreadPriorityCheck") // Nothing relies on it.
    private static void giveWay() {
        Thread.yield();
    }

    /** Refuses what the store cannot do, and a caller whose stack has no room for an acquisition and its release. */
    @Override
    public void check(LockRequest request) {
        StackRoom.requireToBegin();
        if (locks.traits().queues()) {
            return;
        }
        if (request.mode() != LockMode.EXCLUSIVE) {
            throw new UnsupportedOperationException("Mode " + request.mode() + " of lock '"
                    + request.names().get(0)
                    + "' needs a queue in the store, and independent masters have none in common:"
                    + " with a quorum, ask for EXCLUSIVE");
        }
        atMostLease("lease time", request.leaseTime(), request);
        atMostLease("minimum hold time", request.minHoldTime(), request);
    }

    private void atMostLease(String what, @Nullable Duration time, LockRequest request) {
        if (time != null && time.compareTo(leaseTime) > 0) {
            throw new IllegalArgumentException("The " + what + " of lock '"
                    + request.names().get(0) + "' must be at most the lease time of the template, which is " + leaseTime
                    + ", but is " + time + ": a master that was restarted is trusted again after that time");
        }
    }

    @Override
    public Lease acquire(LockRequest request, boolean nested, boolean interruptibly) {
        return locks.await(request, nested, interruptibly);
    }

    @Override
    public <T> void acquireAsync(
            LockRequest request,
            boolean nested,
            CompletableFuture<T> result,
            Function<Lease, T> received,
            boolean atOnce) {
        PendingRequest asked = locks.begin(request, nested, result);
        Executor where = atOnce && asked.isDone() ? Runnable::run : context.completions();
        locks.answer(
                asked,
                () -> where.execute(
                        () -> asked.whenComplete((lease, failure) -> answer(asked, result, lease, failure, received))));
        result.whenComplete((lease, failure) -> withdraw(asked));
    }

    /** Where there is no room on the stack, a periodic look withdraws the request. */
    private void withdraw(PendingRequest asked) {
        if (!StackRoom.isEnough()) {
            return;
        }
        if (!asked.isDone()) {
            locks.withdraw(asked);
        } else if (asked.beginAnswer()) {
            // The answer still waits for its executor, which may be busy for long, or never run it.
            locks.gaveUp(asked);
            if (!asked.isCompletedExceptionally()) {
                asked.join().giveBack();
            }
        }
    }

    /** Answers a caller, who may have given up. */
    private <T> void answer(
            PendingRequest asked,
            CompletableFuture<T> result,
            @Nullable ManagedLease lease,
            @Nullable Throwable failure,
            Function<Lease, T> received) {
        if (!asked.beginAnswer()) {
            return;
        }
        boolean got = false;
        try {
            if (result.isDone()) {
                // The caller has given up; nothing failed.
                locks.gaveUp(asked);
            } else if (lease == null) {
                result.completeExceptionally(locks.refused(asked, failure));
            } else {
                // Told first: the caller who receives the lease may release it at once.
                locks.received(asked, lease);
                got = result.complete(received.apply(lease));
            }
        } catch (Throwable error) {
            // Where the caller does not have the lease by now, it never will.
            got = !result.completeExceptionally(error) && !result.isCompletedExceptionally();
        }
        if (lease != null && !got) {
            lease.giveBack();
        }
    }

    @Override
    public void execute(Runnable task) {
        context.completions().execute(task);
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
    public LockListener listener() {
        return context.listener();
    }

    @Override
    public void close() {
        try {
            locks.close();
        } finally {
            stopThreads.run();
        }
    }

    @Override
    public String toString() {
        return locks.toString();
    }
}
