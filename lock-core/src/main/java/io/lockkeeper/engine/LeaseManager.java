/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockException;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockManager;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Gives leases to callers, who wait on their thread or go on meanwhile. Public for {@link LockTemplate} alone. */
public final class LeaseManager implements LockManager {

    private static final Logger log = LoggerFactory.getLogger(LockTemplate.class);

    private final LocalLockManager locks;
    private final Runnable addThread;
    private final Runnable stopThreads;
    private boolean closed;

    /** Creates a manager, which adds a command thread for each one that may block, and stops all threads at the end. */
    LeaseManager(LocalLockManager locks, Runnable addThread, Runnable stopThreads) {
        this.locks = locks;
        this.addThread = addThread;
        this.stopThreads = stopThreads;
    }

    /**
     * Creates a manager over a store and opens the store, which is closed with the manager.
     *
     * @param store where the locks are kept
     * @param settings what the manager works with
     * @return the manager
     */
    public static LockManager create(LockStore store, Settings settings) {
        Scheduler.OnThread scheduler = new Scheduler.OnThread("lockkeeper-timer");
        // No task there ever waits: callbacks, which may block, run elsewhere.
        ThreadPoolExecutor commands = DaemonThreads.limited("lockkeeper-command", 2);
        RetryingExecutor background = new RetryingExecutor(commands, null, scheduler);
        // Runs the callbacks that a user's executor refuses. Callbacks that block may delay others there.
        ThreadPoolExecutor refused = DaemonThreads.limited("lockkeeper-refused", 32);
        ThreadPoolExecutor spare = settings.spare();
        RetryingExecutor callbacks = new RetryingExecutor(settings.urgent(), refused, scheduler);
        RetryingExecutor completions = new RetryingExecutor(settings.executor(), spare, scheduler);
        EngineContext context = new EngineContext(
                scheduler,
                background,
                callbacks,
                completions,
                settings.listener(),
                EngineContext::random,
                LeaseManager::giveWay);
        LocalLockManager locks;
        try {
            locks = new LocalLockManager(
                    store,
                    settings,
                    context,
                    StoredInstance.ofThisProcess(ClientIds.next(), settings.application(), settings.service()));
        } catch (Throwable failure) {
            scheduler.close();
            throw failure;
        }
        return new LeaseManager(locks, () -> addThread(commands), () -> {
            scheduler.close();
            background.close();
            callbacks.close();
            completions.close();
            // Idle threads end at once, but tasks that come later still run.
            List.of(commands, refused, spare).forEach(threads -> threads.setKeepAliveTime(1, TimeUnit.MILLISECONDS));
        });
    }

    private static void addThread(ThreadPoolExecutor commands) {
        // Concurrent calls might set a maximum below the core size, which throws.
        synchronized (commands) {
            commands.setMaximumPoolSize(commands.getMaximumPoolSize() + 1);
            commands.setCorePoolSize(commands.getMaximumPoolSize());
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // Nothing relies on it.
    private static void giveWay() {
        Thread.yield();
    }

    /** Refuses what the store cannot do, and a caller whose stack has no room for an acquisition and its release. */
    @Override
    public void check(LockRequest request) {
        StackRoom.requireToBegin();
        if (locks.traits.queues()) {
            return;
        }
        String name = request.names().get(0);
        if (request.mode() != LockMode.EXCLUSIVE) {
            throw new UnsupportedOperationException("Mode " + request.mode() + " of lock '" + name
                    + "' needs a queue in the store, and independent masters have none in common:"
                    + " with a quorum, ask for EXCLUSIVE");
        }
        locks.policy.requireKept("lease time", request.leaseTime(), name);
        locks.policy.requireKept("minimum hold time", request.minHoldTime(), name);
    }

    @Override
    public void checkRoom() {
        StackRoom.requireToEnd();
    }

    // ---- blocking acquisition ----

    @Override
    public Lease acquire(LockRequest request, boolean nested, boolean interruptibly, long waitedNanos) {
        PendingRequest asked = locks.asked(request, nested, null, waitedNanos);
        if (interruptibly && Thread.currentThread().isInterrupted()) {
            throw refused(asked, new LockInterruptedException(request.names(), null));
        }
        ManagedLease lease = null;
        boolean interrupted = false;
        try {
            // The thread may do its own I/O while it waits, for no longer than the request waits.
            locks.begin(asked, CallerThread.waits(asked.patienceNanos));
            while (lease == null) {
                try {
                    lease = awaited(asked);
                } catch (InterruptedException interrupt) {
                    if (interruptibly) {
                        throw interrupted(asked, interrupt);
                    }
                    interrupted = true;
                } catch (CompletionException failure) {
                    throw refused(asked, failure.getCause());
                }
            }
        } catch (Error error) {
            // Without a call, because the stack may be exhausted. The periodic look gives the lease back.
            asked.abandoned = true;
            ManagedLease given = asked.lease;
            if (given != null) {
                given.abandoned = true;
                given.owedReleases.any = true;
            }
            throw error;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        lease.received(asked.number, asked.asked, asked.tries, asked.path);
        return lease;
    }

    /** Waits for a lease until the time of its caller is up; null: it is up. */
    private @Nullable ManagedLease awaited(PendingRequest asked) throws InterruptedException {
        // For a caller with retries, timers end each try.
        long end = asked.blocking ? asked.endNanos() : ClockReading.NEVER;
        CallerThread.await(asked, end == ClockReading.NEVER ? Long.MAX_VALUE : end - locks.context.nanoTime());
        if (asked.isDone()) {
            return asked.join();
        }
        locks.executor.timeOut(asked);
        return null;
    }

    private LockException interrupted(PendingRequest request, InterruptedException interrupt) {
        CompletableFuture<?> placeGone = locks.withdraw(request);
        try {
            // By then a place in the store's queue is removed, unless the store is slow or has not given it yet.
            CallerThread.await(placeGone, ActionExecutor.PLACE_GONE_NANOS);
        } catch (InterruptedException again) {
            log.debug("A place is given up in the background", again);
        }
        Thread.currentThread().interrupt();
        if (!request.isCompletedExceptionally()) {
            // The grant came first and is given back at once.
            request.join().giveBack();
        }
        return refused(request, new LockInterruptedException(request.request.names(), interrupt));
    }

    /** Returns the exception for a caller who does not get its lease, and tells listeners. */
    LockException refused(PendingRequest request, @Nullable Throwable cause) {
        List<String> names = request.request.names();
        String why = cause instanceof StoreException known ? String.valueOf(known.getMessage()) : String.valueOf(cause);
        LockException reason;
        if (cause instanceof LockException known) {
            reason = known;
            // The useful stack is the caller's, not that of the timer or of the store's thread.
            reason.fillInStackTrace();
        } else {
            reason = new LockStoreException("Lock '" + String.join("', '", names) + "': " + why, cause);
        }
        locks.context
                .listener()
                .onNotAcquired(new LockListener.NotAcquired(
                        request.number, request.request, request.asked.until(locks.context.now()), reason));
        return reason;
    }

    // ---- asynchronous acquisition ----

    @Override
    public <T> void acquireAsync(
            LockRequest request,
            boolean nested,
            CompletableFuture<T> result,
            Function<Lease, T> received,
            boolean atOnce,
            long waitedNanos) {
        PendingRequest asked = locks.asked(request, nested, result, waitedNanos);
        locks.begin(asked, 0);
        try {
            Executor where = atOnce && asked.isDone() ? Runnable::run : locks.context.completions();
            locks.answers.await(
                    asked, (lease, failure) -> where.execute(() -> answer(asked, result, lease, failure, received)));
        } catch (Throwable error) {
            // The next periodic look gives up the place or gives back the lease.
            asked.abandoned = true;
            ManagedLease given = asked.lease;
            if (given != null) {
                given.giveBack();
            }
            throw error;
        }
        result.handle((done, never) -> {
            if (!StackRoom.isEnough()) {
                // The periodic look withdraws the request.
                return null;
            }
            if (!asked.isDone()) {
                locks.withdraw(asked);
            } else {
                // The answer may still wait for its executor, which may be busy for long or never run it.
                ManagedLease given = asked.isCompletedExceptionally() ? null : asked.join();
                answer(asked, result, given, null, received);
            }
            return null;
        });
    }

    /** Completes the caller's result, or gives the lease back if the caller has given up. */
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
        @Nullable Lease owned = lease;
        try {
            if (result.isDone()) {
                // The caller has given up, which is no failure.
                Duration waited = asked.asked.until(locks.context.now());
                locks.context.listener().onGivenUp(new LockListener.GivenUp(asked.number, asked.request, waited));
            } else if (lease == null) {
                result.completeExceptionally(refused(asked, failure));
            } else {
                // Before the result is completed: the caller may release the lease at once.
                lease.received(asked.number, asked.asked, asked.tries, asked.path);
                T given = received.apply(lease);
                // The caller's object owns the lease now, perhaps together with others.
                owned = given instanceof Lease known ? known : lease;
                got = result.complete(given);
            }
        } catch (Throwable error) {
            // If the caller does not have the lease by now, it never gets it.
            got = !result.completeExceptionally(error) && !result.isCompletedExceptionally();
        }
        if (owned != null && !got) {
            owned.giveBack();
        }
    }

    @Override
    public void execute(Runnable task) {
        locks.context.completions().execute(task);
    }

    @Override
    public <T extends @Nullable Object> void await(
            CompletableFuture<T> end, BooleanSupplier isAwaited, BiConsumer<@Nullable T, @Nullable Throwable> then) {
        locks.answers.await(end, isAwaited, then);
        locks.armLook();
    }

    @Override
    public long nanoTime() {
        return locks.context.nanoTime();
    }

    @Override
    public boolean isLocked(String name, LockMode mode) {
        return locks.inspection.isLocked(name, mode);
    }

    @Override
    public LockInspector inspector() {
        return locks.inspection;
    }

    @Override
    public LockListener listener() {
        return locks.context.listener();
    }

    @Override
    public void close() {
        StackRoom.requireToBegin();
        // A listener may call this on every command thread, and would wait for itself.
        addThread.run();
        // With a timer of its own: a listener may block that of the engine, or wait on it for the end of the process.
        Scheduler.OnThread timer = new Scheduler.OnThread("lockkeeper-close");
        try {
            CallerThread.join(locks.close(Thread.currentThread(), timer));
        } finally {
            timer.close();
        }
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            try {
                locks.store.close();
            } finally {
                stopThreads.run();
            }
        }
    }

    @Override
    public String toString() {
        return locks.toString();
    }
}
