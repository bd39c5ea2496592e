/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockManager;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One caller's lease, of one lock or of several. Held until it is released or lost, whichever is first; neither is ever
 * undone. A downgrade moves it to another hold. {@link LeaseOperations} does what concerns the store. One file, longer
 * than others, because all of these meet on several threads, and one state decides who is first.
 *
 * <pre>
 *   HELD --release--> RELEASED
 *    |  `--release into which an error comes, or without room on the stack--> OWED --the next look--> RELEASED
 *    `--loss of the hold, or its end has passed--> LOST --release--> LOST_AND_RELEASED
 * </pre>
 */
abstract class ManagedLease implements LockManager.Lease, StoreHold.Holder {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    private enum State {
        HELD,
        OWED,
        LOST,
        RELEASED,
        LOST_AND_RELEASED
    }

    /** The leases that owe their releases. */
    static final class OwedReleases {

        /** Whether there may be any: written without a call, where the stack may be at its end. */
        volatile boolean any;

        /** The first of those whose holds do not know them any more; linked, as there may be no memory. */
        private @Nullable ManagedLease first;

        synchronized void add(ManagedLease lease) {
            lease.nextOwed = first;
            first = lease;
            any = true;
        }

        @Nullable
        synchronized ManagedLease take() {
            ManagedLease taken = first;
            first = taken == null ? null : taken.nextOwed;
            return taken;
        }
    }

    final OwedReleases owedReleases;

    /** The fencing token of the first of the hold's names. */
    private final long token;

    final long grantedNanos;

    /** By the store's clock, or by the clock of this process where the store has none. */
    final long grantedMillis;

    /** The thread that received the lease; before that, the one that asked for it. */
    volatile Thread thread;

    /** Whether that thread waited for the lease, and goes on with it. */
    volatile boolean ofThread;

    /** Written under the monitor: an extension and a downgrade may meet. */
    volatile LockRequest request;

    private volatile StoreHold hold;

    private volatile State state = State.HELD;

    /** Whether no caller receives the lease, perhaps because an error ended the call. */
    volatile boolean abandoned;

    /** The number of the acquisition; 0: the caller has not received the lease, and listeners do not hear of it. */
    private volatile long acquisition;

    private List<Consumer<LockLostException>> callbacks = List.of();
    private volatile @Nullable LockLostException loss;

    /** Events to tell after that of a downgrade; null: listeners are not being told of one. Guarded by this. */
    private @Nullable Deque<Runnable> behindDowngrade;

    /** The end of this reader's own lease, whatever others do who share the hold; once seen to pass, it stays. */
    volatile @Nullable ClockReading ownEnd;

    private volatile boolean ownEndSeen;

    /** Guarded by the owed releases. */
    private @Nullable ManagedLease nextOwed;

    /** Whether its release is known here to have ended. */
    private volatile boolean over;

    ManagedLease(
            OwedReleases owedReleases,
            LockRequest request,
            Thread thread,
            StoreHold hold,
            long token,
            long grantedMillis,
            Scheduler clock) {
        this.owedReleases = owedReleases;
        this.request = request;
        this.hold = hold;
        this.token = token;
        this.grantedNanos = clock.nanoTime();
        this.grantedMillis = grantedMillis;
        this.thread = thread;
    }

    abstract EngineContext context();

    abstract LeasePolicy policy();

    /** Releases its part of the hold; the store may use this thread for as long as it waits for the answer. */
    abstract CompletableFuture<ReleaseResult> releaseHold(long waitNanos);

    /** Returns for how long a release waits for its answer. */
    abstract long releaseNanos();

    /** Releases its part of the hold without waiting for the store, and again if an error interrupts that. */
    abstract void leaveHold();

    /** Extends as {@link #extend}, but without waiting for the store, which has the time that a request waits. */
    abstract CompletableFuture<Boolean> extendAsync(Duration leaseTime, LockRequest asked);

    abstract void loseHold(String reason);

    abstract void over();

    /** The caller receives the lease. Listeners hear of it from now on; one that throws gives it back. */
    void received(long number, ClockReading asked, int tries, LockListener.Way path) {
        thread = Thread.currentThread();
        try {
            Duration waited = asked.until(context().now());
            context()
                    .listener()
                    .onAcquired(new LockListener.Acquired(number, request, fencingToken(), waited, tries, path));
            LockLostException early;
            synchronized (this) {
                acquisition = number;
                early = loss;
            }
            if (early != null) {
                tellListeners(early);
            }
        } catch (Throwable failure) {
            giveBack();
            throw failure;
        }
    }

    // ---- what it is ----

    StoreHold hold() {
        return hold;
    }

    @Override
    public long acquisition() {
        return acquisition;
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
    public @Nullable String label() {
        return request.label();
    }

    @Override
    public long fencingToken(String name) {
        int index = hold.names.indexOf(name);
        if (index < 0) {
            throw new IllegalArgumentException("This lease holds " + names() + ", not '" + name + "'");
        }
        return index == 0 ? token : hold.token(index);
    }

    // ---- whether it is held: nothing here has an effect but to remember that the end was seen ----

    @Override
    public boolean isHeld() {
        StoreHold known = hold;
        // Where a downgrade comes between, the lease belongs to another hold then.
        return state == State.HELD && (isHeldBy(known) || (known != hold && isHeldBy(hold)));
    }

    private boolean isHeldBy(StoreHold known) {
        ClockReading now = context().now();
        return known.isValid(now) && !isOwnEndPassed(now);
    }

    private boolean isOwnEndPassed(ClockReading now) {
        ClockReading own = ownEnd;
        if (own != null && !ownEndSeen && own.hasPassedAt(now)) {
            ownEndSeen = true;
        }
        return ownEndSeen;
    }

    @Override
    public Duration remaining() {
        ClockReading end = hold.deadline();
        ClockReading own = ownEnd;
        ClockReading first = own == null ? end : own.orEarlier(end);
        return isHeld() ? Duration.ofNanos(first.nanosFrom(context().now())) : Duration.ZERO;
    }

    @Override
    public void ensureHeld() {
        if (!isHeld()) {
            LockLostException known = loss;
            throw known == null ? lossBecause(endReason()) : new LockLostException(known);
        }
    }

    private String endReason() {
        LockLostException known = loss;
        return known != null
                ? known.reason()
                : isReleased() ? StoreHold.RELEASED : ownEndSeen ? StoreHold.TIME_OVER : hold.endReason();
    }

    @Override
    public boolean isFixed() {
        return hold.fixedEnd() != null || ownEnd != null;
    }

    @Override
    public boolean hasEndedAsAsked() {
        return !isHeld() && endReason().equals(StoreHold.TIME_OVER);
    }

    @Override
    public void receivedHere() {
        thread = Thread.currentThread();
        ofThread = true;
    }

    @Override
    public Runnable runHere() {
        Thread before = thread;
        boolean wasOfThread = ofThread;
        receivedHere();
        return () -> {
            thread = before;
            ofThread = wasOfThread;
        };
    }

    @Override
    public boolean isReleased() {
        return state == State.RELEASED || state == State.OWED;
    }

    // ---- its end in time ----

    @Override
    public boolean extend(Duration leaseTime) {
        StackRoom.requireToEnd();
        policy().requireKept("lease time", leaseTime, name());
        return PendingAnswers.answer(name(), extendAsync(leaseTime, request.withoutWaiting()), Long.MAX_VALUE);
    }

    @Override
    public boolean extend(Duration leaseTime, Duration minHoldTime) {
        Duration minimum =
                LockManager.bounded(request.withMinHoldTime(minHoldTime).minHoldTime());
        policy().requireKept("minimum hold time", minimum, name());
        Duration heldBefore = heldFor();
        boolean extended = extend(leaseTime);
        if (extended) {
            synchronized (this) {
                // From the grant on, as in each request.
                request = request.withMinHoldTime(minimum.isZero() ? minimum : heldBefore.plus(minimum));
            }
        }
        return extended;
    }

    @Override
    public @Nullable ClockReading ownEnd() {
        return state == State.HELD ? ownEnd : null;
    }

    @Override
    public void ownEndPassed() {
        if (isOwnEndPassed(context().now())) {
            expire();
        }
    }

    /** The end has passed. Only what ends the lease gives its part of the hold back: a release may have been first. */
    private void expire() {
        String reason = endReason();
        if (!lost(reason)) {
            return;
        } else if (ownEndSeen) {
            // The others go on; where there are none, the lock is free.
            leaveHold();
        } else {
            loseHold(reason);
        }
    }

    // ---- its downgrade ----

    /** A downgrade moves the lease to a reader's hold. Called while the local lock of its hold is locked. */
    void moveTo(StoreHold reader) {
        StoreHold before = hold;
        reader.add(this);
        hold = reader;
        before.remove(this);
    }

    void downgraded() {
        LockRequest before;
        Deque<Runnable> ends = new ArrayDeque<>(2);
        synchronized (this) {
            if (state != State.HELD) {
                // Listeners hear of the end.
                return;
            }
            before = request;
            request = before.withMode(LockMode.READ);
            if (acquisition == 0) {
                return;
            }
            behindDowngrade = ends;
        }
        try {
            context().listener().onDowngraded(new LockListener.Downgraded(acquisition, before, request, heldFor()));
        } finally {
            tellEnds(ends);
        }
    }

    private void tellEnds(Deque<Runnable> ends) {
        while (true) {
            Runnable end;
            synchronized (this) {
                end = ends.poll();
                if (end == null) {
                    behindDowngrade = null;
                    return;
                }
            }
            end.run();
        }
    }

    /** Tells listeners of an end, which may come on another thread than a downgrade. */
    private void tellEnd(Runnable end) {
        synchronized (this) {
            if (behindDowngrade != null) {
                behindDowngrade.add(end);
                return;
            }
        }
        end.run();
    }

    // ---- its end by release ----

    @Override
    public void await(CompletableFuture<?> answer) throws InterruptedException {
        CallerThread.await(answer, Long.MAX_VALUE);
    }

    @Override
    public <T extends @Nullable Object> T join(CompletableFuture<T> answer) {
        return CallerThread.join(answer);
    }

    @Override
    public ReleaseResult release() {
        ReleaseResult told = end(false);
        if (told != null) {
            return told;
        }
        if (!isReleased()) {
            return ended(ReleaseResult.LOST);
        }
        ReleaseResult result;
        try {
            CompletableFuture<ReleaseResult> answer = releaseHold(CallerThread.waits(Long.MAX_VALUE));
            CallerThread.awaitUninterruptibly(answer, releaseNanos());
            result = answer.getNow(ReleaseResult.UNKNOWN);
            if (result == ReleaseResult.RELEASED && hold.isOver() && hold.contended) {
                // The store tells the next holder when it answers. Where both share processors, this thread may want
                // the lock again at once, and could only wait for it: it gives way.
                context().giveWay().run();
            }
        } catch (Throwable error) {
            oweRelease();
            throw error;
        }
        return ended(result);
    }

    @Override
    public CompletableFuture<ReleaseResult> closeAsync() {
        return closeAsync(false);
    }

    /** Closes the lease; one that owes its release only where that is meant. */
    CompletableFuture<ReleaseResult> closeAsync(boolean owed) {
        ReleaseResult told = end(owed);
        if (told != null) {
            return CompletableFuture.completedFuture(told);
        }
        try {
            CompletableFuture<ReleaseResult> answer =
                    isReleased() ? releaseHold(0) : CompletableFuture.completedFuture(ReleaseResult.LOST);
            return context()
                    .scheduler()
                    .atMost(releaseNanos(), answer)
                    .thenCompose(waited -> answer.isDone()
                            ? CompletableFuture.completedFuture(ended(answer.join()))
                            // The wait was ended by the timer, whose thread is for no listener.
                            : CompletableFuture.supplyAsync(
                                    () -> ended(answer.getNow(ReleaseResult.UNKNOWN)),
                                    context().background()))
                    .whenComplete((ended, never) -> report(ended));
        } catch (Throwable error) {
            oweRelease();
            throw error;
        }
    }

    /** An error in the middle of a release must leave no hold that is renewed for no one, and no lease that counts. */
    private void oweRelease() {
        if (isReleased() && !over) {
            hold.remove(this);
            state = State.OWED;
            owedReleases.add(this);
        }
    }

    @Override
    public void close() {
        report(release());
    }

    @Override
    public void giveBack() {
        // First: where an error comes into this, the next look gives it back.
        abandoned = true;
        owedReleases.any = true;
        closeAsync(true);
    }

    /** Returns whether a release found no room on its stack, or the caller none to receive the lease. */
    boolean owesRelease() {
        return state == State.OWED || (abandoned && state == State.HELD);
    }

    /** Ends the lease here, at once; returns what the caller is told, null: the engine is to be told, and says it. */
    private @Nullable ReleaseResult end(boolean owed) {
        try {
            return tryToEnd(owed);
        } catch (Throwable error) {
            synchronized (this) {
                // Its owner does not release it again: the next look does.
                state = state == State.HELD ? State.OWED : state;
                owedReleases.any = true;
            }
            throw error;
        }
    }

    private @Nullable ReleaseResult tryToEnd(boolean owed) {
        boolean room = StackRoom.isEnough();
        if (room && state == State.HELD && !isHeld()) {
            // Its end has passed, and has not been told yet.
            expire();
        }
        synchronized (this) {
            State before = state;
            boolean done = before == State.RELEASED || before == State.LOST_AND_RELEASED;
            if (done || (before == State.OWED && !(owed && room))) {
                return ReleaseResult.ALREADY_RELEASED;
            }
            state = before == State.LOST ? State.LOST_AND_RELEASED : room ? State.RELEASED : State.OWED;
            if (!room) {
                owedReleases.any = true;
            }
            return room ? null : ReleaseResult.UNKNOWN;
        }
    }

    private ReleaseResult ended(ReleaseResult result) {
        if (isReleased()) {
            // A loss was told to the engine when it came.
            over = true;
            over();
            if (result == ReleaseResult.LOST) {
                lost(State.RELEASED, State.RELEASED, "the store did not know of it any more when it was released");
            }
        }
        if (acquisition != 0) {
            LockListener.Released event =
                    new LockListener.Released(acquisition, request, fencingToken(), heldFor(), result);
            tellEnd(() -> context().listener().onReleased(event));
        }
        return result;
    }

    /** Logs the result of a release that needs attention. A loss was logged when it was told. */
    private void report(ReleaseResult result) {
        if (result == ReleaseResult.UNKNOWN) {
            log.warn("Release of lock '{}' was not answered; it is repeated in the background", name());
        }
    }

    @Override
    public long keepMillis() {
        Duration keep = LockManager.bounded(request.minHoldTime()).minus(heldFor());
        return abandoned || keep.isNegative() ? 0 : keep.plusNanos(999_999).toMillis();
    }

    // ---- its end by loss ----

    @Override
    public void onLost(Consumer<LockLostException> callback) {
        Objects.requireNonNull(callback, "callback must not be null");
        LockLostException known;
        synchronized (this) {
            known = loss;
            if (known == null) {
                callbacks = callbacks.isEmpty() ? new ArrayList<>(1) : callbacks;
                callbacks.add(callback);
                return;
            }
        }
        tell(callback, known);
    }

    @Override
    public synchronized void forget(Consumer<LockLostException> callback) {
        // By identity: a user's own comparison may throw.
        for (int i = callbacks.size() - 1; i >= 0; i--) {
            if (callbacks.get(i) == callback) {
                callbacks.remove(i);
                return;
            }
        }
    }

    @Override
    public boolean lost(String reason) {
        LockLostException known = loss;
        if (known != null) {
            // Told once more where an error came into that.
            tellCallbacks(known);
            return false;
        } else if (lost(State.OWED, State.LOST_AND_RELEASED, reason)) {
            // Its owner has released it already, and listeners have not heard of that.
            ended(ReleaseResult.LOST);
            return true;
        }
        return lost(State.HELD, State.LOST, reason);
    }

    /** Makes a loss of a lease that is in a given state, and tells it. */
    private boolean lost(State from, State to, String reason) {
        LockLostException lost = lossBecause(reason);
        boolean received;
        synchronized (this) {
            if (state != from) {
                return false;
            }
            state = to;
            loss = lost;
            // A caller who receives the lease from now on tells the listeners of the loss.
            received = acquisition != 0;
        }
        if (from != to) {
            over();
        }
        try {
            tellCallbacks(lost);
        } finally {
            if (received) {
                tellListeners(lost);
            }
        }
        return true;
    }

    /** Tells a loss to all who were not told yet, or whose telling an error interrupted. */
    private void tellCallbacks(LockLostException lost) {
        for (Consumer<LockLostException> next = takeCallback(); next != null; next = takeCallback()) {
            try {
                tell(next, lost);
            } catch (Throwable error) {
                synchronized (this) {
                    callbacks.add(next);
                }
                throw error;
            }
        }
    }

    private synchronized @Nullable Consumer<LockLostException> takeCallback() {
        return callbacks.isEmpty() ? null : callbacks.remove(0);
    }

    private void tell(Consumer<LockLostException> callback, LockLostException lost) {
        context().callbacks().execute(() -> {
            try {
                callback.accept(lost);
            } catch (Throwable failure) {
                log.error("The callback for the loss of lock '{}' failed", lost.name(), failure);
            }
        });
    }

    private void tellListeners(LockLostException lost) {
        if (lost.reason().equals(StoreHold.TIME_OVER)) {
            log.info("{}", lost.getMessage());
        } else {
            String label = request.label();
            log.warn(
                    "{} (acquired by {} on thread {})",
                    lost.getMessage(),
                    label == null ? "a request without a label" : label,
                    thread.getName());
        }
        tellEnd(() -> context().listener().onLost(new LockListener.Lost(acquisition, request, lost)));
    }

    private LockLostException lossBecause(String reason) {
        return new LockLostException(name(), fencingToken(), heldFor(), reason);
    }

    private Duration heldFor() {
        return Duration.ofNanos(Math.max(0, context().nanoTime() - grantedNanos));
    }

    @Override
    public String toString() {
        return "LockLease[" + name() + ", " + mode() + ", token " + fencingToken() + ", " + state + "]";
    }
}
