/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreNotReadyException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The callers of one JVM who share one place in the store's queue for a lock, or for a set of locks, and one hold after the
 * other: a pure state machine. Each method is an event; it changes the state and returns what is to be done. It knows no
 * store, no clock, no future and no thread; callers of its methods own its monitor.
 *
 * <p>The local queue is first in, first out. A released hold passes to the next local caller within a budget of passes and
 * time (Dice, Marathe and Shavit, "Lock Cohorting", PPoPP 2012; abortable as there: the last waiter who leaves gives the
 * place up). Readers are all let in together; for a while others may join them, then callers need another local lock: so
 * readers have one hold each time.
 *
 * <pre>
 *                                   replied: Queued            replied: Acquired, or granted
 *   empty --enter--> attempt Asking ---------------> attempt Queued ---------------> hold
 *                        |   ^  ^                      |    ^ failed, Busy: asks again  | released: to the next local caller,
 *        replied: Acquired   |  +---- pollDue ---------+                               |   or to the store: a new attempt asks
 *                        v   +-------------------------------------------------------- + lost: a new attempt asks
 *                       hold                                  no waiter is left: retired
 * </pre>
 *
 * There is never both an attempt and a hold. The class is longer than most, because it is all that decides: what is in two
 * places elsewhere is the cause of most errors in locks.
 */
final class LocalLock {

    /** A store that is well answers sooner, also on a machine that is busy. */
    private static final long SILENT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /** How long a caller whose time is up still waits for an answer that the store owes. */
    private static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** The part of it that is left also where the end of the wait came late: what came meanwhile must be heard first. */
    private static final long LEAST_GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

    private static final String TOO_SLOW = "the store's answer came only after the lease had ended";

    /** Where a fair caller stands who has to get its place in the store after those who came before. */
    private enum Gate {
        /** It may ask at any time. */
        NONE,
        /** Another one asks first. */
        CLOSED,
        /** It asks, and the next one waits until it has its place. */
        PASSED
    }

    final AcquireSpec spec;
    private final LeasePolicy policy;
    private final Supplier<String> attemptIds;
    private final WaitQueue waiters = new WaitQueue();
    private Gate gate;

    /** What asks or waits in the store now; null: nothing does. */
    private @Nullable AcquireAttempt attempt;

    /** Whether the attempt wants a place where the lock is held. */
    private boolean asksForPlace = true;

    /** What the callers hold now; null: nothing. */
    private volatile @Nullable StoreHold hold;

    /** The last hold that was released; null: none. */
    private @Nullable StoreHold last;

    /** Whether it takes no callers any more. */
    private boolean retired;

    /** The last caller, who left before the store's first answer; null: there is none. */
    private @Nullable PendingRequest leaver;

    /** The last attempt whose hold went on as that of a reader; null: none. */
    private @Nullable String downgraded;

    /** How long the store took for its last answer. */
    private long roundTripNanos;

    private volatile boolean broken;

    /** What the present event leads to; null: nothing yet. */
    private @Nullable List<LockAction> decided;

    /**
     * Creates an empty lock.
     *
     * @param spec what its attempts ask for
     * @param policy how long holds last
     * @param gated whether its only caller has to wait for its {@link #turn}
     * @param attemptIds makes the ids of attempts
     */
    LocalLock(AcquireSpec spec, LeasePolicy policy, boolean gated, Supplier<String> attemptIds) {
        this.spec = spec;
        this.policy = policy;
        this.gate = gated ? Gate.CLOSED : Gate.NONE;
        this.attemptIds = attemptIds;
    }

    /** Creates a lock around the hold of a reader who held exclusively before. */
    LocalLock(StoreHold reader, LeasePolicy policy, Supplier<String> attemptIds) {
        this(reader.spec, policy, false, attemptIds);
        reader.holders = 1;
        this.hold = reader;
    }

    /** Returns what the callers hold now; null: nothing. Needs no monitor. */
    @Nullable
    StoreHold hold() {
        return hold;
    }

    /** Returns whether an error came into a decision, and callers may be unknown. Needs no monitor. */
    boolean isBroken() {
        return broken;
    }

    /** Returns the attempt that asks or waits now, if it has a given id. */
    @Nullable
    AcquireAttempt attempt(String id) {
        return attempt != null && attempt.id.equals(id) ? attempt : null;
    }

    // ---- callers ----

    /** A caller wants the lock; null: this lock takes no callers any more, and it needs another one. */
    @Nullable
    List<LockAction> enter(PendingRequest waiter, ClockReading now) {
        StoreHold held = hold;
        if (retired || (held != null && spec.isShared() && !policy.mayJoin(held, now))) {
            return null;
        }
        if (held != null && spec.isShared()) {
            grant(waiter, held, LockListener.Way.ANSWER);
        } else if (attempt == null && held == null) {
            wait(waiter, now);
            if (gate == Gate.NONE) {
                ask(true, now);
            }
        } else if (waiter.waits || isAsking()) {
            wait(waiter, now);
        } else {
            refuse(waiter);
        }
        return decided();
    }

    private void wait(PendingRequest waiter, ClockReading now) {
        waiters.add(waiter);
        if (waiter.isLimited()) {
            long elapsed = now.nanos() - waiter.tried.nanos();
            decide(new LockAction.TimeoutAfter(waiter, Math.max(0, waiter.patienceNanos - elapsed)));
        }
    }

    /** The fair callers who came before have their places in the store. */
    List<LockAction> turn(ClockReading now) {
        if (retired) {
            // Its caller left before it stood in the gate: the next one must not wait for it.
            decide(new LockAction.OpenGate());
        } else if (gate == Gate.CLOSED) {
            gate = Gate.PASSED;
            ask(true, now);
        }
        return decided();
    }

    /** A caller has left, or must: it was cancelled, interrupted, or the engine closes. */
    List<LockAction> left(PendingRequest waiter) {
        waiters.remove(waiter);
        giveUpUnneededPlace(waiter);
        return decided();
    }

    /**
     * The time of a caller is up. Where the store owes it an answer, it waits for another moment; the answer then ends the wait
     * also where the lock is held.
     *
     * @param heardNanos when the store answered last, to whatever question, on the monotonic clock
     */
    List<LockAction> timedOut(PendingRequest waiter, ClockReading now, long heardNanos) {
        if (!waiter.inGrace && (!waiter.queued || owesAnswer(waiter, now, heardNanos))) {
            waiter.inGrace = true;
            waiter.waits = false;
            long elapsed = now.nanos() - waiter.tried.nanos();
            decide(new LockAction.TimeoutAfter(
                    waiter, Math.max(LEAST_GRACE_NANOS, waiter.patienceNanos + GRACE_NANOS - elapsed)));
            return decided();
        }
        // One that is not in the queue has its answer on the way, perhaps on a thread that has no processor.
        StoreException failure = waiter.queued
                ? failureFor(waiter, now, heardNanos)
                : broken ? new StoreException("an error came into the answer", null) : null;
        String holder = holder();
        waiters.remove(waiter);
        giveUpUnneededPlace(waiter);
        decide(
                failure == null
                        ? new LockAction.Refuse(waiter, holder, !waiter.inGrace)
                        : new LockAction.Fail(waiter, failure));
        return decided();
    }

    /** Returns whether an answer that may come at any moment is better than what is known of the lock now. */
    private boolean owesAnswer(PendingRequest waiter, ClockReading now, long heardNanos) {
        return isAsking() || (failure() == null && isSilentTo(waiter, now, heardNanos));
    }

    /** Returns what a caller is told of the store whose wait is over; null: the store is well. */
    private @Nullable StoreException failureFor(PendingRequest waiter, ClockReading now, long heardNanos) {
        StoreException failure = failure();
        if (failure == null && isSilentTo(waiter, now, heardNanos)) {
            long millis = TimeUnit.NANOSECONDS.toMillis(waiter.patienceNanos);
            return new StoreException("the store has not answered within " + millis + " ms", null);
        }
        return failure;
    }

    /**
     * Returns whether a caller has asked in vain. One whose question has not been sent, because others come first, goes by any
     * answer that the store has given meanwhile.
     */
    private boolean isSilentTo(PendingRequest waiter, ClockReading now, long heardNanos) {
        boolean outside = gate == Gate.CLOSED;
        ClockReading asked = outside ? waiter.tried : attempt == null ? null : attempt.unanswered();
        if (asked == null) {
            return false;
        }
        boolean heardSince = heardNanos - waiter.tried.nanos() >= 0;
        long last = outside && heardSince ? heardNanos : asked.nanos();
        return now.nanos() - last >= Math.max(SILENT_NANOS, 2 * roundTripNanos) || !(heardSince || waiting() != null);
    }

    private void giveUpUnneededPlace(PendingRequest gone) {
        AcquireAttempt waiting = attempt;
        if (!waiters.isEmpty() || retired || hold != null) {
            decide(new LockAction.PlaceGone(gone));
        } else if (waiting == null) {
            decide(new LockAction.PlaceGone(gone));
            retire();
        } else if (waiting.asking() != null && leaver == null) {
            leaver = gone;
        } else if (waiting.asking() != null) {
            decide(new LockAction.PlaceGone(gone));
        } else {
            giveUpPlace(waiting, gone);
        }
    }

    private void giveUpPlace(AcquireAttempt waiting, @Nullable PendingRequest gone) {
        end(waiting);
        decide(new LockAction.Cancel(waiting, gone));
        retire();
    }

    // ---- the store's answers ----

    /** The store has answered to the question of an attempt, which was sent at a given moment. */
    List<LockAction> replied(AcquireAttempt asked, ClockReading sent, AcquireReply reply, ClockReading now) {
        roundTripNanos = now.nanos() - sent.nanos();
        if (asked != attempt) {
            repliedAfterTheEnd(asked, sent, reply, now);
        } else if (asked.revoked || reply instanceof AcquireReply.Ended) {
            startOver(asked, now);
        } else if (reply instanceof AcquireReply.Acquired acquired) {
            StoreHold begun = LeasePolicy.hold(spec, asked.id, acquired, sent, now);
            if (begun.isValid(now)) {
                begin(asked, begun);
            } else {
                failedWithoutPlace(asked, new StoreException(TOO_SLOW, null));
            }
        } else if (reply instanceof AcquireReply.Queued place) {
            queued(asked, place, sent, now);
        } else if (reply instanceof AcquireReply.Busy busy) {
            busy(asked, busy.holder(), now);
        }
        return decided();
    }

    /** The store has not answered to the question of an attempt. */
    List<LockAction> failed(AcquireAttempt asked, StoreException failure, ClockReading now) {
        if (asked != attempt) {
            if (!isHeldBy(asked)) {
                decide(new LockAction.Cancel(asked, null, keepMillis(asked, now)));
            }
            return decided();
        }
        AcquireAttempt.State.Queued waiting = asked.queued();
        if (waiting != null) {
            waiting.askedAgain = null;
            waiting.failure = failure;
            pollAfter(asked, policy.askAgainMillis());
        } else {
            failedWithoutPlace(asked, failure);
        }
        return decided();
    }

    /** The callers fail who hear of the store for the first time; those who waited before go on. */
    private void failedWithoutPlace(AcquireAttempt asked, StoreException failure) {
        boolean sent = !(failure instanceof StoreNotReadyException);
        end(asked);
        decide(sent ? new LockAction.Cancel(asked, null) : new LockAction.Forget(asked));
        List<PendingRequest> failing = asked.first && sent ? waiters.takeAll() : waiters.takeImpatient();
        failing.forEach(waiter -> decide(new LockAction.Fail(waiter, failure)));
        if (waiters.isEmpty()) {
            retire();
        } else {
            askLater(null, failure, policy.askAgainMillis());
        }
    }

    /** Another attempt holds the lock, and the store gives no place. Callers who wait ask again and again. */
    private void busy(AcquireAttempt asked, String holder, ClockReading now) {
        boolean queues = asksForPlace;
        boolean hasPlace = asked.queued() != null && asked.queued().place != null;
        end(asked);
        decide(hasPlace ? new LockAction.Cancel(asked, null) : new LockAction.Forget(asked));
        refuse(waiters.takeImpatient(), holder);
        if (waiters.isEmpty()) {
            retire();
        } else if (queues) {
            askLater(holder, null, LeasePolicy.BUSY_MILLIS);
        } else {
            ask(false, now);
        }
    }

    private void queued(AcquireAttempt asked, AcquireReply.Queued place, ClockReading sent, ClockReading now) {
        AcquireAttempt.State.Asking asking = asked.asking();
        AcquireAttempt.State.Queued waiting = asked.queued(place, sent);
        openGate();
        refuse(waiters.takeImpatient(), place.holder());
        if (waiters.isEmpty()) {
            giveUpPlace(asked, takeLeaver());
        } else if (asking != null && asking.grant != null) {
            granted(asked, waiting, asking.grant, now);
        } else if (asking != null && asking.messagesMissed) {
            poll(asked, waiting, now);
        } else {
            long freeIn = asking == null ? Long.MAX_VALUE : asking.freeInMillis;
            waiting.announced |= freeIn != Long.MAX_VALUE;
            pollAfter(asked, Math.min(place.remainingMillis(), freeIn));
        }
    }

    /** An attempt has ended without our doing. What a late command of a revoked one may have in the store is given back. */
    private void startOver(AcquireAttempt ended, ClockReading now) {
        end(ended);
        decide(ended.revoked ? new LockAction.Cancel(ended, null) : new LockAction.Forget(ended));
        askOrRetire(now);
    }

    private void repliedAfterTheEnd(AcquireAttempt asked, ClockReading sent, AcquireReply reply, ClockReading now) {
        StoreHold held = hold;
        if (!isHeldBy(asked)) {
            if (reply instanceof AcquireReply.Acquired || reply instanceof AcquireReply.Queued) {
                decide(new LockAction.Cancel(asked, null, keepMillis(asked, now)));
            }
        } else if (reply instanceof AcquireReply.Acquired acquired && held != null && held.fixedEnd() == null) {
            // A poll that crossed the grant: the store has refreshed the lease.
            held.renewed(LeasePolicy.deadline(acquired.leaseMillis(), sent), sent, now);
        }
    }

    /** Returns how long the lock stays taken after an attempt whose release, or its copy, may come after the cancel. */
    private long keepMillis(AcquireAttempt asked, ClockReading now) {
        StoreHold before = last;
        return before != null && before.attempt.equals(asked.id) ? before.keepMillis(now) : 0;
    }

    /** Returns whether the hold is that of an attempt, or went on as that of a reader. */
    private boolean isHeldBy(AcquireAttempt asked) {
        StoreHold held = hold;
        return asked.id.equals(downgraded) || (held != null && held.attempt.equals(asked.id));
    }

    /** It is time to ask again, if the attempt still waits. */
    List<LockAction> pollDue(AcquireAttempt waiting, ClockReading now) {
        AcquireAttempt.State.Queued state = waiting.queued();
        if (waiting == attempt && state != null) {
            poll(waiting, state, now);
        }
        return decided();
    }

    private void pollAfter(AcquireAttempt waiting, long millis) {
        LockAction.PollAfter poll = new LockAction.PollAfter(waiting, millis);
        waiting.decided(poll);
        decide(poll);
    }

    private void poll(AcquireAttempt waiting, AcquireAttempt.State.Queued state, ClockReading now) {
        state.askedAgain = now;
        decide(new LockAction.Ask(waiting, true));
    }

    private void ask(boolean first, ClockReading now) {
        AcquireAttempt next =
                new AcquireAttempt(attemptIds.get(), first, spec.maxPasses(), new AcquireAttempt.State.Asking(now));
        attempt = next;
        asksForPlace = waiters.anyWaits();
        decide(new LockAction.Ask(next, asksForPlace));
    }

    private void askLater(@Nullable String holder, @Nullable StoreException failure, long millis) {
        AcquireAttempt.State.Queued state = new AcquireAttempt.State.Queued();
        state.holder = holder;
        state.failure = failure;
        AcquireAttempt next = new AcquireAttempt(attemptIds.get(), false, spec.maxPasses(), state);
        attempt = next;
        asksForPlace = true;
        pollAfter(next, millis);
    }

    private void askOrRetire(ClockReading now) {
        if (waiters.isEmpty()) {
            retire();
        } else {
            ask(false, now);
        }
    }

    // ---- the store's messages ----

    /** The store has granted the lock to a waiting attempt. */
    List<LockAction> granted(Grant grant, ClockReading now) {
        AcquireAttempt waiting = attempt(grant.attempt());
        if (waiting == null || waiting.revoked) {
            return decided();
        }
        AcquireAttempt.State.Asking asking = waiting.asking();
        AcquireAttempt.State.Queued queued = waiting.queued();
        if (asking != null) {
            asking.grant = grant;
        } else if (queued != null) {
            granted(waiting, queued, grant, now);
        }
        return decided();
    }

    private void granted(AcquireAttempt waiting, AcquireAttempt.State.Queued state, Grant grant, ClockReading now) {
        state.granted = true;
        StoreHold begun = policy.hold(spec, waiting.id, state, grant, now);
        if (begun == null) {
            poll(waiting, state, now);
        } else {
            begin(waiting, begun);
        }
    }

    /** The hold of the attempt that asks or waits was taken away by force: the news overtook the grant, or the answer. */
    List<LockAction> revoked(String id, ClockReading now) {
        AcquireAttempt waiting = attempt(id);
        if (waiting != null) {
            waiting.revoked = true;
            if (waiting.queued() != null) {
                startOver(waiting, now);
            }
        }
        return decided();
    }

    /** The hold for which an attempt waits ends sooner than it was told. */
    List<LockAction> freeIn(String id, long remainingMillis) {
        AcquireAttempt waiting = attempt(id);
        if (waiting == null) {
            return decided();
        }
        AcquireAttempt.State.Asking asking = waiting.asking();
        AcquireAttempt.State.Queued queued = waiting.queued();
        if (asking != null) {
            asking.freeInMillis = remainingMillis;
        } else if (queued != null) {
            queued.announced = true;
            pollAfter(waiting, remainingMillis);
        }
        return decided();
    }

    /** Others wait in the store now for the hold of an attempt. */
    List<LockAction> contended(String id) {
        StoreHold held = hold;
        AcquireAttempt waiting = attempt(id);
        if (held != null && held.attempt.equals(id)) {
            held.contended = true;
        } else if (waiting != null) {
            waiting.contended = true;
        }
        return decided();
    }

    /** Messages may have been missed. */
    List<LockAction> messagesMissed(ClockReading now) {
        StoreHold held = hold;
        AcquireAttempt waiting = attempt;
        if (held != null) {
            held.contended = true;
        }
        if (waiting == null) {
            return decided();
        }
        AcquireAttempt.State.Asking asking = waiting.asking();
        if (asking == null) {
            return pollDue(waiting, now);
        }
        // What was missed may be younger than the answer that is on its way.
        asking.messagesMissed = true;
        waiting.contended = true;
        return decided();
    }

    // ---- holds ----

    private void begin(AcquireAttempt asked, StoreHold begun) {
        LockListener.Way path = asked.path();
        if (asked.isUncontended()) {
            begun.uncontended(asked.passes);
        }
        if (asked.queued() != null) {
            decide(new LockAction.StopPolling(asked));
        }
        end(asked);
        PendingRequest next = waiters.next();
        if (next == null) {
            // The last caller left before the answer: no token was used.
            begun.end();
            decide(new LockAction.Release(begun, begun.token() - 1, 0, takeLeaver()));
            retire();
            return;
        }
        hold = begun;
        openGate();
        decide(new LockAction.Watch(begun));
        grant(next, begun, path);
        if (spec.isShared()) {
            waiters.takeAll().forEach(reader -> grant(reader, begun, path));
        } else {
            refuse(waiters.takeImpatient(), begun.attempt);
        }
    }

    private void grant(PendingRequest next, StoreHold held, LockListener.Way path) {
        held.holders++;
        decide(new LockAction.Grant(next, held, held.tokens(), path));
    }

    /**
     * One of the holders has released the lock: the hold passes to the next local caller, is handed over in the store, or
     * ends there; or the other readers go on.
     *
     * @return null: the hold had ended before
     */
    @Nullable
    List<LockAction> released(StoreHold ended, long keepMillis, ClockReading now) {
        if (ended != hold || ended.isOver()) {
            return null;
        }
        ended.holders--;
        ended.keep(keepMillis, now);
        if (ended.holders > 0) {
            return decided();
        }
        PendingRequest next = policy.mayPass(ended, now) ? waiters.next() : null;
        if (next != null) {
            ended.pass();
            grant(next, ended, LockListener.Way.PASS);
            return decided();
        }
        ended.end();
        hold = null;
        last = ended;
        // Of several locks nothing is reserved beyond the tokens that were given out.
        long lastToken = spec.names().size() > 1 ? 0 : ended.token();
        long keep = ended.keepMillis(now);
        if (waiters.isEmpty()) {
            retire();
            decide(new LockAction.Release(ended, lastToken, keep, null));
        } else if (keep > 0) {
            decide(new LockAction.Release(ended, lastToken, keep, null));
            ask(false, now);
        } else {
            AcquireAttempt asking = new AcquireAttempt(
                    attemptIds.get(), false, ended.passesOfNext(), new AcquireAttempt.State.Asking(now));
            attempt = asking;
            asksForPlace = true;
            decide(new LockAction.HandOver(ended, lastToken, asking));
        }
        return decided();
    }

    /**
     * A hold is lost: its callers start over.
     *
     * @return null: the hold had ended before
     */
    @Nullable
    List<LockAction> lost(StoreHold gone, String reason, ClockReading now) {
        if (!gone.lose(reason)) {
            return null;
        }
        if (gone == hold) {
            hold = null;
            askOrRetire(now);
        }
        return decided();
    }

    /**
     * A hold goes on as that of a reader, in another local lock; until the store knows that, it is still that of its attempt.
     * Those who wait here ask anew.
     *
     * @return null: the hold had ended before
     */
    @Nullable
    List<LockAction> downgraded(StoreHold gone, ClockReading now) {
        if (gone != hold || !gone.end()) {
            return null;
        }
        downgraded = gone.attempt;
        hold = null;
        askOrRetire(now);
        return decided();
    }

    /** An error came into a decision, some of which may have been made: this lock takes no callers any more. */
    List<LockAction> broken() {
        broken = true;
        retired = true;
        decided = null;
        AcquireAttempt unknown = attempt;
        if (unknown != null) {
            end(unknown);
            decide(new LockAction.Cancel(unknown, null));
        }
        decide(new LockAction.OpenGate());
        decide(new LockAction.Retire());
        return decided();
    }

    // ---- steps ----

    private void decide(LockAction action) {
        List<LockAction> known = decided;
        if (known == null) {
            known = new ArrayList<>(4);
            decided = known;
        }
        known.add(action);
    }

    private List<LockAction> decided() {
        List<LockAction> known = decided;
        decided = null;
        return known == null ? List.of() : known;
    }

    private void end(AcquireAttempt ended) {
        ended.end();
        attempt = null;
    }

    private void retire() {
        retired = true;
        openGate();
        PendingRequest gone = takeLeaver();
        if (gone != null) {
            decide(new LockAction.PlaceGone(gone));
        }
        decide(new LockAction.Retire());
    }

    private void openGate() {
        if (gate != Gate.NONE) {
            gate = Gate.NONE;
            decide(new LockAction.OpenGate());
        }
    }

    private @Nullable PendingRequest takeLeaver() {
        PendingRequest gone = leaver;
        leaver = null;
        return gone;
    }

    /** A caller who does not wait is refused where the lock is held. */
    private void refuse(PendingRequest waiter) {
        StoreException failure = failure();
        decide(failure == null ? new LockAction.Refuse(waiter, holder(), false) : new LockAction.Fail(waiter, failure));
    }

    private void refuse(List<PendingRequest> refused, @Nullable String holder) {
        refused.forEach(waiter -> decide(new LockAction.Refuse(waiter, holder, false)));
    }

    private boolean isAsking() {
        return attempt != null && attempt.asking() != null;
    }

    private AcquireAttempt.State.@Nullable Queued waiting() {
        return attempt == null ? null : attempt.queued();
    }

    /** Returns why the store cannot tell who holds the lock; null: it can. */
    private @Nullable StoreException failure() {
        AcquireAttempt.State.Queued waiting = waiting();
        return waiting == null ? null : waiting.failure;
    }

    private @Nullable String holder() {
        StoreHold held = hold;
        AcquireAttempt.State.Queued waiting = waiting();
        return held != null ? held.attempt : waiting == null ? null : waiting.holder;
    }
}
