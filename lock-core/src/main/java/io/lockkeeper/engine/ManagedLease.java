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
 * One caller's lease, of one lock or of several. It is held until it is released or lost, whichever comes first, and
 * neither is ever undone. A downgrade moves it to another hold. {@link LeaseOperations} does what concerns the store.
 * The file is longer than others, because release, loss, extension and downgrade race, and one state decides.
 *
 * <pre>
 *   HELD --release--> RELEASED
 *    |  `--release interrupted by an error, or without room on the stack--> OWED --the next look--> RELEASED
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

        /** Whether there may be any: a field, which can be written when the stack is exhausted. */
        volatile boolean any;

        /** The first of those whose holds do not know them any more; linked, because there may be no memory. */
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

    // ---- whether it is held: without side effects, except that a passed end is remembered ----

    @Override
    public boolean isHeld() {
        StoreHold known = hold;
        // A downgrade may just have moved the lease to another hold.
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
                // Counted from the grant, as in each request.
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

    /** Ends a lease whose end has passed, and gives back its part of the hold unless a release came first. */
    private void expire() {
        String reason = endReason();
        if (!lost(reason)) {
            return;
        } else if (ownEndSeen) {
            // Other readers keep the hold; without any, the lock is released.
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
                // Listeners hear of the end instead.
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

    /** Tells listeners of an end, after a downgrade that another thread is telling them of. */
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
                // The store notifies the next holder when it answers. On shared processors this thread gives way, since
                // it could only wait if it asked for the lock again at once.
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

    /** Closes the lease. One that owes its release is closed only if {@code owed} says so. */
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
                            // The timer ended the wait, and listeners must not run on its thread.
                            : CompletableFuture.supplyAsync(
                                    () -> ended(answer.getNow(ReleaseResult.UNKNOWN)),
                                    context().background()))
                    .whenComplete((ended, never) -> report(ended));
        } catch (Throwable error) {
            oweRelease();
            throw error;
        }
    }

    /** After an error in a release: neither the hold may stay renewed nor the lease counted. */
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
        // First: if an error interrupts this, the next look gives the lease back.
        abandoned = true;
        owedReleases.any = true;
        closeAsync(true);
    }

    /** Returns whether a release found no room on its stack, or the caller could not receive the lease. */
    boolean owesRelease() {
        return state == State.OWED || (abandoned && state == State.HELD);
    }

    /** Ends the lease locally. Returns the caller's result; null: the release in the store determines it. */
    private @Nullable ReleaseResult end(boolean owed) {
        try {
            return tryToEnd(owed);
        } catch (Throwable error) {
            synchronized (this) {
                // Its owner does not release it again, so the next look does.
                state = state == State.HELD ? State.OWED : state;
                owedReleases.any = true;
            }
            throw error;
        }
    }

    private @Nullable ReleaseResult tryToEnd(boolean owed) {
        boolean room = StackRoom.isEnough();
        if (room && state == State.HELD && !isHeld()) {
            // Its end has passed, and was not reported yet.
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
            // After a loss the engine was told when it came.
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

    /** Logs a release that was not answered. A loss was logged when it was reported. */
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
            // Once more: an error may have interrupted this before.
            tellCallbacks(known);
            return false;
        } else if (lost(State.OWED, State.LOST_AND_RELEASED, reason)) {
            // Its owner has released it already, but listeners have not heard of that.
            ended(ReleaseResult.LOST);
            return true;
        }
        return lost(State.HELD, State.LOST, reason);
    }

    /** Marks a lease that is in a given state as lost, and reports it. */
    private boolean lost(State from, State to, String reason) {
        LockLostException lost = lossBecause(reason);
        boolean received;
        synchronized (this) {
            if (state != from) {
                return false;
            }
            state = to;
            loss = lost;
            // If the caller receives the lease later, that reports the loss to listeners.
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

    /** Reports a loss to all callbacks that were not called yet. */
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
