/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The local callers who share one place in the store's queue for a lock, or for a set of locks, and one hold after the
 * other: a state machine without I/O. It decides under its own monitor and has everything done afterwards through its {@link CohortPort}.
 *
 * <p>The local queue is first in, first out. A released hold passes to the next local caller within a budget of passes
 * and time (cohort locks: Dice, Marathe and Shavit, "Lock Cohorting", PPoPP 2012; abortable as there: whoever takes the
 * last waiter away gives the place up). Readers are all let in together; for a while others may join them, and then a
 * new cohort takes over: so a cohort of readers has one hold only.
 *
 * <pre>
 *   IDLE --enter--> ASKING --queued--> QUEUED --grant--> HELD --release--> IDLE, HELD (passed on) or ASKING (handed over)
 *                      +--------------acquired-----------^ +--loss--> ASKING or IDLE
 * </pre>
 */
final class Cohort extends Recovery.Task {

    private static final Logger log = LoggerFactory.getLogger(Cohort.class);
    private static final String TOO_SLOW = "the store's answer came only after the lease had ended";

    private final Claim claim;
    private final CohortPort port;
    private final CohortTimes times;
    private final Executor background;
    private final Recovery recovery;
    private final CohortState state;

    /** Whether an error ever came into a decision, so that a caller may have been forgotten. */
    private volatile boolean interrupted;

    /** What came; guarded by this. */
    private @Nullable Throwable interruption;

    /** The attempts that were concerned and are not known any more, perhaps; guarded by this. */
    private @Nullable Attempt doubtful;

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
        this.recovery = port.recovery();
        this.state = new CohortState(this, port, times, onFirstAnswer, onRetired);
    }

    /** Creates a cohort around a hold that the store has, or is about to have. */
    static Cohort holding(Claim claim, CohortPort port, CohortTimes times, Executor background) {
        Cohort cohort = new Cohort(claim, port, times, background, () -> {}, retired -> {});
        cohort.state.phase = Phase.HELD;
        return cohort;
    }

    Claim claim() {
        return claim;
    }

    /** Gives a caller the hold that the cohort was created around. */
    HeldLease adopt(Tenure tenure, LockRequest request) {
        synchronized (this) {
            state.tenure = tenure;
            port.track(tenure.attempt, this);
            HeldLease lease = port.lease(request, tenure);
            tenure.add(lease);
            return lease;
        }
    }

    /** Lets no further reader join those who hold the lock: somebody else waits. */
    void closeToJoiners() {
        synchronized (this) {
            if (state.tenure != null) {
                state.tenure.keepFromPassing();
            }
        }
    }

    private boolean decide(Executor commands, Consumer<Effects> decision) {
        return decide(commands, null, decision);
    }

    /**
     * Decides under the monitor, and then has the decisions done. Where an error comes into the decision, some of it
     * may have been made, and the cohort starts afresh a little later.
     *
     * @param asked the attempt that is concerned; null: none but those that the cohort has
     * @return whether the decision was made
     */
    private boolean decide(Executor commands, @Nullable Attempt asked, Consumer<Effects> decision) {
        Effects effects = new Effects(commands, recovery);
        boolean decided = false;
        synchronized (this) {
            try {
                decision.accept(effects);
                decided = true;
            } catch (Throwable failure) {
                // No call here: the stack may be at its end.
                interrupted = true;
                interruption = failure;
                if (asked != null && !asked.isDoubtful) {
                    asked.isDoubtful = true;
                    asked.nextDoubtful = doubtful;
                    doubtful = asked;
                }
                synchronized (recovery) {
                    if (!noted) {
                        noted = true;
                        next = recovery.first;
                        recovery.first = this;
                    }
                }
            }
        }
        effects.perform();
        if (!decided) {
            recovery.arm();
        }
        return decided;
    }

    /** Starts afresh after an error: nothing is kept but a hold that a caller has. */
    @Override
    void recover() {
        Throwable failure;
        Attempt unknown;
        synchronized (this) {
            failure = interruption;
            unknown = doubtful;
            doubtful = null;
        }
        log.error("An error came into a decision about {}, and those who wait for it ask anew", claim.names(), failure);
        if (!decide(background, effects -> state.startAfresh(unknown, effects))) {
            synchronized (this) {
                doubtful = doubtful == null ? unknown : doubtful;
            }
        }
    }

    /** Returns whether an error made the cohort forget a caller who waits for an answer. */
    boolean hasForgotten(Waiter waiter) {
        if (!interrupted) {
            return false;
        }
        synchronized (this) {
            return !noted && !state.waiters.contains(waiter);
        }
    }

    /** Lets a caller in; false: the cohort has retired, and the caller needs another one. */
    boolean enter(Waiter waiter) {
        boolean[] refused = {false};
        decide(Runnable::run, effects -> {
            if (waiter.isGone()) {
                if (state.phase == Phase.IDLE) {
                    state.rest(effects);
                }
            } else if (state.phase == Phase.RETIRED || state.isFull()) {
                refused[0] = true;
            } else if (state.phase == Phase.HELD && state.isHeld() && claim.isShared()) {
                state.give(waiter, LockListener.Way.ANSWER, effects);
            } else if (state.phase == Phase.IDLE || (state.phase == Phase.HELD && !state.isHeld())) {
                state.loseTenure(effects);
                boolean first = state.waiters.isEmpty();
                state.waiters.add(waiter);
                state.ask(first, effects);
            } else if (state.phase == Phase.ASKING || waiter.waits) {
                state.waiters.add(waiter);
            } else {
                state.refuseNow(waiter, effects);
            }
        });
        return !refused[0];
    }

    /** The store has answered to an attempt's question, which was sent at a given moment. */
    void answered(Attempt asked, Moment sent, AcquireReply reply) {
        decide(background, asked, effects -> {
            asked.unanswered = null;
            if (asked != state.attempt) {
                state.afterTheEnd(asked, sent, reply, effects);
            } else if (asked.revoked || reply instanceof AcquireReply.Ended) {
                state.startOver(asked, effects);
            } else if (reply instanceof AcquireReply.Acquired acquired) {
                Tenure begun = times.tenure(this, asked.id, acquired, sent);
                if (begun.isValid(times.clock())) {
                    state.begin(begun, asked.way(), effects);
                } else {
                    state.failed(asked, new StoreException(TOO_SLOW, null), effects);
                }
            } else if (reply instanceof AcquireReply.Queued queued) {
                asked.queued(queued, sent);
                state.queued(asked, queued, effects);
            } else if (reply instanceof AcquireReply.Busy busy) {
                state.busy(asked, busy.holder(), effects);
            }
        });
    }

    /** The store has not answered to an attempt's question. */
    void failed(Attempt asked, StoreException failure) {
        decide(background, asked, effects -> {
            asked.unanswered = null;
            if (asked != state.attempt) {
                state.abandonUnlessHeld(asked, effects);
            } else if (state.phase == Phase.QUEUED) {
                asked.pollFailure = failure;
                port.pollLater(this, asked, times.askAgainMillis());
            } else {
                state.failed(asked, failure, effects);
            }
        });
    }

    /** The store has granted the lock to the waiting attempt of this cohort. */
    void granted(Grant grant) {
        decide(background, effects -> {
            Attempt waiting = state.attempt;
            if (waiting == null || !waiting.id.equals(grant.attempt()) || waiting.revoked) {
                return;
            }
            if (state.phase == Phase.ASKING) {
                waiting.early = grant;
            } else {
                state.grantTo(waiting, grant, effects);
            }
        });
    }

    /** An attempt's hold was taken away by force. Returns the hold, if the cohort knew of it already. */
    @Nullable
    Tenure revoked(String attempt) {
        Tenure[] known = {null};
        decide(background, effects -> {
            if (state.tenure != null && state.tenure.attempt.equals(attempt)) {
                known[0] = state.tenure;
            } else if (state.attempt != null && state.attempt.id.equals(attempt)) {
                // The revocation overtook the grant, or the answer.
                state.attempt.revoked = true;
                if (state.phase == Phase.QUEUED) {
                    state.startOver(state.attempt, effects);
                }
            }
        });
        return known[0];
    }

    /** The hold for which an attempt waits ends sooner than it was told. */
    void freeIn(String attempt, long remainingMillis) {
        decide(background, effects -> {
            Attempt waiting = state.attempt;
            if (waiting != null && waiting.id.equals(attempt)) {
                waiting.announced = true;
                waiting.freeInMillis = remainingMillis;
                if (state.phase == Phase.QUEUED) {
                    port.pollLater(this, waiting, remainingMillis);
                }
            }
        });
    }

    /** Others wait now for the hold of an attempt. */
    synchronized void awaited(String attempt) {
        if (state.tenure != null && state.tenure.attempt.equals(attempt)) {
            state.tenure.awaited();
        } else if (state.attempt != null && state.attempt.id.equals(attempt)) {
            state.attempt.awaited = true;
        }
    }

    /** It is time to ask again, if the attempt still waits. */
    void pollDue(Attempt waiting) {
        decide(background, effects -> {
            if (waiting == state.attempt && state.phase == Phase.QUEUED) {
                state.poll(waiting, effects);
            }
        });
    }

    /** Messages may have been missed. */
    void pollNow() {
        Attempt waiting;
        synchronized (this) {
            if (state.tenure != null) {
                state.tenure.awaited();
            }
            waiting = state.attempt;
            if (waiting != null && state.phase == Phase.ASKING) {
                // What was missed may be younger than the answer that is on its way.
                waiting.missed = true;
                waiting.awaited = true;
            }
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
        decide(commands, effects -> {
            state.waiters.remove(waiter);
            state.giveUpUnneededPlace(effects, placeGone);
        });
    }

    /**
     * Ends the wait of a caller whose time is up, also where it has not been let in yet.
     *
     * @param placeGone completed when the store has been told, or need not be; the caller is refused then
     * @return whether the wait is over; false: the store owes an answer that is worth another moment
     */
    boolean expire(Waiter waiter, CompletableFuture<@Nullable Void> placeGone) {
        return expire(waiter, false, placeGone);
    }

    /** Ends the wait of a caller whose time is up whatever the store still owes, and waits for nothing. */
    void expireAtLast(Waiter waiter) {
        expire(waiter, true, CompletableFuture.completedFuture(null));
    }

    private boolean expire(Waiter waiter, boolean last, CompletableFuture<@Nullable Void> placeGone) {
        boolean[] over = {true};
        decide(background, effects -> {
            if (waiter.isGone()) {
                return;
            }
            if (!last && state.owesAnswer(waiter)) {
                over[0] = false;
                // Where the lock is held, the answer to the question under way ends the wait.
                waiter.waits = false;
                return;
            }
            waiter.over = true;
            StoreException failure = state.failureFor(waiter);
            String holder = state.holder();
            state.waiters.remove(waiter);
            state.giveUpUnneededPlace(effects, placeGone);
            effects.answer(() -> placeGone.whenComplete((gone, never) -> {
                if (failure == null) {
                    port.refuse(waiter, holder);
                } else {
                    port.fail(waiter, failure);
                }
            }));
        });
        return over[0];
    }

    /**
     * Ends a caller's hold: passes it to the next local caller, hands it over in the store, or releases it.
     *
     * @param lease the hold
     * @return what came of it, when that is known
     */
    CompletableFuture<ReleaseResult> release(HeldLease lease) {
        CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
        Tenure ended = lease.tenure();
        boolean decided = decide(Runnable::run, effects -> {
            boolean current = ended == state.tenure && !ended.isOver();
            boolean last = ended.remove(lease);
            Waiter next = current && last && times.mayPass(ended) ? state.waiters.next() : null;
            if (next != null) {
                ended.pass();
                state.give(next, LockListener.Way.PASS, effects);
                effects.answer(() -> result.complete(ReleaseResult.RELEASED));
            } else if (current && !last) {
                effects.answer(() -> result.complete(ReleaseResult.RELEASED));
            } else if (current && ended.end()) {
                state.endTenure(ended, lease.keepMillis(), result, effects);
            } else {
                result.complete(ReleaseResult.LOST);
            }
        });
        if (!decided) {
            giveUp(ended, result);
        }
        return result;
    }

    /** The release of a hold failed somewhere in the middle: the hold ends for all who have it. */
    private void giveUp(Tenure ended, CompletableFuture<ReleaseResult> result) {
        Effects effects = new Effects(background, recovery);
        effects.answer(ended::lose);
        effects.answer(() -> ended.holders().forEach(holder -> holder.lost("an error came into its release")));
        effects.command(() ->
                port.abandon(this, new Attempt(ended.attempt, times.clock().now())));
        effects.answer(() -> result.complete(ReleaseResult.UNKNOWN));
        effects.perform();
    }

    /**
     * Ends a hold because its attempt goes on as a reader. Those who wait here ask anew.
     *
     * @return whether the hold was there
     */
    boolean leaveToReader(HeldLease lease) {
        boolean[] ended = {false};
        decide(background, effects -> {
            Tenure tenure = lease.tenure();
            if (tenure == state.tenure && tenure.end()) {
                ended[0] = true;
                state.goOnAsReader();
                state.askOrRest(effects);
            }
        });
        return ended[0];
    }

    /** A hold was lost: its callers start over. */
    void lost(Tenure gone) {
        decide(background, effects -> {
            if (gone == state.tenure) {
                state.forgetTenure();
                state.askOrRest(effects);
            }
        });
    }
}
