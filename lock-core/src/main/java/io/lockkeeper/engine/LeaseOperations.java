/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.CallerThread;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoredLock;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What the callers of this JVM can do with a lease: release, verify and extend it. */
final class LeaseOperations implements ManagedLease.Keeper {

    private static final String SAYS_ENDED = "the store says that it ended";

    private final LockStore store;
    private final EngineContext context;
    private final LeaseRegistry registry;
    private final ActionExecutor executor;
    private final LeaseRenewer renewer;
    private final Downgrade downgrade;

    LeaseOperations(
            LockStore store,
            EngineContext context,
            LeaseRegistry registry,
            ActionExecutor executor,
            LeaseRenewer renewer,
            Downgrade downgrade) {
        this.store = store;
        this.context = context;
        this.registry = registry;
        this.executor = executor;
        this.renewer = renewer;
        this.downgrade = downgrade;
    }

    @Override
    public EngineContext context() {
        return context;
    }

    @Override
    public void over() {
        registry.over();
    }

    @Override
    public CompletableFuture<?> downgrade(ManagedLease lease) {
        return downgrade.downgrade(lease);
    }

    @Override
    public void lose(StoreHold hold, String reason) {
        executor.lose(hold, reason);
    }

    @Override
    public CompletableFuture<ReleaseResult> release(ManagedLease lease) {
        CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
        while (true) {
            StoreHold hold = lease.hold();
            if (release(lease, hold, result)) {
                return result;
            }
            if (hold == lease.hold()) {
                result.complete(ReleaseResult.LOST);
                return result;
            }
            // A downgrade came between: the lease belongs to another hold now.
        }
    }

    private boolean release(ManagedLease lease, StoreHold hold, CompletableFuture<ReleaseResult> result) {
        long keep = lease.keepMillis();
        LocalLock lock = registry.lockOf(hold.attempt);
        hold.remove(lease);
        return lock != null
                && executor.on(lock, Runnable::run, result, (known, now) -> known.released(hold, keep, now));
    }

    @Override
    public ReleaseResult releaseAndWait(ManagedLease lease) {
        ReleaseResult result = CallerThread.join(CallerThread.waiting(() -> release(lease)));
        StoreHold hold = lease.hold();
        if (result == ReleaseResult.RELEASED && hold.isOver() && hold.isContended()) {
            // The store tells the next holder when it answers. Where both share processors, this thread may want the
            // lock again at once, and could only wait for it: it gives way.
            context.giveWay().run();
        }
        return result;
    }

    @Override
    public CompletableFuture<Boolean> verify(ManagedLease lease) {
        StoreHold hold = lease.hold();
        String before = hold.unconfirmed;
        List<CompletableFuture<Optional<StoredLock>>> found = lease.names().stream()
                .map(name -> StoreCalls.safely(() -> store.inspect(name)))
                .toList();
        return CompletableFuture.allOf(found.toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> {
                    boolean there = found.stream().allMatch(lock -> lock.join()
                            .filter(held -> isHolder(hold, before, held.holders()))
                            .isPresent());
                    if (!there) {
                        executor.lose(hold, SAYS_ENDED);
                    }
                    return there && lease.isHeld();
                });
    }

    /** Until the store has confirmed a downgrade, either of its attempts may hold the lock there. */
    private static boolean isHolder(StoreHold hold, @Nullable String before, List<String> holders) {
        return holders.contains(hold.attempt) || (before != null && holders.contains(before));
    }

    @Override
    public CompletableFuture<Boolean> extend(ManagedLease lease, long leaseMillis) {
        StoreHold hold = lease.hold();
        if (hold.unconfirmed != null) {
            return CompletableFuture.failedFuture(
                    new StoreException("the store has not confirmed yet that the writer is a reader now", null));
        }
        hold.pin();
        if (!lease.isHeld()) {
            // A release was first, and may have passed the hold on.
            return CompletableFuture.completedFuture(false);
        }
        ClockReading sent = context.now();
        ClockReading end = sent.plusMillis(leaseMillis);
        boolean shared = hold.spec.isShared() && !hold.spec.fixed();
        if (shared) {
            lease.limit(end);
        } else {
            hold.limit(end, sent);
        }
        renewer.watch(hold);
        // Never an exact end: a copy that comes late would cut off what a later extension was promised. A hold whose
        // end comes nearer is released by us when that has come.
        long storeMillis = leaseMillis + AcquireSpec.marginMillis(leaseMillis);
        List<RenewCommand> renewals = hold.spec.names().stream()
                .map(name -> new RenewCommand(name, hold.attempt, storeMillis, false, 0))
                .toList();
        return StoreCalls.safely(() -> LeaseRenewer.all(store.renew(renewals))).thenApply(held -> {
            if (lease.hold() != hold) {
                // The answer says nothing about the hold of the reader that the lease belongs to now.
                throw new StoreException("the writer became a reader before the store answered", null);
            }
            if (!held) {
                executor.lose(hold, SAYS_ENDED);
                return false;
            }
            if (shared) {
                lease.endAt(end);
                hold.renewed(end, sent, context.now());
            } else {
                hold.fix(end, context.now());
            }
            renewer.watch(hold);
            return lease.isHeld();
        });
    }
}
