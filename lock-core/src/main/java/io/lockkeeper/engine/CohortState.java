/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreNotReadyException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Where a cohort stands, and its steps from one phase to the next. Guarded by the cohort: every method is called while it
 * is locked, and what is to be done goes into the {@link Effects}.
 */
final class CohortState {

    /** A store that is well answers sooner, also on a machine that is busy. */
    private static final long SILENT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    final LocalQueue waiters = new LocalQueue();
    Phase phase = Phase.IDLE;

    /** What asks or waits in the store now; null while the cohort is idle or holds. */
    @Nullable
    Attempt attempt;

    /** What the cohort holds now; null while it does not. */
    @Nullable
    Tenure tenure;

    /** What asked for the hold that the cohort had last, and may still get an answer; null: it has had them all. */
    private @Nullable Attempt holding;

    private final Cohort cohort;
    private final CohortPort port;
    private final CohortTimes times;
    private final Runnable onFirstAnswer;
    private final Consumer<Cohort> onRetired;

    /** The last caller left before the store answered: completed when the place that the answer gives is given up. */
    private CompletableFuture<@Nullable Void> leaver = new CompletableFuture<>();

    CohortState(Cohort cohort, CohortPort port, CohortTimes times, Runnable onFirstAnswer, Consumer<Cohort> onRetired) {
        this.cohort = cohort;
        this.port = port;
        this.times = times;
        this.onFirstAnswer = onFirstAnswer;
        this.onRetired = onRetired;
    }

    boolean isHeld() {
        return tenure != null && tenure.isValid(times.clock());
    }

    /** Returns whether readers hold the lock whom nobody may join any more. */
    boolean isFull() {
        return phase == Phase.HELD && cohort.claim().isShared() && (tenure == null || !times.mayJoin(tenure));
    }

    /** A hold that was given up stays lost: the answer to a renewal under way must not bring it back, unknown to us. */
    void loseTenure(Effects effects) {
        Tenure late = tenure;
        if (late != null && late.lose()) {
            effects.answer(
                    () -> late.holders().forEach(holder -> holder.lost("its lease ended before it was renewed")));
        }
    }

    /** An attempt failed before it had a place: the callers who hear of the store for the first time are told. */
    void failed(Attempt asked, StoreException failure, Effects effects) {
        drop(asked);
        boolean sent = !(failure instanceof StoreNotReadyException);
        if (sent) {
            effects.command(() -> port.abandon(cohort, asked));
        }
        List<Waiter> failing = asked.first && sent ? waiters.takeAll() : waiters.takeImpatient();
        failing.forEach(waiter -> effects.answer(() -> port.fail(waiter, failure)));
        askLaterOrRest(failure, effects);
    }

    /** Returns why the store cannot tell who holds the lock; null: it can. */
    private @Nullable StoreException failure() {
        return attempt == null ? null : attempt.pollFailure;
    }

    /** Returns what a caller is told of the store whose wait is over; null: the store is well. */
    @Nullable
    StoreException failureFor(Waiter waiter) {
        StoreException failure = failure();
        if (failure == null && isSilentTo(waiter)) {
            return new StoreException(
                    "the store has not answered within "
                            + (waiter.patience == null ? Duration.ZERO : waiter.patience).toMillis() + " ms",
                    null);
        }
        return failure;
    }

    /** Returns whether an answer that may come at any moment is better than what is known of the lock now. */
    boolean owesAnswer(Waiter waiter) {
        return phase == Phase.ASKING || (failure() == null && isSilentTo(waiter));
    }

    /**
     * Returns whether a caller has asked in vain. One whose question has not been sent or answered yet, because others
     * come first, goes by any answer that the store has given meanwhile.
     */
    private boolean isSilentTo(Waiter waiter) {
        boolean outside = phase == Phase.IDLE || phase == Phase.RETIRED;
        Moment asked = outside ? waiter.asked : attempt == null ? null : attempt.unanswered;
        if (asked == null) {
            return false;
        }
        long heard = port.heardNanos();
        boolean heardSince = heard - waiter.asked.nanos() >= 0;
        long last = outside && heardSince ? heard : asked.nanos();
        return times.clock().nanoTime() - last >= SILENT_NANOS || !(heardSince || phase == Phase.QUEUED);
    }

    /** Refuses a caller who does not wait. */
    void refuseNow(Waiter waiter, Effects effects) {
        StoreException failure = failure();
        if (failure == null) {
            refuse(List.of(waiter), holder(), effects);
        } else {
            effects.answer(() -> port.fail(waiter, failure));
        }
    }

    void forgetTenure() {
        if (tenure != null) {
            port.untrack(tenure.attempt);
            tenure = null;
        }
    }

    void drop(Attempt ended) {
        ended.stopPolling();
        port.untrack(ended.id);
        attempt = null;
    }

    Attempt beginAttempt(Phase next, boolean first) {
        Attempt begun = port.nextAttempt();
        begun.first = first;
        begun.passes = cohort.claim().maxPasses();
        begun.unanswered = next == Phase.ASKING ? begun.begun : null;
        phase = next;
        attempt = begun;
        port.track(begun.id, cohort);
        return begun;
    }

    /** Asks with a new attempt; if it is the first one, a failure ends the waits of all callers. */
    void ask(boolean first, Effects effects) {
        forgetTenure();
        Attempt next = beginAttempt(Phase.ASKING, first);
        next.queues = waiters.anyWaits();
        effects.command(() -> port.ask(cohort, next, next.queues));
    }

    /** Asks again for an attempt that has a place, or waits for the time to ask. */
    void poll(Attempt waiting, Effects effects) {
        waiting.unanswered = times.clock().now();
        effects.command(() -> port.ask(cohort, waiting, true));
    }

    void askOrRest(Effects effects) {
        if (waiters.isEmpty()) {
            restWithoutPlace(effects);
        } else {
            ask(false, effects);
        }
    }

    /** Callers who waited already go on waiting while the store fails; asking again soon does not cost much. */
    void askLaterOrRest(StoreException failure, Effects effects) {
        if (waiters.isEmpty()) {
            restWithoutPlace(effects);
        } else {
            Attempt next = beginAttempt(Phase.QUEUED, false);
            next.pollFailure = failure;
            port.pollLater(cohort, next, times.askAgainMillis());
        }
    }

    /** Somebody else holds the lock. Where the store cannot queue, callers who wait ask again and again. */
    void busy(Attempt asked, String holder, Effects effects) {
        drop(asked);
        refuse(waiters.takeImpatient(), holder, effects);
        if (waiters.isEmpty()) {
            restWithoutPlace(effects);
        } else if (!asked.queues) {
            ask(false, effects);
        } else {
            Attempt next = beginAttempt(Phase.QUEUED, false);
            next.holderBefore = holder;
            port.pollLater(cohort, next, times.busyMillis());
        }
    }

    /**
     * An error came into a decision, and some of it may have been made: what no caller has for certain is given back, and those
     * who wait ask anew.
     *
     * @param unknown attempts that may be known here no more; null: none
     */
    void startAfresh(@Nullable Attempt unknown, Effects effects) {
        Tenure unfinished = tenure;
        boolean keeps = unfinished != null
                && !unfinished.isOver()
                && !unfinished.holders().isEmpty();
        if (unfinished != null && !keeps) {
            unfinished.lose();
            forgetTenure();
            effects.command(() -> port.abandon(
                    cohort, new Attempt(unfinished.attempt, times.clock().now())));
        }
        Attempt asking = attempt;
        if (asking != null) {
            drop(asking);
            effects.command(() -> port.abandon(cohort, asking));
        }
        for (Attempt next = unknown; next != null; next = next.nextDoubtful) {
            next.isDoubtful = false;
            if (next != asking) {
                abandonUnlessHeld(next, effects);
            }
        }
        if (keeps) {
            phase = Phase.HELD;
        } else if (phase == Phase.RETIRED) {
            StoreException failure = new StoreException("an error came into the answer", null);
            waiters.takeAll().forEach(waiter -> effects.answer(() -> port.fail(waiter, failure)));
        } else {
            effects.answer(onFirstAnswer);
            askOrRest(effects);
        }
    }

    /** An attempt has ended without our doing. What a late command of a revoked one may have in the store is given back. */
    void startOver(Attempt ended, Effects effects) {
        drop(ended);
        if (ended.revoked) {
            effects.command(() -> port.abandon(cohort, ended));
        }
        askOrRest(effects);
    }

    void rest(Effects effects) {
        phase = Phase.RETIRED;
        onRetired.accept(cohort);
        effects.answer(onFirstAnswer);
    }

    /** The last caller left before the store answered, and the answer gave no place. */
    private void restWithoutPlace(Effects effects) {
        rest(effects);
        effects.answer(() -> leaver.complete(null));
    }

    void begin(Tenure begun, LockListener.Way way, Effects effects) {
        if (attempt != null) {
            attempt.stopPolling();
            begun.begunBy(attempt);
            // Its first question is answered; only one that was placed in the queue may have another on its way.
            holding = phase == Phase.QUEUED ? attempt : null;
            attempt = null;
        }
        Waiter next = waiters.next();
        if (next == null) {
            port.untrack(begun.attempt);
            effects.command(() ->
                    port.release(begun, begun.token() - 1, 0).whenComplete((told, failed) -> leaver.complete(null)));
            rest(effects);
            return;
        }
        tenure = begun;
        phase = Phase.HELD;
        effects.answer(onFirstAnswer);
        effects.answer(() -> port.watch(begun));
        give(next, way, effects);
        if (cohort.claim().isShared()) {
            waiters.takeAll().forEach(reader -> give(reader, way, effects));
        } else {
            refuse(waiters.takeImpatient(), begun.attempt, effects);
        }
    }

    /** Gives a caller the hold that the cohort has now. */
    void give(Waiter next, LockListener.Way way, Effects effects) {
        Tenure of = Objects.requireNonNull(tenure, "only a hold can be given");
        HeldLease lease = port.lease(next.request, of);
        lease.events().came(way);
        effects.answer(() -> port.grant(next, lease));
        of.add(lease);
    }

    void refuse(List<Waiter> refused, @Nullable String holder, Effects effects) {
        refused.forEach(waiter -> effects.answer(() -> port.refuse(waiter, holder)));
    }

    void queued(Attempt asked, AcquireReply.Queued answer, Effects effects) {
        phase = Phase.QUEUED;
        effects.answer(onFirstAnswer);
        refuse(waiters.takeImpatient(), answer.holder(), effects);
        Grant early = asked.early;
        if (waiters.isEmpty()) {
            giveUpPlace(asked, effects, leaver);
        } else if (early != null) {
            asked.early = null;
            grantTo(asked, early, effects);
        } else if (asked.missed) {
            asked.missed = false;
            poll(asked, effects);
        } else {
            long remaining = Math.min(answer.remainingMillis(), asked.freeInMillis);
            asked.freeInMillis = Long.MAX_VALUE;
            port.pollLater(cohort, asked, remaining);
        }
    }

    void grantTo(Attempt waiting, Grant grant, Effects effects) {
        waiting.granted = true;
        Tenure begun = times.tenure(cohort, waiting, grant);
        if (begun == null) {
            // No fresh sample of the store's clock, or a grant that came too late: a claim tells how long it lasts.
            poll(waiting, effects);
        } else {
            begin(begun, waiting.way(), effects);
        }
    }

    /** The hold is handed on as that of a reader; until the store knows that, it is still that of this attempt. */
    void goOnAsReader() {
        if (holding != null) {
            holding.reads = true;
        }
        forgetTenure();
    }

    private boolean isOver(Attempt asked) {
        return !asked.reads && (tenure == null || !tenure.attempt.equals(asked.id));
    }

    void afterTheEnd(Attempt asked, Moment sent, AcquireReply reply, Effects effects) {
        if (isOver(asked)) {
            if (reply instanceof AcquireReply.Acquired || reply instanceof AcquireReply.Queued) {
                effects.command(() -> port.abandon(cohort, asked));
            }
        } else if (reply instanceof AcquireReply.Acquired acquired && tenure != null && tenure.fixedEnd() == null) {
            // A poll that crossed the grant: the store has refreshed the lease.
            tenure.renewed(times.deadline(acquired.leaseMillis(), sent), sent);
        }
    }

    void abandonUnlessHeld(Attempt asked, Effects effects) {
        if (isOver(asked)) {
            effects.command(() -> port.abandon(cohort, asked));
        }
    }

    void endTenure(Tenure ended, long keepMillis, CompletableFuture<ReleaseResult> result, Effects effects) {
        forgetTenure();
        // Of several locks nothing is reserved beyond the tokens that were given out.
        long lastToken = ended.claim.names().size() > 1 ? 0 : ended.token();
        if (waiters.isEmpty()) {
            rest(effects);
            effects.command(() -> CohortPort.settle(result, Downgrades.release(port, ended, lastToken, keepMillis)));
        } else {
            Attempt next = beginAttempt(Phase.ASKING, false);
            next.passes = ended.passesOfNext();
            effects.command(() -> CohortPort.settle(result, port.handOver(ended, lastToken, next)));
        }
    }

    void giveUpUnneededPlace(Effects effects, CompletableFuture<@Nullable Void> placeGone) {
        if (phase == Phase.QUEUED && attempt != null && waiters.isEmpty()) {
            giveUpPlace(attempt, effects, placeGone);
        } else if (phase == Phase.ASKING && waiters.isEmpty()) {
            leaver = placeGone;
        } else {
            placeGone.complete(null);
        }
    }

    void giveUpPlace(Attempt waiting, Effects effects, CompletableFuture<@Nullable Void> placeGone) {
        drop(waiting);
        rest(effects);
        effects.command(() -> port.abandon(cohort, waiting).whenComplete((told, failed) -> placeGone.complete(null)));
    }

    @Nullable
    String holder() {
        return tenure != null ? tenure.attempt : attempt == null ? null : attempt.holder();
    }
}
