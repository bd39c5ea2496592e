/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.CallerThread;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One caller's hold within a tenure, of one lock or of several. Held until it is released or lost, whichever is first; neither is ever undone. */
final class HeldLease extends Recovery.Task implements LockLease {

    private static final CompletableFuture<ReleaseResult> UNKNOWN =
            CompletableFuture.completedFuture(ReleaseResult.UNKNOWN);

    private enum State {
        HELD,
        RELEASED,
        LOST
    }

    private final LockRequest request;
    private final Tenure tenure;
    private final List<Long> tokens;
    private final LeaseKeeper keeper;
    private final Recovery recovery;
    private volatile long grantedNanos;
    private List<Consumer<LockLostException>> callbacks = List.of();
    private final LeaseEvents events;
    private State state = State.HELD;
    private boolean releaseSeen;
    private boolean received = true;

    /** Whether the hold has ended here, and the cohort does not know. */
    private boolean owed;

    private boolean endTold;

    /** The end of this reader's own lease within a hold that it shares; null: that of the hold. */
    private volatile @Nullable Moment ownEnd;

    private @Nullable LockLostException loss;

    HeldLease(LockRequest request, Tenure tenure, LeaseKeeper keeper) {
        this.request = request;
        this.tenure = tenure;
        this.tokens = tenure.tokens();
        this.keeper = keeper;
        this.recovery = keeper.recovery();
        this.events = new LeaseEvents(request, keeper.listener());
        this.grantedNanos = keeper.clock().nanoTime();
    }

    LockRequest request() {
        return request;
    }

    /** Returns what is told of this lease. */
    LeaseEvents events() {
        return events;
    }

    /** The caller receives the lease. From now on listeners hear of it, first of this. */
    void received(long number, Duration waited) {
        events.acquired(number, fencingToken(), waited);
        begin(number);
    }

    private void begin(long number) {
        LockLostException early;
        synchronized (this) {
            events.begin(number);
            early = loss;
        }
        if (early != null) {
            events.lost(early);
        }
    }

    Recovery recovery() {
        return recovery;
    }

    Tenure tenure() {
        return tenure;
    }

    @Override
    public String name() {
        return request.names().get(0);
    }

    @Override
    public List<String> names() {
        return request.names();
    }

    @Override
    public LockMode mode() {
        return request.mode();
    }

    @Override
    public long fencingToken() {
        return fencingToken(name());
    }

    @Override
    public long fencingToken(String name) {
        int index = tenure.claim.names().indexOf(name);
        if (index < 0) {
            throw new IllegalArgumentException("This lease holds " + names() + ", not '" + name + "'");
        }
        return tokens.get(index);
    }

    @Override
    public boolean isHeld() {
        if (state() != State.HELD) {
            return false;
        }
        if (!tenure.isOver() && tenure.deadline().hasPassed(keeper.clock())) {
            keeper.lose(
                    tenure,
                    tenure.fixedEnd() == null ? "its lease ended before it was renewed" : "its lease time is over");
        } else if (deadline().hasPassed(keeper.clock())) {
            endOwnLease();
        }
        return state() == State.HELD && !tenure.isOver();
    }

    @Override
    public Duration remaining() {
        return isHeld() ? Duration.ofNanos(deadline().nanosFrom(keeper.clock())) : Duration.ZERO;
    }

    private Moment deadline() {
        Moment shared = tenure.deadline();
        Moment own = ownEnd;
        return own == null || own.isAfter(shared) ? shared : own;
    }

    /** Ends this reader's lease at a given moment, whatever others do who share the hold. */
    void endAt(Moment end) {
        ownEnd = end;
    }

    private void endOwnLease() {
        lost("its lease time is over");
        // The others go on; where there are none, the lock is free.
        keeper.background().execute(() -> tenure.cohort.release(this));
    }

    @Override
    public void ensureHeld() {
        if (!isHeld()) {
            LockLostException lost = loss();
            throw lost != null ? lost : lossBecause("it was released");
        }
    }

    @Override
    public boolean verify() {
        return isHeld() && keeper.verify(this);
    }

    @Override
    public boolean extend(Duration leaseTime) {
        LockRequest checked = request.withLeaseTime(leaseTime);
        return isHeld()
                && keeper.extend(
                        this,
                        Claim.measurable(Objects.requireNonNull(checked.leaseTime()))
                                .toMillis());
    }

    @Override
    public void onLost(Consumer<LockLostException> callback) {
        Objects.requireNonNull(callback, "callback must not be null");
        LockLostException lost;
        synchronized (this) {
            lost = loss;
            if (lost == null) {
                callbacks = callbacks.isEmpty() ? new ArrayList<>(1) : callbacks;
                callbacks.add(callback);
                return;
            }
        }
        keeper.callbacks().execute(new LossCall(callback, lost));
    }

    /** Takes back the last of what {@link #onLost} was given, unless it was called already. */
    synchronized void forget(Consumer<LockLostException> callback) {
        int last = callbacks.lastIndexOf(callback);
        if (last >= 0) {
            callbacks.remove(last);
        }
    }

    @Override
    public ReleaseResult release() {
        if (!StackRoom.isEnough()) {
            // Ended here, without a call, and told to the cohort by a thread that has room.
            synchronized (this) {
                if (releaseSeen) {
                    return ReleaseResult.ALREADY_RELEASED;
                }
                releaseSeen = true;
                owed = state == State.HELD;
                state = owed ? State.RELEASED : state;
            }
            synchronized (recovery) {
                if (!noted) {
                    noted = true;
                    next = recovery.first;
                    recovery.first = this;
                }
            }
            return ReleaseResult.UNKNOWN;
        }
        CompletableFuture<ReleaseResult> command = CallerThread.waiting(this::end);
        return command == null ? ReleaseResult.ALREADY_RELEASED : ended(tenure.givingWay(command.join()));
    }

    /** As {@link #close()}, but without waiting for the store. */
    CompletableFuture<ReleaseResult> closeAsync() {
        if (!StackRoom.isEnough()) {
            // Ended here, without a call, and told to the cohort by a thread that has room.
            synchronized (this) {
                if (releaseSeen) {
                    return CompletableFuture.completedFuture(ReleaseResult.ALREADY_RELEASED);
                }
                releaseSeen = true;
                owed = state == State.HELD;
                state = owed ? State.RELEASED : state;
            }
            synchronized (recovery) {
                if (!noted) {
                    noted = true;
                    next = recovery.first;
                    recovery.first = this;
                }
            }
            return UNKNOWN;
        }
        CompletableFuture<ReleaseResult> command = end();
        return command == null
                ? CompletableFuture.completedFuture(ReleaseResult.ALREADY_RELEASED)
                : command.thenApply(this::ended).whenComplete((result, never) -> events.report(result));
    }

    /** Ends the hold here, at once; null: it was released before. */
    private @Nullable CompletableFuture<ReleaseResult> end() {
        boolean held = isHeld();
        synchronized (this) {
            if (releaseSeen) {
                return null;
            }
            releaseSeen = true;
            if (held && state == State.HELD) {
                state = State.RELEASED;
                callbacks = List.of();
            } else {
                held = false;
            }
        }
        try {
            return held ? keeper.release(this) : CompletableFuture.completedFuture(ReleaseResult.LOST);
        } catch (Throwable failure) {
            owe(held);
            throw failure;
        }
    }

    private void owe(boolean release) {
        synchronized (this) {
            owed = release;
        }
        recovery.note(this);
    }

    @Override
    void recover() {
        boolean release;
        synchronized (this) {
            release = owed;
            owed = false;
        }
        if (release) {
            try {
                keeper.release(this).thenApply(this::ended).whenComplete((result, never) -> events.report(result));
            } catch (Throwable failure) {
                owe(true);
                throw failure;
            }
        } else {
            ended(ReleaseResult.LOST);
        }
    }

    private ReleaseResult ended(ReleaseResult result) {
        keeper.over(this);
        synchronized (this) {
            if (endTold) {
                return result;
            }
            endTold = true;
        }
        if (events.hasBegun()) {
            if (result == ReleaseResult.LOST && isReleased()) {
                events.lost(lossBecause("the store did not know of it any more when it was released"));
            }
            events.released(fencingToken(), heldFor(), result);
        }
        return result;
    }

    /** Releases a lease that nobody received, without waiting for the store: nothing was done under it. */
    void giveBack() {
        received = false;
        closeAsync();
    }

    /** Returns how long the lock stays taken after this lease, in ms, because the caller asked for a minimum. */
    long keepMillis() {
        Duration keep = request.minHoldTime().minus(heldFor());
        return !received || keep.isNegative() ? 0 : keep.plusNanos(999_999).toMillis();
    }

    @Override
    public void close() {
        ReleaseResult result;
        try {
            result = release();
        } catch (StackOverflowError failure) {
            // There was room for this method only.
            synchronized (this) {
                if (releaseSeen) {
                    return;
                }
                releaseSeen = true;
                owed = state == State.HELD;
                state = owed ? State.RELEASED : state;
            }
            synchronized (recovery) {
                if (!noted) {
                    noted = true;
                    next = recovery.first;
                    recovery.first = this;
                }
            }
            return;
        }
        events.report(result);
    }

    /** Ends this hold, which goes on as another lease: with what was asked of this one, and with its beginning. */
    void becomes(HeldLease successor) {
        List<Consumer<LockLostException>> inherited;
        synchronized (this) {
            state = State.RELEASED;
            releaseSeen = true;
            inherited = List.copyOf(callbacks);
            callbacks = List.of();
        }
        successor.grantedNanos = grantedNanos;
        inherited.forEach(successor::onLost);
        keeper.over(this);
        events.downgraded(successor.request, heldFor());
        successor.begin(events.acquisition());
    }

    /** Ends this hold by loss, unless it is over. */
    void lost(String reason) {
        Effects effects = new Effects(Runnable::run, recovery);
        synchronized (this) {
            if (state != State.HELD) {
                return;
            }
            LockLostException lost = lossBecause(reason);
            effects.answer(() -> keeper.over(this));
            callbacks.forEach(callback -> {
                LossCall call = new LossCall(callback, lost);
                effects.answer(() -> keeper.callbacks().execute(call));
            });
            if (events.hasBegun()) {
                effects.answer(() -> events.lost(lost));
            }
            loss = lost;
            callbacks = List.of();
            state = State.LOST;
        }
        effects.perform();
    }

    private synchronized State state() {
        return state;
    }

    private synchronized @Nullable LockLostException loss() {
        return loss;
    }

    boolean isReleased() {
        return state() == State.RELEASED;
    }

    private LockLostException lossBecause(String reason) {
        return new LockLostException(name(), fencingToken(), heldFor(), reason);
    }

    private Duration heldFor() {
        return Duration.ofNanos(Math.max(0, keeper.clock().nanoTime() - grantedNanos));
    }

    @Override
    public String toString() {
        return "LockLease[" + name() + ", " + mode() + ", token " + fencingToken() + ", " + state() + "]";
    }
}
