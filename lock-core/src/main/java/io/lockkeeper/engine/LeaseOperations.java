/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoredLock;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What the callers of this JVM can do with a lease: release, verify, extend and downgrade it. */
final class LeaseOperations implements ManagedLease.Keeper {

    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final LockStore store;
    private final EngineContext context;
    private final PendingAnswers calls;
    private final LeasePolicy policy;
    private final LeaseRegistry registry;
    private final ActionExecutor executor;
    private final LeaseRenewer renewer;
    private final Supplier<String> attemptIds;

    LeaseOperations(
            LockStore store,
            EngineContext context,
            PendingAnswers calls,
            LeasePolicy policy,
            LeaseRegistry registry,
            ActionExecutor executor,
            LeaseRenewer renewer,
            Supplier<String> attemptIds) {
        this.store = store;
        this.context = context;
        this.calls = calls;
        this.policy = policy;
        this.registry = registry;
        this.executor = executor;
        this.renewer = renewer;
        this.attemptIds = attemptIds;
    }

    /** Makes the lease of a caller. */
    ManagedLease lease(LockAction.Grant grant) {
        PendingRequest waiter = grant.waiter();
        StoreHold hold = grant.hold();
        ManagedLease lease =
                new ManagedLease(this, waiter.request, waiter.tries, waiter.thread, hold, grant.tokens(), grant.path());
        registry.begun();
        hold.add(lease);
        if (hold.isLost()) {
            lease.lost(hold.lossReason());
        }
        return lease;
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
    public void lose(StoreHold hold, String reason) {
        executor.lose(hold, reason);
    }

    @Override
    public CompletableFuture<ReleaseResult> release(ManagedLease lease, long waitNanos) {
        CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
        while (true) {
            StoreHold hold = lease.hold();
            if (release(lease, hold, waitNanos, result)) {
                return result;
            }
            if (hold == lease.hold()) {
                result.complete(ReleaseResult.LOST);
                return result;
            }
            // A downgrade came between: the lease belongs to another hold now.
        }
    }

    private boolean release(
            ManagedLease lease, StoreHold hold, long waitNanos, CompletableFuture<ReleaseResult> result) {
        long keep = lease.keepMillis();
        LocalLock lock = registry.lockOf(hold.attempt);
        hold.remove(lease);
        return lock != null && executor.on(lock, waitNanos, result, (known, now) -> known.released(hold, keep, now));
    }

    @Override
    public CompletableFuture<Boolean> verify(ManagedLease lease) {
        StoreHold hold = lease.hold();
        String before = hold.unconfirmed;
        List<CompletableFuture<Optional<StoredLock>>> found = lease.names().stream()
                .map(name -> PendingAnswers.safely(() -> store.inspect(name)))
                .toList();
        return CompletableFuture.allOf(found.toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> {
                    boolean there = found.stream().allMatch(lock -> lock.join()
                            .filter(held -> isHolder(hold, before, held.holders()))
                            .isPresent());
                    if (!there) {
                        executor.lose(hold, StoreHold.SAYS_ENDED);
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
        if (hasEndsOfItsLeases(hold)) {
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
        return PendingAnswers.safely(() -> LeaseRenewer.all(store.renew(renewals)))
                .thenApply(held -> extended(lease, hold, held, end, sent));
    }

    private boolean extended(ManagedLease lease, StoreHold hold, boolean held, ClockReading end, ClockReading sent) {
        if (lease.hold() != hold) {
            // The answer says nothing about the hold of the reader that the lease belongs to now.
            throw new StoreException("the writer became a reader before the store answered", null);
        }
        if (!held) {
            executor.lose(hold, StoreHold.SAYS_ENDED);
            return false;
        }
        if (hasEndsOfItsLeases(hold)) {
            lease.endAt(end);
            hold.renewed(end, sent, context.now());
        } else {
            hold.fix(end, context.now());
        }
        renewer.watch(hold);
        return lease.isHeld();
    }

    /** Returns whether each lease of a hold that is shared and renewed has an end of its own. */
    private static boolean hasEndsOfItsLeases(StoreHold hold) {
        return hold.spec.isShared() && !hold.spec.fixed();
    }

    // ---- downgrades ----

    /**
     * Makes a reader of an exclusive holder: in the store its attempt ends and a reader's attempt begins, in one step that
     * nothing can come between. While the store does not answer, either of them may hold the lock there; the reader believes
     * until the deadline that the exclusive hold had, which is before the end of both.
     */
    @Override
    public CompletableFuture<?> downgrade(ManagedLease lease) {
        StoreHold before = lease.hold();
        LocalLock lock = registry.lockOf(before.attempt);
        ClockReading now = context.now();
        StoreHold reader = new StoreHold(
                reading(before, now),
                attemptIds.get(),
                List.of(lease.fencingToken()),
                now,
                before.deadline(),
                before.fixedEnd());
        reader.unconfirmed = before.attempt;
        LocalLock readers = new LocalLock(reader, policy, attemptIds);
        boolean moved = lock != null
                && executor.on(lock, (known, present) -> {
                    if (!lease.isHeld() || known.hold() != before) {
                        return null;
                    }
                    registry.track(reader.attempt, readers);
                    lease.moveTo(reader);
                    return known.downgraded(before, present);
                });
        if (!moved) {
            return CompletableFuture.completedFuture(null);
        }
        registry.untrack(before.attempt);
        lease.downgraded();
        // Nothing else looks at the deadline until the store has answered.
        renewer.watchDeadline(reader);
        return tell(before, reader);
    }

    /** A hold with a fixed end keeps it, also where that was changed by an extension. */
    private static AcquireSpec reading(StoreHold before, ClockReading now) {
        AcquireSpec spec = before.spec;
        ClockReading end = before.fixedEnd();
        return end == null
                ? new AcquireSpec(spec.names(), ClaimMode.READ, spec.leaseMillis(), false, 0)
                : AcquireSpec.fixed(
                        spec.names(), ClaimMode.READ, TimeUnit.NANOSECONDS.toMillis(end.nanosFrom(now)) + 1);
    }

    private CompletableFuture<?> tell(StoreHold before, StoreHold reader) {
        ClockReading sent = context.now();
        HandOverCommand command =
                new HandOverCommand(before.attempt, before.token(), reader.spec.command(reader.attempt, true, 0), true);
        CompletableFuture<@Nullable Void> told = new CompletableFuture<>();
        calls.send(() -> store.handOver(command), (reply, failure) -> {
            told(before, reader, sent, reply);
            told.complete(null);
        });
        return told;
    }

    private void told(StoreHold before, StoreHold reader, ClockReading sent, @Nullable HandOverReply reply) {
        ClockReading now = context.now();
        if (reader.isOver()) {
            // A command of the downgrade may still be on its way.
            executor.cancel(before.spec, before.attempt, 0, reader.keepMillis(now), true);
            executor.cancel(reader.spec, reader.attempt, 0, reader.keepMillis(now), true);
        } else if (reply == null && reader.isExpired(now)) {
            executor.lose(reader, "its lease ended before the store took the downgrade");
        } else if (reply == null) {
            context.scheduler().schedule(() -> context.background().execute(() -> tell(before, reader)), RETRY_NANOS);
        } else if (reply.next() instanceof AcquireReply.Acquired acquired) {
            reader.unconfirmed = null;
            reader.renewed(LeasePolicy.deadline(acquired.leaseMillis(), sent), sent, now);
            renewer.watch(reader);
        } else {
            executor.lose(reader, StoreHold.SAYS_ENDED);
        }
    }
}
