package io.lockkeeper.engine;

import io.lockkeeper.LockEngine;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.RenewCommand;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The leases that callers of this JVM hold now, and what can be done with one. */
final class Leases implements LeaseKeeper {

    private final LockStore store;
    private final TimeSource clock;
    private final LockEngine.Settings settings;
    private final Executor background;
    private final Watchdog watchdog;
    private final Executor callbacks;
    private final Executor completions;
    private final Executor refused = DaemonThreads.cached("lockkeeper-refused");
    private final Set<HeldLease> held = ConcurrentHashMap.newKeySet();
    private volatile @Nullable CompletableFuture<@Nullable Void> drained;

    Leases(LockStore store, TimeSource clock, Scheduler scheduler, LockEngine.Settings settings, Executor background) {
        this.store = store;
        this.clock = clock;
        this.settings = settings;
        this.background = background;
        this.callbacks = neverRefusing(settings.urgent());
        this.completions = neverRefusing(settings.executor());
        this.watchdog = new Watchdog(store, scheduler, clock, background, settings.listener(), this::lose);
    }

    /** Better on a thread of ours than never: a loss would not be told, a lease would stay for ever. */
    private Executor neverRefusing(Executor executor) {
        return task -> {
            try {
                executor.execute(task);
            } catch (RejectedExecutionException full) {
                // Not in the background: a callback may block, and nothing there may wait for it.
                refused.execute(task);
            }
        };
    }

    @Override
    public void watch(Tenure tenure) {
        watchdog.watch(tenure);
    }

    @Override
    public HeldLease lease(LockRequest request, Tenure tenure, long token) {
        HeldLease lease = new HeldLease(request, tenure, token, this);
        held.add(lease);
        return lease;
    }

    @Override
    public TimeSource clock() {
        return clock;
    }

    @Override
    public LockListener listener() {
        return settings.listener();
    }

    @Override
    public Executor callbacks() {
        return callbacks;
    }

    /** Runs what callers hang on futures. */
    Executor completions() {
        return completions;
    }

    @Override
    public CompletableFuture<ReleaseResult> release(HeldLease lease) {
        return lease.tenure().cohort.release(lease);
    }

    @Override
    public void giveBack(HeldLease lease) {
        Tenure tenure = lease.tenure();
        // The answer does not matter: where it never comes, the store ends the hold by itself.
        background.execute(
                () -> store.release(new ReleaseCommand(tenure.claim.name(), tenure.attempt, lease.fencingToken())));
    }

    @Override
    public void lose(Tenure tenure, String reason) {
        if (!tenure.lose()) {
            return;
        }
        tellHolder(tenure, reason);
        tenure.cohort.lost(tenure);
        // The hold may have passed to another local caller meanwhile; from now on it cannot.
        tellHolder(tenure, reason);
    }

    private static void tellHolder(Tenure tenure, String reason) {
        HeldLease lease = tenure.lease;
        if (lease != null) {
            lease.lost(reason);
        }
    }

    @Override
    public boolean verify(HeldLease lease) {
        String name = lease.name();
        String attempt = lease.tenure().attempt;
        boolean there = answer(name, store.inspect(name))
                .filter(found -> found.owner().equals(attempt))
                .isPresent();
        if (!there) {
            lose(lease.tenure(), "the store says that it ended");
        }
        return there && lease.isHeld();
    }

    @Override
    public boolean extend(HeldLease lease, long leaseMillis) {
        Tenure tenure = lease.tenure();
        tenure.keepFromPassing();
        if (!lease.isHeld()) {
            // A release was first, and may have passed the hold on.
            return false;
        }
        Moment sent = clock.now();
        long storeMillis = leaseMillis + Claim.marginMillis(leaseMillis);
        // The store may have the new end from now on, whether its answer comes or not.
        tenure.limit(sent.plusMillis(leaseMillis), sent);
        watchdog.rewatch(tenure);
        List<CompletableFuture<Boolean>> renewal =
                store.renew(List.of(new RenewCommand(lease.name(), tenure.attempt, storeMillis, true)));
        if (!answer(lease.name(), renewal.get(0))) {
            lose(tenure, "the store says that it ended");
            return false;
        }
        tenure.fix(sent.plusMillis(leaseMillis));
        watchdog.rewatch(tenure);
        return lease.isHeld();
    }

    boolean isLocked(String name) {
        return answer(name, store.inspect(name)).isPresent();
    }

    @Override
    public void over(HeldLease lease) {
        held.remove(lease);
        CompletableFuture<@Nullable Void> waiting = drained;
        if (waiting != null && held.isEmpty()) {
            waiting.complete(null);
        }
    }

    int size() {
        return held.size();
    }

    /** Waits for the holders as the settings say. */
    void awaitHolders() {
        CompletableFuture<@Nullable Void> waiting = new CompletableFuture<>();
        drained = waiting;
        if (!held.isEmpty()) {
            waiting.completeOnTimeout(null, settings.shutdownWait().toMillis(), TimeUnit.MILLISECONDS)
                    .join();
        }
    }

    /** Releases what is still held. */
    void close() {
        CompletableFuture.allOf(held.stream().map(HeldLease::closeAsync).toArray(CompletableFuture<?>[]::new))
                .join();
        store.close();
    }

    private static <T> T answer(String name, CompletableFuture<T> command) {
        try {
            return command.join();
        } catch (CompletionException failure) {
            throw new LockStoreException(
                    "Lock '" + name + "': " + StorePort.storeFailure(failure).getMessage(), failure.getCause());
        }
    }
}
