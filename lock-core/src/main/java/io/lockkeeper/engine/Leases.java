/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockEngine;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoredLock;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The leases that callers of this JVM hold now, and what can be done with one. */
final class Leases implements LeaseKeeper {

    private static final Logger log = LoggerFactory.getLogger(LockTemplate.class);
    private static final int MOST_NAMED = 10;

    private final LockStore store;
    private final TimeSource clock;
    private final LockEngine.Settings settings;
    private final Scheduler scheduler;
    private final Executor background;
    private final Watchdog watchdog;
    private final FallbackExecutor callbacks;
    private final FallbackExecutor completions;
    private final Recovery recovery;
    private final Set<HeldLease> held = ConcurrentHashMap.newKeySet();
    private volatile @Nullable CompletableFuture<@Nullable Void> drained;

    Leases(LockStore store, TimeSource clock, Scheduler scheduler, LockEngine.Settings settings, Executor background) {
        this.store = store;
        this.clock = clock;
        this.settings = settings;
        this.scheduler = scheduler;
        this.background = background;
        // Not in the background: a callback may block, and nothing there may wait for it.
        Executor refused = DaemonThreads.cached("lockkeeper-refused");
        this.callbacks = FallbackExecutor.retrying(settings.urgent(), refused, scheduler);
        this.completions = FallbackExecutor.retrying(settings.executor(), refused, scheduler);
        this.recovery = new Recovery(clock, scheduler, background);
        this.watchdog = new Watchdog(store, scheduler, clock, background, settings.listener(), this::lose);
    }

    @Override
    public void watch(Tenure tenure) {
        watchdog.watch(tenure);
    }

    @Override
    public HeldLease lease(LockRequest request, Tenure tenure) {
        HeldLease lease = new HeldLease(request, tenure, this);
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

    @Override
    public Recovery recovery() {
        return recovery;
    }

    /** Runs what callers hang on futures. */
    Executor completions() {
        return completions;
    }

    @Override
    public Executor background() {
        return background;
    }

    @Override
    public CompletableFuture<ReleaseResult> release(HeldLease lease) {
        return lease.tenure().cohort.release(lease);
    }

    @Override
    public void lose(Tenure tenure, String reason) {
        StackRoom.requireToEnd();
        Effects effects = new Effects(background, recovery);
        effects.answer(() -> tellHolders(tenure, reason));
        effects.answer(() -> tenure.cohort.lost(tenure));
        // The hold may have passed to another local caller meanwhile; from now on it cannot.
        effects.answer(() -> tellHolders(tenure, reason));
        effects.command(() -> giveBack(tenure));
        if (tenure.lose()) {
            effects.perform();
        }
    }

    private static void tellHolders(Tenure tenure, String reason) {
        tenure.holders().forEach(lease -> lease.lost(reason));
    }

    /** What the store may still keep goes back now: other locks of the same request, or a lease that is over for us only. */
    private void giveBack(Tenure tenure) {
        long keep =
                tenure.holders().stream().mapToLong(HeldLease::keepMillis).max().orElse(0);
        // The answer does not matter: where it never comes, the store ends the hold by itself.
        Recovery.safely(() -> store.release(new ReleaseCommand(tenure.claim.names(), tenure.attempt, 0, keep)));
    }

    @Override
    public boolean verify(HeldLease lease) {
        String attempt = lease.tenure().attempt;
        List<CompletableFuture<Optional<StoredLock>>> found =
                lease.names().stream().map(store::inspect).toList();
        boolean there = answer(
                lease.name(),
                CompletableFuture.allOf(found.toArray(CompletableFuture<?>[]::new))
                        .thenApply(done -> found.stream().allMatch(lock -> lock.join()
                                .filter(held -> held.holders().contains(attempt))
                                .isPresent())));
        if (!there) {
            lose(lease.tenure(), "the store says that it ended");
        }
        return there && lease.isHeld();
    }

    @Override
    public boolean extend(HeldLease lease, long leaseMillis) {
        StackRoom.requireToEnd();
        Tenure tenure = lease.tenure();
        tenure.keepFromPassing();
        if (!lease.isHeld()) {
            // A release was first, and may have passed the hold on.
            return false;
        }
        Moment sent = clock.now();
        Moment end = sent.plusMillis(leaseMillis);
        boolean shared = tenure.claim.isShared() && !tenure.claim.fixed();
        if (shared) {
            lease.endAt(end);
            scheduler.schedule(lease::isHeld, end.nanosFrom(clock));
        } else {
            tenure.limit(end, sent);
            watchdog.watch(tenure);
        }
        // Never an exact end: a copy that comes late would cut off what a later extension was promised. A hold whose
        // end comes
        // nearer is released by us when that has come.
        long storeMillis = leaseMillis + Claim.marginMillis(leaseMillis);
        List<CompletableFuture<Boolean>> renewals = store.renew(tenure.claim.names().stream()
                .map(name -> new RenewCommand(name, tenure.attempt, storeMillis, false, 0))
                .toList());
        if (!answer(lease.name(), Watchdog.all(renewals))) {
            lose(tenure, "the store says that it ended");
            return false;
        }
        if (shared) {
            tenure.renewed(end, sent);
        } else {
            tenure.fix(end);
        }
        watchdog.watch(tenure);
        return lease.isHeld();
    }

    Collection<HeldLease> held() {
        return List.copyOf(held);
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
        if (held.isEmpty()) {
            return;
        }
        long millis = settings.shutdownWait().toMillis();
        log.info("Waiting up to {} ms until locks are released that are held: {}", millis, held.size());
        waiting.completeOnTimeout(null, millis, TimeUnit.MILLISECONDS).join();
        Collection<HeldLease> left = held();
        if (!left.isEmpty()) {
            log.warn(
                    "Released although their holders have not ended within {} ms, so that others may have them now:"
                            + " {} held, {}",
                    millis,
                    left.size(),
                    left.stream()
                            .limit(MOST_NAMED)
                            .map(lease -> "'" + lease.name() + "' (fencing token " + lease.fencingToken() + ")")
                            .collect(Collectors.joining(", ")));
        }
    }

    /** Releases what is still held. */
    void close() {
        CompletableFuture.allOf(held.stream().map(HeldLease::closeAsync).toArray(CompletableFuture<?>[]::new))
                .join();
        store.close();
    }

    /** The timer has stopped: nothing may wait for it any more. */
    void closeExecutors() {
        callbacks.close();
        completions.close();
    }

    static <T> T answer(String name, CompletableFuture<T> command) {
        try {
            return command.join();
        } catch (CompletionException failure) {
            throw new LockStoreException(
                    "Lock '" + name + "': " + StorePort.storeFailure(failure).getMessage(), failure.getCause());
        }
    }
}
