/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.engine.AcquireAttempt.State;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.CommandNotExecutedException;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreNotReadyException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The callers of one JVM who share one place in the store's queue for a lock, or for a set of locks, and one hold after
 * the other: a pure state machine. Each method is an event; it changes the state and returns what is to be done. It
 * knows no store, no clock, no future and no thread; callers of its methods own its monitor.
 *
 * <p>The local queue is first in, first out. A released hold passes to the next local caller within a budget of passes
 * and time (Dice, Marathe and Shavit, "Lock Cohorting", PPoPP 2012; abortable as there: the last waiter who leaves
 * gives the place up). Readers are all let in together; for a while others may join them, then callers need another
 * local lock: so readers have one hold each time.
 *
 * <pre>
 *   attempt Asking   replied Acquired              -> hold
 *                    replied Queued                -> attempt Queued, with a place
 *                    replied Busy, or failed       -> another attempt, Queued without a place
 *   attempt Queued   granted, or replied Acquired  -> hold
 *                    due                           -> asks again, Queued still
 *   hold             released                      -> hold of the next local caller, or over to the store:
 *                                                     another attempt, Asking
 *                    lost                          -> another attempt, Asking
 *   nothing          a caller enters               -> attempt Asking
 *   any of these     no caller is left             -> retired
 * </pre>
 *
 * There is never both an attempt and a hold. The class is longer than most, because every decision about a lock is made
 * here, in one state machine.
 */
final class LocalLock {

    /** A healthy store answers sooner than this, even on a busy machine. */
    private static final long SILENT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private static final String TOO_SLOW = "the store's answer came only after the lease had ended";
    private static final State ASKING = new State.Asking();

    final List<String> names;
    final AcquireSpec spec;
    private final LeasePolicy policy;

    /** Most locks that are held have no waiters. */
    private static final Pending NOTHING = new Pending(0);

    private volatile Pending pending = NOTHING;

    private volatile @Nullable StoreHold hold;
    private boolean retired;

    /** Whether an error interrupted a decision or its actions: the lock accepts no callers any more. */
    volatile boolean broken;

    private List<LockAction> decided = List.of();

    /** The callers who wait, the attempt that asks for them, and the times of both. */
    private static final class Pending {

        /** In the order of their arrival; any of them may leave. */
        final Set<PendingRequest> waiters;

        /** The attempt that asks or waits in the store now; null: there is none. */
        @Nullable
        AcquireAttempt attempt;

        /** When {@link #due} is to be called at the latest, on the monotonic clock. */
        volatile long dueNanos = ClockReading.NEVER;

        /** The timer for that moment, set by the executor; null: none is set, or it has fired. */
        @Nullable
        volatile Timer timer;

        Pending(int callers) {
            waiters = new LinkedHashSet<>(callers);
        }
    }

    record Timer(Scheduler.Timeout timeout, long nanos) {}

    LocalLock(List<String> names, AcquireSpec spec, LeasePolicy policy) {
        this.names = names;
        this.spec = spec;
        this.policy = policy;
    }

    /** Creates a lock around the hold of a reader who held exclusively before. */
    LocalLock(StoreHold reader, LeasePolicy policy) {
        this(reader.names, reader.spec, policy);
        reader.holders = 1;
        this.hold = reader;
    }

    String name() {
        return names.get(0);
    }

    /** Returns the present hold; null: none. Needs no monitor. */
    @Nullable
    StoreHold hold() {
        return hold;
    }

    // ---- callers ----

    /** A caller wants the lock; null: this lock accepts no callers any more, and the caller needs another one. */
    @Nullable
    List<LockAction> enter(PendingRequest waiter, ClockReading now) {
        StoreHold held = hold;
        boolean empty = pending.attempt == null && held == null;
        if (retired || broken || (held != null && spec.isShared() && !policy.mayJoin(held, now))) {
            return null;
        } else if (held != null && spec.isShared()) {
            grant(waiter, held, LockListener.Way.ANSWER);
        } else if (empty || waiter.waits() || isAsking()) {
            wait(waiter);
            if (empty) {
                ask(true, now);
            }
        } else {
            StoreException failure = failure();
            decide(failure == null ? new LockAction.Refuse(waiter, holder()) : new LockAction.Fail(waiter, failure));
        }
        return decided();
    }

    private void wait(PendingRequest waiter) {
        pending().waiters.add(waiter);
        dueBy(waiter.timerNanos());
    }

    /** The fair callers who came earlier have their places in the store: the attempt may ask. */
    List<LockAction> turn(ClockReading now) {
        AcquireAttempt next = pending.attempt;
        if (next != null && next.gated) {
            next.gated = false;
            next.asked = now;
            decide(new LockAction.Ask(next));
        }
        return decided();
    }

    /** A caller leaves: it was cancelled or interrupted, or the engine closes. */
    List<LockAction> left(PendingRequest waiter) {
        pending.waiters.remove(waiter);
        giveUpUnneededPlace();
        return decided();
    }

    /** The time of a caller is up; {@code heard} tells when the store last answered any request. */
    List<LockAction> timedOut(PendingRequest waiter, ClockReading now, PendingAnswers.Heard heard) {
        timeUp(waiter, now, heard);
        return decided();
    }

    /** The timer has fired: callers without a blocked thread have timed out, or the store is to be asked again. */
    List<LockAction> due(ClockReading now, PendingAnswers.Heard heard) {
        pending.dueNanos = ClockReading.NEVER;
        pending.waiters.stream()
                .filter(waiter -> waiter.isDue(now))
                .toList()
                .forEach(waiter -> timeUp(waiter, now, heard));
        pending.waiters.forEach(waiter -> dueBy(waiter.timerNanos()));
        AcquireAttempt waiting = pending.attempt;
        State.Queued state = waiting();
        if (waiting != null && state != null) {
            if (state.pollNanos != ClockReading.NEVER && state.pollNanos - now.nanos() <= 0) {
                poll(waiting, state, now);
            }
            dueBy(state.pollNanos);
        }
        return decided();
    }

    private void dueBy(long nanos) {
        pending.dueNanos = earlier(pending.dueNanos, nanos);
    }

    private static long earlier(long nanos, long other) {
        return nanos == ClockReading.NEVER || (other != ClockReading.NEVER && other - nanos < 0) ? other : nanos;
    }

    /** Ends the wait of a caller; a moment later if the store still owes it an answer. */
    private void timeUp(PendingRequest waiter, ClockReading now, PendingAnswers.Heard heard) {
        // The answer to a caller who is not in the queue is being delivered, perhaps by a thread without a processor.
        boolean queued = pending.waiters.contains(waiter);
        boolean owed = pending.attempt != null
                && pending.attempt.asked != null
                && (!pending.attempt.gated || isSilentTo(waiter, now, heard));
        if (!waiter.inGrace && (owed || !queued)) {
            waiter.beginGrace(now);
            return;
        }
        StoreException failure = queued ? failure() : waiter.failure;
        if (queued && failure == null && isSilentTo(waiter, now, heard)) {
            failure = PendingAnswers.silence(waiter.patienceNanos);
        }
        String holder = holder();
        pending.waiters.remove(waiter);
        waiter.endTime();
        giveUpUnneededPlace();
        decide(failure == null ? new LockAction.Refuse(waiter, holder) : new LockAction.Fail(waiter, failure));
    }

    /**
     * Returns whether the store has not answered a caller. If the caller's question has not been sent yet, because
     * others come first, any answer of the store counts.
     */
    private boolean isSilentTo(PendingRequest waiter, ClockReading now, PendingAnswers.Heard heard) {
        AcquireAttempt asking = pending.attempt;
        if (asking == null || asking.asked == null) {
            return false;
        } else if (waiter.triesAtOnce) {
            return true;
        }
        boolean heardSince = heard.nanos() - waiter.tried.nanos() >= 0;
        long last = asking.gated && heardSince ? heard.nanos() : asking.asked.nanos();
        long roundTripNanos = Math.max(asking.roundTripNanos, heard.roundTripNanos());
        return now.nanos() - last >= Math.max(SILENT_NANOS, 2 * roundTripNanos) || !(heardSince || waiting() != null);
    }

    private void giveUpUnneededPlace() {
        AcquireAttempt waiting = pending.attempt;
        boolean awaited = waiting != null && waiting.isAsking() && !waiting.gated;
        if (!pending.waiters.isEmpty() || retired || hold != null || awaited) {
            return;
        }
        if (waiting != null) {
            end(waiting, !waiting.gated);
        }
        retire();
    }

    // ---- the store's answers ----

    List<LockAction> replied(AcquireAttempt asked, ClockReading sent, AcquireReply reply, ClockReading now) {
        if (asked != pending.attempt) {
            repliedAfterTheEnd(asked, sent, reply, now);
        } else if (asked.revoked || reply instanceof AcquireReply.Ended) {
            startOver(asked, now);
        } else if (reply instanceof AcquireReply.Acquired acquired) {
            StoreHold begun = LeasePolicy.hold(names, spec, asked.id, acquired, sent, now);
            if (begun.isValid(now)) {
                begin(asked, begun);
            } else {
                failedWithoutPlace(asked, new StoreException(TOO_SLOW, null), now);
            }
        } else if (reply instanceof AcquireReply.Queued place) {
            queued(asked, place, sent, now);
        } else if (reply instanceof AcquireReply.Busy busy) {
            busy(asked, busy.holder(), now);
        }
        if (pending.attempt != null) {
            pending.attempt.roundTripNanos = now.nanos() - sent.nanos();
        }
        return decided();
    }

    List<LockAction> failed(AcquireAttempt asked, StoreException failure, ClockReading now) {
        State.Queued waiting = asked.queued();
        if (asked != pending.attempt) {
            if (!isHeldBy(asked)) {
                cancelAgain(asked, now);
            }
        } else if (waiting != null) {
            asked.asked = null;
            waiting.failure = failure;
            pollAfter(waiting, policy.askAgainMillis(), now);
        } else {
            failedWithoutPlace(asked, failure, now);
        }
        return decided();
    }

    /** Fails the callers who have no answer of the store yet; those who waited before go on. */
    private void failedWithoutPlace(AcquireAttempt asked, StoreException failure, ClockReading now) {
        boolean storeIsReady = !(failure instanceof StoreNotReadyException);
        boolean fails = asked.first && asked.isAsking() && storeIsReady;
        end(asked, storeIsReady && !(failure instanceof CommandNotExecutedException));
        take(waiter -> fails || !waiter.waits()).forEach(waiter -> {
            waiter.failure = failure;
            decide(new LockAction.Fail(waiter, failure));
        });
        askLater(null, failure, policy.askAgainMillis(), now);
    }

    /** Another attempt holds the lock, and the store keeps no places: callers who wait ask again and again. */
    private void busy(AcquireAttempt asked, String holder, ClockReading now) {
        end(asked, asked.queued() != null && asked.queued().place != null);
        refuseImpatient(holder);
        if (asked.queues) {
            askLater(holder, null, LeasePolicy.BUSY_MILLIS, now);
        } else {
            askOrRetire(now);
        }
    }

    private void queued(AcquireAttempt asked, AcquireReply.Queued place, ClockReading sent, ClockReading now) {
        boolean first = asked.isAsking();
        State.Queued waiting = asked.queued() == null ? new State.Queued() : asked.queued();
        asked.state = waiting;
        asked.asked = null;
        waiting.placed(place, sent);
        refuseImpatient(place.holder());
        if (pending.waiters.isEmpty()) {
            end(asked, true);
            retire();
        } else if (first && asked.grant != null) {
            granted(asked, waiting, asked.grant, now);
        } else if (first && asked.missed) {
            poll(asked, waiting, now);
        } else {
            pollAfter(waiting, place.remainingMillis(), now);
        }
    }

    /**
     * An attempt was ended by the store. If it was revoked, or asked for several locks, a late command of it may still
     * hold something, which is given back.
     */
    private void startOver(AcquireAttempt ended, ClockReading now) {
        end(ended, ended.revoked || names.size() > 1);
        askOrRetire(now);
    }

    private void repliedAfterTheEnd(AcquireAttempt asked, ClockReading sent, AcquireReply reply, ClockReading now) {
        StoreHold held = hold;
        if (!isHeldBy(asked)) {
            if (reply instanceof AcquireReply.Acquired || reply instanceof AcquireReply.Queued) {
                cancelAgain(asked, now);
            }
        } else if (reply instanceof AcquireReply.Acquired acquired
                && held != null
                && held == asked.hold()
                && held.fixedEnd() == null) {
            // This poll crossed the grant, and the store has refreshed the lease.
            held.renewed(LeasePolicy.deadline(acquired.leaseMillis(), sent), sent, now);
        }
    }

    /** Cancels whatever an attempt has in the store, but keeps the minimum hold time of a release that comes later. */
    private void cancelAgain(AcquireAttempt asked, ClockReading now) {
        StoreHold before = asked.hold();
        if (before != null) {
            before.releasedTwice();
        }
        decide(new LockAction.Cancel(asked, before == null ? 0 : before.keepMillis(now)));
    }

    /** Returns whether the hold is that of an attempt, or went on as that of a reader. */
    private boolean isHeldBy(AcquireAttempt asked) {
        StoreHold got = asked.hold();
        return got != null && (got == hold || got.isDowngraded());
    }

    private void pollAfter(State.Queued waiting, long millis, ClockReading now) {
        waiting.pollNanos = earlier(waiting.pollNanos, now.nanos() + policy.pollNanos(millis));
        dueBy(waiting.pollNanos);
    }

    private void poll(AcquireAttempt waiting, State.Queued state, ClockReading now) {
        waiting.asked = now;
        state.pollNanos = ClockReading.NEVER;
        decide(new LockAction.Ask(waiting));
    }

    private void ask(boolean first, ClockReading now) {
        boolean queues = false;
        for (PendingRequest waiter : pending.waiters) {
            queues |= waiter.waits();
        }
        AcquireAttempt next = attempt(first, queues, spec.maxPasses(), ASKING);
        next.asked = now;
        next.gated = first && queues && spec.mode() == ClaimMode.FAIR;
        decide(new LockAction.Ask(next));
    }

    private void askLater(@Nullable String holder, @Nullable StoreException failure, long millis, ClockReading now) {
        if (pending.waiters.isEmpty()) {
            retire();
            return;
        }
        State.Queued waiting = new State.Queued();
        waiting.holder = holder;
        waiting.failure = failure;
        attempt(false, true, spec.maxPasses(), waiting);
        pollAfter(waiting, millis, now);
    }

    private AcquireAttempt attempt(boolean first, boolean queues, int passes, State state) {
        AcquireAttempt next = new AcquireAttempt(policy.attemptIds().get(), first, queues, passes, state);
        pending().attempt = next;
        return next;
    }

    private void askOrRetire(ClockReading now) {
        if (pending.waiters.isEmpty()) {
            retire();
        } else {
            ask(false, now);
        }
    }

    // ---- the store's messages ----

    @Nullable
    AcquireAttempt attempt(String id) {
        return pending.attempt != null && pending.attempt.id.toString().equals(id) ? pending.attempt : null;
    }

    List<LockAction> granted(Grant grant, ClockReading now) {
        AcquireAttempt waiting = attempt(grant.attempt());
        if (waiting != null && !waiting.revoked) {
            waiting.grant = grant;
            State.Queued state = waiting.queued();
            if (state != null) {
                granted(waiting, state, grant, now);
            }
        }
        return decided();
    }

    private void granted(AcquireAttempt waiting, State.Queued state, Grant grant, ClockReading now) {
        StoreHold begun = policy.hold(names, spec, waiting.id, state, grant, now);
        if (begun == null || isTooShort(begun, now)) {
            poll(waiting, state, now);
        } else {
            begin(waiting, begun);
        }
    }

    /** Returns whether a grant may end before a minimum hold time that its release would have to ask for. */
    private boolean isTooShort(StoreHold begun, ClockReading now) {
        Duration left = Duration.ofNanos(begun.deadline().nanosFrom(now));
        return pending.waiters.stream()
                .anyMatch(waiter -> waiter.request.minHoldTime().compareTo(left) > 0);
    }

    /** The hold was revoked before this instance knew of it: the message overtook the grant or the answer. */
    List<LockAction> revoked(String id, ClockReading now) {
        AcquireAttempt waiting = attempt(id);
        if (waiting != null) {
            waiting.revoked = true;
            if (!waiting.isAsking()) {
                startOver(waiting, now);
            }
        }
        return decided();
    }

    /** The hold for which an attempt waits ends sooner than the store said before. */
    List<LockAction> freeIn(String id, long remainingMillis, ClockReading now) {
        AcquireAttempt waiting = attempt(id);
        State.Queued state = waiting == null ? null : waiting.queued();
        if (state != null) {
            state.announced = true;
            pollAfter(state, remainingMillis, now);
        } else if (waiting != null) {
            waiting.missed = true;
        }
        return decided();
    }

    /** Another instance waits in the store now for the hold of an attempt. */
    List<LockAction> contended(String id) {
        StoreHold held = hold;
        AcquireAttempt waiting = attempt(id);
        if (held != null && held.attempt().equals(id)) {
            held.contended = true;
        } else if (waiting != null) {
            waiting.contended = true;
        }
        return decided();
    }

    /** Messages may have been missed, among them some that are newer than an answer under way. */
    List<LockAction> messagesMissed(ClockReading now) {
        StoreHold held = hold;
        AcquireAttempt waiting = pending.attempt;
        State.Queued state = waiting();
        if (held != null) {
            held.contended = true;
        } else if (waiting != null && state != null) {
            poll(waiting, state, now);
        } else if (waiting != null) {
            waiting.missed = true;
            waiting.contended = true;
        }
        return decided();
    }

    // ---- holds ----

    private void begin(AcquireAttempt asked, StoreHold begun) {
        LockListener.Way path = asked.path();
        if (asked.isUncontended()) {
            begun.uncontended(asked.passes);
        }
        // The hold comes first: a poll of the attempt that is being sent must see that the attempt has a hold.
        hold = begun;
        asked.state = new State.Ended(begun);
        pending.attempt = null;
        PendingRequest next = poll();
        if (next == null) {
            hold = null;
            // The last caller left before the answer: no token was used.
            begun.end();
            decide(new LockAction.Release(begun, begun.token() - 1, 0));
            retire();
            return;
        }
        decide(new LockAction.Watch(begun));
        grant(next, begun, path);
        if (spec.isShared()) {
            take(reader -> true).forEach(reader -> grant(reader, begun, path));
        } else if (!pending.waiters.isEmpty()) {
            refuseImpatient(begun.attempt());
        }
    }

    private void grant(PendingRequest next, StoreHold held, LockListener.Way path) {
        held.holders++;
        decide(new LockAction.Grant(next, held, held.token(), path));
    }

    /**
     * One of the holders has released the lock: the hold passes to the next local caller, is handed over in the store,
     * or ends there; or the other readers go on. Null: it had ended before.
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
        boolean passes = ended.hasPasses() && policy.mayJoin(ended, now);
        PendingRequest next = passes ? poll() : null;
        if (next != null) {
            ended.pass();
            grant(next, ended, LockListener.Way.PASS);
            return decided();
        }
        // For several locks no tokens are reserved beyond those that were given out.
        long lastToken = names.size() > 1 ? 0 : ended.token();
        long keep = ended.keepMillis(now);
        if (pending.waiters.isEmpty()) {
            retire();
            decide(new LockAction.Release(ended, lastToken, keep));
        } else if (keep > 0) {
            decide(new LockAction.Release(ended, lastToken, keep));
            ask(false, now);
        } else {
            AcquireAttempt asking = attempt(false, true, ended.passesOfNext(), ASKING);
            asking.asked = now;
            decide(new LockAction.HandOver(ended, lastToken, asking));
        }
        // Last: after an error the hold counts as lost, and is released in the store.
        ended.end();
        hold = null;
        return decided();
    }

    /**
     * A hold is lost, or goes on as a reader's in another local lock: those who wait here ask again. Null: it had ended
     * before.
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

    /** An error interrupted a decision, which may be half made: this lock accepts no callers any more. */
    List<LockAction> broken() {
        // First, because it needs no memory.
        broken = true;
        decided = List.of();
        pending.waiters.clear();
        if (pending.attempt != null) {
            end(pending.attempt, true);
        }
        retire();
        return decided();
    }

    // ---- steps ----

    private Pending pending() {
        pending = pending == NOTHING ? new Pending(2) : pending;
        return pending;
    }

    private void forgetIfNothing() {
        if (pending.waiters.isEmpty() && pending.attempt == null && pending.timer == null) {
            pending = NOTHING;
        }
    }

    long dueNanos() {
        return pending.dueNanos;
    }

    @Nullable
    Timer timer() {
        return pending.timer;
    }

    /** Returns whether the timer is that of {@link #dueNanos}. Needs no monitor. */
    boolean isTimerSet() {
        Pending known = pending;
        Timer set = known.timer;
        return known.dueNanos == (set == null ? ClockReading.NEVER : set.nanos());
    }

    /** Sets the timer for {@link #dueNanos}; null: it has fired or was cancelled. */
    void timer(@Nullable Timer timer) {
        pending.timer = timer;
        forgetIfNothing();
    }

    private void decide(LockAction action) {
        if (decided.isEmpty()) {
            decided = new ArrayList<>(4);
        }
        decided.add(action);
    }

    private List<LockAction> decided() {
        if (pending.waiters.isEmpty()) {
            pending.dueNanos = ClockReading.NEVER;
            forgetIfNothing();
        }
        List<LockAction> actions = decided;
        decided = List.of();
        return actions;
    }

    /** Ends an attempt without a hold; {@code inStore}: it may have a lock or a place in the store. */
    private void end(AcquireAttempt ended, boolean inStore) {
        ended.state = new State.Ended(null);
        pending.attempt = null;
        decide(inStore ? new LockAction.Cancel(ended, 0) : new LockAction.Forget(ended));
    }

    private void retire() {
        retired = true;
        decide(new LockAction.Retire());
    }

    /** Removes and returns the first waiter; null: there is none. */
    private @Nullable PendingRequest poll() {
        for (PendingRequest first : pending.waiters) {
            pending.waiters.remove(first);
            return first;
        }
        return null;
    }

    private List<PendingRequest> take(Predicate<PendingRequest> which) {
        if (pending.waiters.isEmpty()) {
            return List.of();
        }
        List<PendingRequest> taken = pending.waiters.stream().filter(which).toList();
        pending.waiters.removeIf(which);
        return taken;
    }

    /** Refuses the callers who do not wait: another attempt holds the lock. */
    private void refuseImpatient(String holder) {
        take(waiter -> !waiter.waits()).forEach(waiter -> decide(new LockAction.Refuse(waiter, holder)));
    }

    private boolean isAsking() {
        return pending.attempt != null && pending.attempt.isAsking();
    }

    private State.@Nullable Queued waiting() {
        return pending.attempt == null ? null : pending.attempt.queued();
    }

    /** Returns why the store cannot tell who holds the lock; null: it can. */
    private @Nullable StoreException failure() {
        return waiting() == null ? null : waiting().failure;
    }

    private @Nullable String holder() {
        StoreHold held = hold;
        State.Queued waiting = waiting();
        return held != null ? held.attempt() : waiting == null ? null : waiting.holder;
    }
}
