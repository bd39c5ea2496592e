package io.lockkeeper.engine;

import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The local callers who share one place in the store's queue for a lock, and one hold after the other: a state machine
 * without I/O. It decides under its own monitor and has everything done afterwards through its {@link CohortPort}.
 *
 * <p>The local queue is first in, first out. A released hold passes to the next local caller within a budget of passes
 * and time (cohort locks: Dice, Marathe and Shavit, "Lock Cohorting", PPoPP 2012; abortable as there: whoever takes the
 * last waiter away gives the place up).
 *
 * <pre>
 *   IDLE --enter--> ASKING --queued--> QUEUED --grant--> HELD --release--> IDLE, HELD (passed on) or ASKING (handed over)
 *                      +--------------acquired-----------^ +--loss--> ASKING or IDLE
 * </pre>
 */
final class Cohort {

    private enum Phase {
        IDLE,
        ASKING,
        QUEUED,
        HELD,
        RETIRED
    }

    private final Claim claim;
    private final CohortPort port;
    private final CohortTimes times;
    private final Executor background;
    private final Runnable onFirstAnswer;
    private final Consumer<Cohort> onRetired;
    private final ArrayDeque<Waiter> waiters = new ArrayDeque<>(2);
    private Phase phase = Phase.IDLE;
    private @Nullable Attempt attempt;
    private @Nullable Tenure tenure;

    /** The last caller left before the store answered: completed when the place that the answer gives is given up. */
    private CompletableFuture<@Nullable Void> leaver = new CompletableFuture<>();

    /**
     * Creates an idle cohort.
     *
     * @param claim what its attempts ask for
     * @param port does what the cohort decides
     * @param times how long holds and samples last
     * @param background runs commands that nobody waits for
     * @param onFirstAnswer runs when the first attempt has its place in the store's queue, or needs none; may run again
     * @param onRetired told, while the cohort is locked, that it is empty and takes nobody any more; must not block
     */
    Cohort(
            Claim claim,
            CohortPort port,
            CohortTimes times,
            Executor background,
            Runnable onFirstAnswer,
            Consumer<Cohort> onRetired) {
        this.claim = claim;
        this.port = port;
        this.times = times;
        this.background = background;
        this.onFirstAnswer = onFirstAnswer;
        this.onRetired = onRetired;
    }

    Claim claim() {
        return claim;
    }

    /** Lets a caller in; false: the cohort has retired, and the caller needs another one. */
    boolean enter(Waiter waiter) {
        Effects effects = new Effects(Runnable::run);
        synchronized (this) {
            if (phase == Phase.RETIRED) {
                return false;
            }
            if (phase == Phase.IDLE && waiter.isGone()) {
                rest(effects);
            } else if (phase == Phase.IDLE
                    || (phase == Phase.HELD && !heldTenure().isValid(times.clock()))) {
                waiters.add(waiter);
                ask(effects);
            } else if (phase == Phase.ASKING || waiter.waits) {
                waiters.add(waiter);
            } else {
                String holder = holder();
                effects.answer(() -> port.refuse(waiter, holder));
            }
        }
        effects.perform();
        return true;
    }

    /** The store has answered to an attempt's question, which was sent at a given moment. */
    void answered(Attempt asked, Moment sent, AcquireReply reply) {
        Effects effects = new Effects(background);
        synchronized (this) {
            if (asked != attempt) {
                afterTheEnd(asked, sent, reply, effects);
            } else if (reply instanceof AcquireReply.Acquired acquired) {
                begin(times.tenure(this, asked.id, acquired.firstToken(), sent), effects);
            } else if (reply instanceof AcquireReply.Queued queued) {
                queued(asked, sent, queued, effects);
            } else {
                busy(asked, ((AcquireReply.Busy) reply).holder(), effects);
            }
        }
        effects.perform();
    }

    /** The store has not answered to an attempt's question. */
    void failed(Attempt asked, StoreException failure) {
        Effects effects = new Effects(background);
        synchronized (this) {
            if (asked != attempt) {
                afterTheEnd(asked, effects);
            } else if (phase == Phase.QUEUED) {
                asked.pollFailure = failure;
                effects.answer(() -> port.pollLater(this, asked, times.pollMillis()));
            } else {
                drop(asked);
                effects.command(() -> port.abandon(this, asked));
                List<Waiter> failing = List.copyOf(waiters);
                waiters.clear();
                failing.forEach(waiter -> effects.answer(() -> port.fail(waiter, failure)));
                rest(effects);
            }
        }
        effects.perform();
    }

    /** The store has granted the lock to the waiting attempt of this cohort. */
    void granted(Grant grant) {
        Effects effects = new Effects(background);
        synchronized (this) {
            Attempt waiting = attempt;
            if (waiting == null || !waiting.id.equals(grant.attempt())) {
                return;
            }
            if (phase == Phase.ASKING) {
                waiting.early = grant;
            } else {
                grantTo(waiting, grant, effects);
            }
        }
        effects.perform();
    }

    /** It is time to ask again, if the attempt still waits. */
    void pollDue(Attempt waiting) {
        Effects effects = new Effects(background);
        synchronized (this) {
            if (waiting == attempt && phase == Phase.QUEUED) {
                effects.command(() -> port.ask(this, waiting, true));
            }
        }
        effects.perform();
    }

    /** Grants may have been missed. */
    void pollNow() {
        Attempt waiting;
        synchronized (this) {
            waiting = attempt;
        }
        if (waiting != null) {
            pollDue(waiting);
        }
    }

    /**
     * Takes out a caller who was cancelled or interrupted.
     *
     * @param commands where the place in the store's queue is given up, if this was the last caller
     * @param placeGone completed when the store has been told, or need not be
     */
    void leave(Waiter waiter, Executor commands, CompletableFuture<@Nullable Void> placeGone) {
        Effects effects = new Effects(commands);
        synchronized (this) {
            waiters.remove(waiter);
            giveUpUnneededPlace(effects, placeGone);
        }
        effects.perform();
    }

    /** Ends the wait of a caller whose time is up, also where it has not been let in yet. */
    void expire(Waiter waiter) {
        Effects effects = new Effects(background);
        synchronized (this) {
            if (phase == Phase.ASKING) {
                // The store has not said anything yet: its first answer, or failure, decides.
                waiter.waits = false;
                return;
            }
            StoreException failure = attempt == null ? null : attempt.pollFailure;
            String holder = holder();
            waiters.remove(waiter);
            CompletableFuture<@Nullable Void> placeGone = new CompletableFuture<>();
            giveUpUnneededPlace(effects, placeGone);
            effects.answer(() -> placeGone.whenComplete((gone, never) -> {
                if (failure == null) {
                    port.refuse(waiter, holder);
                } else {
                    port.fail(waiter, failure);
                }
            }));
        }
        effects.perform();
    }

    /**
     * Ends a caller's hold: passes it to the next local caller, hands it over in the store, or releases it.
     *
     * @param lease the hold
     * @return what came of it, when that is known; failed as the store is
     */
    CompletableFuture<ReleaseResult> release(HeldLease lease) {
        Effects effects = new Effects(Runnable::run);
        CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
        synchronized (this) {
            Tenure ended = lease.tenure();
            if (ended != tenure || ended.isOver()) {
                return CompletableFuture.completedFuture(ReleaseResult.LOST);
            }
            Waiter next = times.mayPass(ended) ? nextWaiter() : null;
            if (next != null) {
                ended.pass();
                give(next, ended, effects);
                effects.answer(() -> result.complete(ReleaseResult.RELEASED));
            } else if (ended.end()) {
                endTenure(ended, result, effects);
            } else {
                return CompletableFuture.completedFuture(ReleaseResult.LOST);
            }
        }
        effects.perform();
        return result;
    }

    /** A hold was lost: its callers start over. */
    void lost(Tenure gone) {
        Effects effects = new Effects(background);
        synchronized (this) {
            if (gone != tenure) {
                return;
            }
            forgetTenure();
            askOrRest(effects);
        }
        effects.perform();
    }

    private void forgetTenure() {
        if (tenure != null) {
            port.untrack(tenure.attempt);
            tenure = null;
        }
    }

    private void ask(Effects effects) {
        forgetTenure();
        Attempt next = port.nextAttempt();
        phase = Phase.ASKING;
        attempt = next;
        boolean queue = waiters.stream().anyMatch(waiter -> waiter.waits);
        if (queue) {
            port.track(next.id, this);
        }
        effects.command(() -> port.ask(this, next, queue));
    }

    private void askOrRest(Effects effects) {
        if (nextWaiterIsThere()) {
            ask(effects);
        } else {
            rest(effects);
        }
    }

    private void rest(Effects effects) {
        phase = Phase.RETIRED;
        onRetired.accept(this);
        effects.answer(onFirstAnswer);
    }

    private void drop(Attempt ended) {
        ended.stopPolling();
        port.untrack(ended.id);
        attempt = null;
    }

    private void begin(Tenure begun, Effects effects) {
        if (attempt != null) {
            attempt.stopPolling();
            attempt = null;
        }
        Waiter next = nextWaiter();
        if (next == null) {
            port.untrack(begun.attempt);
            CompletableFuture<@Nullable Void> gone = leaver;
            effects.command(() -> port.release(this, begun.attempt, begun.token() - 1)
                    .whenComplete((told, failed) -> gone.complete(null)));
            askOrRest(effects);
            return;
        }
        tenure = begun;
        phase = Phase.HELD;
        effects.answer(onFirstAnswer);
        effects.answer(() -> port.watch(begun));
        give(next, begun, effects);
        refuseImpatient(null, effects);
    }

    private void give(Waiter next, Tenure of, Effects effects) {
        HeldLease lease = port.lease(next.request, of, of.token());
        of.lease = lease;
        effects.answer(() -> port.grant(next, lease));
    }

    private void queued(Attempt asked, Moment sent, AcquireReply.Queued answer, Effects effects) {
        asked.queued(answer, sent);
        phase = Phase.QUEUED;
        effects.answer(onFirstAnswer);
        refuseImpatient(answer.holder(), effects);
        Grant early = asked.early;
        if (!nextWaiterIsThere()) {
            giveUpPlace(asked, effects, leaver);
        } else if (early != null) {
            asked.early = null;
            grantTo(asked, early, effects);
        } else {
            effects.answer(() -> port.pollLater(this, asked, answer.remainingMillis()));
        }
    }

    private void busy(Attempt asked, String holder, Effects effects) {
        drop(asked);
        refuseImpatient(holder, effects);
        askOrRest(effects);
    }

    private void grantTo(Attempt waiting, Grant grant, Effects effects) {
        Tenure begun = times.tenure(this, waiting, grant);
        if (begun == null) {
            // No fresh sample of the store's clock: a claim tells how long the hold lasts.
            effects.command(() -> port.ask(this, waiting, true));
        } else {
            begin(begun, effects);
        }
    }

    private void afterTheEnd(Attempt asked, Moment sent, AcquireReply reply, Effects effects) {
        Tenure held = tenure;
        if (held == null || !held.attempt.equals(asked.id)) {
            if (!(reply instanceof AcquireReply.Busy)) {
                effects.command(() -> port.abandon(this, asked));
            }
        } else if (reply instanceof AcquireReply.Acquired && held.fixedEnd() == null) {
            // A poll that crossed the grant: the store has refreshed the lease.
            held.renewed(times.deadline(claim, sent));
        }
    }

    private void afterTheEnd(Attempt asked, Effects effects) {
        Tenure held = tenure;
        if (held == null || !held.attempt.equals(asked.id)) {
            effects.command(() -> port.abandon(this, asked));
        }
    }

    private void endTenure(Tenure ended, CompletableFuture<ReleaseResult> result, Effects effects) {
        forgetTenure();
        long lastToken = ended.token();
        if (nextWaiterIsThere()) {
            Attempt next = port.nextAttempt();
            phase = Phase.ASKING;
            attempt = next;
            port.track(next.id, this);
            effects.command(() -> settle(result, port.handOver(ended, lastToken, next)));
        } else {
            rest(effects);
            effects.command(() -> settle(result, port.release(this, ended.attempt, lastToken)));
        }
    }

    private static void settle(CompletableFuture<ReleaseResult> result, CompletableFuture<Boolean> command) {
        command.whenComplete((wasHeld, failure) -> {
            if (failure != null) {
                result.complete(ReleaseResult.UNKNOWN);
            } else {
                result.complete(wasHeld ? ReleaseResult.RELEASED : ReleaseResult.LOST);
            }
        });
    }

    private void refuseImpatient(@Nullable String holder, Effects effects) {
        forEachImpatient(waiter -> effects.answer(() -> port.refuse(waiter, holder)));
    }

    private void forEachImpatient(Consumer<Waiter> refusal) {
        waiters.removeIf(waiter -> {
            if (!waiter.waits) {
                refusal.accept(waiter);
            }
            return !waiter.waits;
        });
    }

    private void giveUpUnneededPlace(Effects effects, CompletableFuture<@Nullable Void> placeGone) {
        Attempt waiting = attempt;
        if (phase == Phase.QUEUED && waiting != null && !nextWaiterIsThere()) {
            giveUpPlace(waiting, effects, placeGone);
        } else if (phase == Phase.ASKING && !nextWaiterIsThere()) {
            leaver = placeGone;
        } else {
            placeGone.complete(null);
        }
    }

    private void giveUpPlace(Attempt waiting, Effects effects, CompletableFuture<@Nullable Void> placeGone) {
        drop(waiting);
        rest(effects);
        effects.command(() -> port.abandon(this, waiting).whenComplete((told, failed) -> placeGone.complete(null)));
    }

    /** Takes out the first caller who is still there; null: nobody is. */
    private @Nullable Waiter nextWaiter() {
        return nextWaiterIsThere() ? waiters.poll() : null;
    }

    private boolean nextWaiterIsThere() {
        while (!waiters.isEmpty() && waiters.peek().isGone()) {
            waiters.poll();
        }
        return !waiters.isEmpty();
    }

    private @Nullable String holder() {
        if (tenure != null) {
            return tenure.attempt;
        }
        return attempt == null ? null : attempt.holder();
    }

    private Tenure heldTenure() {
        if (tenure == null) {
            throw new IllegalStateException("A cohort that holds has a tenure");
        }
        return tenure;
    }
}
