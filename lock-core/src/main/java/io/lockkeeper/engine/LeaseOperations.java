/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockManager;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoredLock;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Creates the leases of callers, and does what concerns the store: release, verify, extend, downgrade. */
record LeaseOperations(
        LockStore store,
        EngineContext context,
        PendingAnswers calls,
        LeasePolicy policy,
        LeaseRegistry registry,
        ActionExecutor executor,
        LeaseRenewer renewer) {

    private static final Logger log = LoggerFactory.getLogger(LeaseOperations.class);
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /** Returns the lease of a grant, made once even if the grant is repeated after an error. */
    ManagedLease lease(LockAction.Grant grant) {
        PendingRequest waiter = grant.waiter();
        StoreHold hold = grant.hold();
        ManagedLease lease = waiter.lease;
        if (lease == null) {
            waiter.path = grant.path();
            lease = new Lease(waiter, hold, grant);
            registry.leases.incrementAndGet();
            hold.add(lease);
            waiter.lease = lease;
        }
        if (hold.isLost()) {
            lease.lost(hold.endReason());
        }
        return lease;
    }

    /** Returns the time of a grant; that of this process if the store cannot tell its own. */
    private long grantedMillis(String name) {
        long byStore = 0;
        try {
            byStore = store.currentTimeMillis(name);
        } catch (RuntimeException unknown) {
            log.debug("The store cannot tell its time for lock '{}'", name, unknown);
        }
        return byStore > 0 ? byStore : context.scheduler().currentTimeMillis();
    }

    private final class Lease extends ManagedLease {

        /** Reports if the caller drops the lease unreleased; unreachable as soon as this lease is. */
        @SuppressWarnings("UnusedVariable") // Only kept reachable.
        private volatile @Nullable ForgottenLease forgotten;

        /** Completed when the store has answered the downgrade, or has failed to. */
        private volatile CompletableFuture<?> downgrade = PendingAnswers.DONE;

        Lease(PendingRequest waiter, StoreHold hold, LockAction.Grant grant) {
            super(
                    registry.owedReleases,
                    waiter.request,
                    waiter.thread,
                    hold,
                    grant.token(),
                    grantedMillis(waiter.request.names().get(0)),
                    context.scheduler());
        }

        @Override
        EngineContext context() {
            return context;
        }

        @Override
        LeasePolicy policy() {
            return policy;
        }

        @Override
        public void reportIfForgotten(LockLease given, StackWalker.@Nullable StackFrame caller) {
            forgotten = ForgottenLease.of(given, registry.forgotten, this, caller);
        }

        @Override
        void over() {
            registry.over(this);
        }

        @Override
        void loseHold(String reason) {
            executor.lose(hold(), reason);
        }

        @Override
        long releaseNanos() {
            // A moment longer, so that a driver can report its own timeout.
            return executor.commandTimeout().toNanos() + PendingRequest.GRACE_NANOS;
        }

        @Override
        void leaveHold() {
            calls.untilDone(() -> releaseHold(0));
        }

        @Override
        CompletableFuture<ReleaseResult> releaseHold(long waitNanos) {
            StoreHold known = hold();
            CompletableFuture<ReleaseResult> result = release(known, waitNanos);
            if (result == null && known != hold()) {
                // A downgrade has just moved the lease to another hold.
                result = release(hold(), waitNanos);
            }
            return result != null
                    ? result
                    : hold().isReleased()
                            ? releaseAgain(hold())
                            : CompletableFuture.completedFuture(ReleaseResult.LOST);
        }

        /** Releases again: an error interrupted the first release, which the store may not have received. */
        private CompletableFuture<ReleaseResult> releaseAgain(StoreHold hold) {
            registry.untrack(hold.id);
            executor.cancel(hold, hold.attempt(), 0, hold.keepMillis(context.now()));
            return CompletableFuture.completedFuture(ReleaseResult.UNKNOWN);
        }

        private @Nullable CompletableFuture<ReleaseResult> release(StoreHold hold, long waitNanos) {
            long keep = keepMillis();
            LocalLock lock = registry.lockOf(hold.id);
            calls.begin();
            try {
                hold.remove(this);
                return lock == null
                        ? null
                        : executor.on(lock, waitNanos, (known, now) -> known.released(hold, keep, now));
            } finally {
                calls.end();
            }
        }

        @Override
        public boolean verify() {
            if (!isHeld()) {
                return false;
            }
            StoreHold hold = hold();
            String before = hold.unconfirmed();
            List<CompletableFuture<Boolean>> answers = names().stream()
                    .map(name -> PendingAnswers.safely(() -> store.inspect(name))
                            .thenApply(found -> isHolder(hold, before, found)))
                    .toList();
            boolean there = PendingAnswers.answer(name(), LeaseRenewer.all(answers), calls.patienceNanos);
            if (!there && hold() != hold) {
                // A downgrade has just moved the lease.
                return verify();
            } else if (!there) {
                executor.lose(hold, hold.endReasonByStore(context.now()));
            }
            return there && isHeld();
        }

        /** Until the store has confirmed a downgrade, either attempt may hold the lock there. */
        private static boolean isHolder(StoreHold hold, @Nullable String before, Optional<StoredLock> found) {
            List<String> holders = found.map(StoredLock::holders).orElse(List.of());
            return holders.contains(hold.attempt()) || (before != null && holders.contains(before));
        }

        @Override
        CompletableFuture<Boolean> extendAsync(Duration leaseTime, LockRequest asked) {
            return extension(asked.withLeaseTime(leaseTime), false, 0)
                    .thenCompose(end -> end.getAsBoolean() || !isHeld()
                            ? CompletableFuture.completedFuture(isHeld())
                            : extendAsync(leaseTime, asked));
        }

        @Override
        public CompletableFuture<BooleanSupplier> extendFor(LockRequest asked, long waitedNanos) {
            return extension(asked, true, waitedNanos);
        }

        /**
         * Asks the store to keep the hold, after a downgrade that is under way; the result ends it at the new end, or
         * leaves a later one as it is.
         */
        private CompletableFuture<BooleanSupplier> extension(LockRequest asked, boolean onlyLater, long waitedNanos) {
            CompletableFuture<?> before = downgrade;
            return inTime(
                    before.isDone()
                            ? extensionNow(asked, onlyLater)
                            : before.thenCompose(told -> extensionNow(asked, onlyLater)),
                    asked,
                    waitedNanos);
        }

        private CompletableFuture<BooleanSupplier> extensionNow(LockRequest asked, boolean onlyLater) {
            StoreHold hold = hold();
            boolean held = isHeld();
            if (held && hold.unconfirmed() != null) {
                return CompletableFuture.failedFuture(
                        new StoreException("the store has not confirmed yet that the writer is a reader now", null));
            }
            if (held) {
                hold.pinned = true;
            }
            // Asked again: a release may have passed the hold on before it was pinned.
            if (!held || !isHeld()) {
                return CompletableFuture.completedFuture(() -> false);
            }
            long millis = LockManager.bounded(Objects.requireNonNull(asked.leaseTime()))
                    .toMillis();
            ClockReading sent = context.now();
            ClockReading end = sent.plusMillis(millis);
            ClockReading before = ownEnd;
            if (!hasOwnEnd(hold)) {
                hold.limit(end, sent);
            } else if (before != null) {
                ownEnd = before.orEarlier(end);
            }
            renewer.watch(hold);
            return renewer.renew(hold, millis)
                    .thenApply(told -> answered(hold, told))
                    .thenApply(yes -> () -> yes && extended(hold, end, sent, onlyLater));
        }

        /**
         * Limits the wait for an answer: to the wait time of the request, to one command timeout if it does not wait. A
         * positive answer that comes later has no effect, because the caller has gone.
         */
        private <T> CompletableFuture<T> inTime(CompletableFuture<T> answer, LockRequest asked, long waitedNanos) {
            Duration wait = asked.retryCount() > 0 ? Duration.ZERO : asked.waitTime();
            if (wait == null || answer.isDone()) {
                return answer;
            }
            long patience = wait.isZero()
                    ? executor.commandTimeout().toNanos()
                    : Math.min(LockManager.bounded(wait).toNanos(), calls.patienceNanos);
            return context.scheduler()
                    .atMost(patience - waitedNanos + PendingRequest.GRACE_NANOS, answer)
                    .thenCompose(told -> answer.isDone()
                            ? answer
                            : CompletableFuture.failedFuture(
                                    new StoreException("the store has not answered before the wait was over", null)));
        }

        private boolean answered(StoreHold hold, boolean held) {
            // If a downgrade has moved the lease, the answer says nothing about its present hold.
            if (!held && hold() == hold) {
                executor.lose(hold, hold.endReasonByStore(context.now()));
            }
            return held;
        }

        private boolean extended(StoreHold hold, ClockReading end, ClockReading sent, boolean onlyLater) {
            // A concurrent downgrade comes either before, and the reader is extended, or after, and keeps the new end.
            synchronized (hold) {
                if (hold() != hold) {
                    return false;
                }
                ClockReading before = hasOwnEnd(hold) ? ownEnd : hold.fixedEnd();
                if (onlyLater && before != null && !end.isAfter(before)) {
                    return isHeld();
                }
                if (hasOwnEnd(hold)) {
                    ownEnd = end;
                    hold.renewed(end, sent, context.now());
                } else {
                    hold.fix(end, context.now());
                }
            }
            renewer.watch(hold);
            return isHeld();
        }

        /** Returns whether each lease of the hold has an end of its own: it is shared and renewed. */
        private static boolean hasOwnEnd(StoreHold hold) {
            return hold.spec.isShared() && !hold.spec.fixed();
        }

        /**
         * Turns an exclusive holder into a reader: in the store its attempt ends and a reader's attempt begins in one
         * atomic step. Until the store answers, either of them may hold the lock there. The reader keeps the deadline
         * of the exclusive hold, which is before the end of both.
         */
        @Override
        public CompletableFuture<?> downgrade() {
            StoreHold before = hold();
            LocalLock lock = registry.lockOf(before.id);
            CompletableFuture<@Nullable Void> told = new CompletableFuture<>();
            if (lock != null) {
                executor.on(lock, (known, now) -> {
                    if (!isHeld() || known.hold() != before) {
                        return null;
                    }
                    downgrade = told;
                    synchronized (before) {
                        StoreHold reader = before.reader(
                                reading(before, now), policy.attemptIds().get(), fencingToken(), now);
                        registry.track(reader.id, new LocalLock(reader, policy));
                        moveTo(reader);
                    }
                    return known.lost(before, StoreHold.DOWNGRADED, now);
                });
            }
            if (downgrade != told) {
                return PendingAnswers.DONE;
            }
            StoreHold reader = hold();
            downgraded();
            renewer.watch(reader);
            tell(before, reader, told);
            return context.scheduler().atMost(releaseNanos(), told);
        }
    }

    /** A hold with a fixed end keeps it, also where that was changed by an extension. */
    private static AcquireSpec reading(StoreHold before, ClockReading now) {
        ClockReading end = before.fixedEnd();
        return end == null
                ? AcquireSpec.renewed(ClaimMode.READ, before.spec.leaseMillis())
                : AcquireSpec.fixed(ClaimMode.READ, TimeUnit.NANOSECONDS.toMillis(end.nanosToKeepFrom(now)) + 1);
    }

    /** Sends a downgrade to the store until it is answered; completes {@code told} after the first try. */
    private void tell(StoreHold before, StoreHold reader, CompletableFuture<@Nullable Void> told) {
        ClockReading sent = context.now();
        HandOverCommand command = new HandOverCommand(
                before.attempt(), before.token(), reader.spec.command(reader.names, reader.id, true, 0, 0), true);
        calls.send(() -> store.handOver(command), (reply, failure) -> {
            told(before, reader, sent, reply);
            told.complete(null);
        });
    }

    private void told(StoreHold before, StoreHold reader, ClockReading sent, @Nullable HandOverReply reply) {
        ClockReading now = context.now();
        if (!reader.isOver() && reply == null) {
            Runnable again = () -> calls.untilDone(() -> tell(before, reader, new CompletableFuture<>()));
            context.scheduler().schedule(() -> context.background().execute(again), RETRY_NANOS);
            return;
        }
        // Not earlier: a late grant message of an untracked attempt is answered with a release, while the store may not
        // know the reader yet.
        registry.untrack(before.id);
        if (reader.isOver()) {
            // A command of the downgrade may still be under way. The release of the reader may come after this.
            reader.releasedTwice();
            executor.cancel(before, before.attempt(), 0, reader.keepMillis(now));
            executor.cancel(reader, reader.attempt(), 0, reader.keepMillis(now));
        } else if (reply != null && reply.next() instanceof AcquireReply.Acquired acquired) {
            reader.confirmed();
            reader.renewed(LeasePolicy.deadline(acquired.leaseMillis(), sent), sent, now);
            renewer.watch(reader);
        } else {
            executor.lose(reader, reader.endReasonByStore(now));
        }
    }
}
