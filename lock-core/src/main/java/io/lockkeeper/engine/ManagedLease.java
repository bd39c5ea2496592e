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
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One caller's lease, of one lock or of several. Held until it is released or lost, whichever is first; neither is ever
 * undone. A downgrade moves it to another hold.
 */
final class ManagedLease implements LockManager.Lease, StoreHold.Holder {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    /** What a lease needs from the engine that gave it. */
    interface Keeper {

        EngineContext context();

        /** Ends a lease; this thread may do input and output for as long as it waits anyway. */
        CompletableFuture<ReleaseResult> release(ManagedLease lease, long waitNanos);

        /** Makes a hold lost, unless it is over. */
        void lose(StoreHold hold, String reason);

        /** Asks the store whether a hold is still there. */
        CompletableFuture<Boolean> verify(ManagedLease lease);

        /**
         * Gives a hold a fixed end, that of one reader only where several share it. False: the hold is not there any more; a
         * failure: it may be, but its end is not the new one.
         */
        CompletableFuture<Boolean> extend(ManagedLease lease, long leaseMillis);

        /** Makes a reader's lease of an exclusive one; completed when the store knows, or does not answer. */
        CompletableFuture<?> downgrade(ManagedLease lease);

        /** A lease is over, by release or by loss. */
        void over();
    }

    private final Keeper keeper;
    private final List<Long> tokens;
    private final LockListener.Way path;
    private final int tries;
    private final long grantedNanos;
    private final long grantedMillis;

    /** The thread that received the lease; before that, the one that asked for it. */
    private volatile Thread thread;

    private volatile LockRequest request;
    private volatile StoreHold hold;

    /** How long the lock stays taken, from the grant on. */
    private volatile Duration minHold;

    private volatile StoreHold.State state = StoreHold.State.HELD;

    /** Whether the caller has released the lease, which may have been lost before. Guarded by this. */
    private boolean released;

    /** Whether the release found no room on its stack, and is still to be made. */
    private volatile boolean owed;

    /** Whether an error ended the call that would have received the lease. */
    volatile boolean abandoned;

    /** Whether the caller received the lease: nothing was done under one that was not. */
    private volatile boolean received = true;

    /** The number of the acquisition; 0: the caller has not received the lease, and listeners do not hear of it. */
    private volatile long acquisition;

    private List<Consumer<LockLostException>> callbacks = List.of();
    private volatile @Nullable ClockReading ownEnd;
    private volatile boolean ownEndSeen;
    private volatile @Nullable LockLostException loss;

    ManagedLease(
            Keeper keeper,
            LockRequest request,
            int tries,
            Thread thread,
            StoreHold hold,
            List<Long> tokens,
            LockListener.Way path) {
        this.keeper = keeper;
        this.request = request;
        this.minHold = AcquireSpec.bounded(request.minHoldTime());
        this.tries = tries;
        this.hold = hold;
        this.tokens = tokens;
        this.path = path;
        this.grantedNanos = keeper.context().nanoTime();
        this.grantedMillis = keeper.context().scheduler().currentTimeMillis();
        this.thread = thread;
    }

    LockRequest request() {
        return request;
    }

    StoreHold hold() {
        return hold;
    }

    /** Returns when the caller got the lock, by the wall clock of this machine. */
    Instant granted() {
        return Instant.ofEpochMilli(grantedMillis);
    }

    /** Returns the thread that received the lease; before that, the one that asked for it. */
    Thread thread() {
        return thread;
    }

    @Override
    public long acquisition() {
        return acquisition;
    }

    @Override
    public boolean isFixed() {
        return hold.fixedEnd() != null || ownEnd != null;
    }

    @Override
    public boolean hasEndedAsAsked() {
        LockLostException known = loss;
        return known != null
                ? known.reason().equals(StoreHold.TIME_OVER)
                : state == StoreHold.State.HELD && isFixed() && !isHeld();
    }

    @Override
    public <T extends @Nullable Object> T join(CompletableFuture<T> answer) {
        return CallerThread.join(answer);
    }

    @Override
    public CompletableFuture<?> downgrade() {
        return keeper.downgrade(this);
    }

    /** The caller receives the lease. From now on listeners hear of it, first of this; one that throws gives it back. */
    void received(long number, ClockReading asked) {
        thread = Thread.currentThread();
        try {
            Duration waited = asked.until(keeper.context().now());
            keeper.context()
                    .listener()
                    .onAcquired(new LockListener.Acquired(number, request, fencingToken(), waited, tries, path));
            LockLostException early;
            synchronized (this) {
                acquisition = number;
                early = loss;
            }
            if (early != null) {
                tellLoss(early);
            }
        } catch (Throwable failure) {
            giveBack();
            throw failure;
        }
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
    public @Nullable String label() {
        return request.label();
    }

    @Override
    public long fencingToken() {
        return tokens.size() == 1 ? tokens.get(0) : fencingToken(name());
    }

    @Override
    public long fencingToken(String name) {
        int index = hold.spec.names().indexOf(name);
        if (index < 0) {
            throw new IllegalArgumentException("This lease holds " + names() + ", not '" + name + "'");
        }
        return tokens.get(index);
    }

    // ---- whether it is held: nothing here has an effect but to remember that the end was seen ----

    @Override
    public boolean isHeld() {
        while (true) {
            StoreHold known = hold;
            boolean held = state == StoreHold.State.HELD
                    && isHeld(known, keeper.context().now());
            if (held || known == hold) {
                return held;
            }
            // A downgrade came between: the lease belongs to another hold now.
        }
    }

    private boolean isHeld(StoreHold known, ClockReading now) {
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
        if (!isHeld()) {
            return Duration.ZERO;
        }
        ClockReading end = hold.deadline();
        ClockReading own = ownEnd;
        return Duration.ofNanos((own == null || own.isAfter(end) ? end : own)
                .nanosFrom(keeper.context().now()));
    }

    @Override
    public void ensureHeld() {
        if (!isHeld()) {
            LockLostException known = loss;
            throw known != null
                    ? new LockLostException(known)
                    : lossBecause(state == StoreHold.State.RELEASED ? "it was released" : endReason());
        }
    }

    private String endReason() {
        return ownEndSeen ? StoreHold.TIME_OVER : hold.endReason();
    }

    @Override
    public boolean verify() {
        return isHeld() && PendingAnswers.answer(name(), keeper.verify(this));
    }

    @Override
    public boolean extend(Duration leaseTime) {
        StackRoom.requireToEnd();
        return PendingAnswers.answer(name(), extendAsync(leaseTime));
    }

    @Override
    public boolean extend(Duration leaseTime, Duration minHoldTime) {
        Duration minimum =
                AcquireSpec.bounded(request.withMinHoldTime(minHoldTime).minHoldTime());
        Duration heldBefore = heldFor();
        boolean extended = extend(leaseTime);
        if (extended) {
            minHold = minimum.isZero() ? minimum : heldBefore.plus(minimum);
        }
        return extended;
    }

    @Override
    public CompletableFuture<Boolean> extendAsync(Duration leaseTime) {
        Duration checked =
                Objects.requireNonNull(request.withLeaseTime(leaseTime).leaseTime());
        return isHeld()
                ? keeper.extend(this, AcquireSpec.bounded(checked).toMillis())
                : CompletableFuture.completedFuture(false);
    }

    @Override
    public @Nullable ClockReading ownEnd() {
        return state == StoreHold.State.HELD ? ownEnd : null;
    }

    /** Ends this reader's lease at a given moment at the latest, whatever others do who share the hold. */
    void limit(ClockReading end) {
        ClockReading own = ownEnd;
        ownEnd = own == null ? end : own.orEarlier(end);
    }

    /** Ends this reader's lease at a given moment; an end that was seen to have passed stays so. */
    void endAt(ClockReading end) {
        ownEnd = end;
    }

    @Override
    public void ownEndPassed() {
        // Only the one that ends the lease gives its part of the hold back: a release may have been first.
        if (isOwnEndPassed(keeper.context().now()) && lost(StoreHold.TIME_OVER)) {
            // The others go on; where there are none, the lock is free.
            keeper.release(this, 0);
        }
    }

    /** A downgrade moves the lease to a reader's hold. Called while the local lock of its hold is locked. */
    void moveTo(StoreHold reader) {
        StoreHold before = hold;
        reader.add(this);
        hold = reader;
        before.remove(this);
    }

    /** Tells that the lease goes on as that of a reader. */
    void downgraded() {
        LockRequest before = request;
        LockRequest after = before.withMode(LockMode.READ);
        request = after;
        if (acquisition != 0) {
            LockListener listener = keeper.context().listener();
            listener.onDowngraded(new LockListener.Downgraded(acquisition, before, after, heldFor()));
        }
    }

    // ---- its end by release ----

    @Override
    public ReleaseResult release() {
        if (!StackRoom.isEnough()) {
            return oweRelease();
        }
        if (!end()) {
            return ReleaseResult.ALREADY_RELEASED;
        }
        if (state != StoreHold.State.RELEASED) {
            return ended(ReleaseResult.LOST);
        }
        ReleaseResult result = CallerThread.join(keeper.release(this, CallerThread.waits(Long.MAX_VALUE)));
        if (result == ReleaseResult.RELEASED && hold.isOver() && hold.isContended()) {
            // The store tells the next holder when it answers. Where both share processors, this thread may want the
            // lock again at once, and could only wait for it: it gives way.
            keeper.context().giveWay().run();
        }
        return ended(result);
    }

    @Override
    public CompletableFuture<ReleaseResult> closeAsync() {
        if (!StackRoom.isEnough()) {
            return CompletableFuture.completedFuture(oweRelease());
        }
        return end() ? releaseAsync() : CompletableFuture.completedFuture(ReleaseResult.ALREADY_RELEASED);
    }

    private CompletableFuture<ReleaseResult> releaseAsync() {
        CompletableFuture<ReleaseResult> result = state == StoreHold.State.RELEASED
                ? keeper.release(this, 0)
                : CompletableFuture.completedFuture(ReleaseResult.LOST);
        return result.thenApply(this::ended).whenComplete((told, never) -> report(told));
    }

    /** Ends the lease here; a periodic look tells the engine. Without a call, because there may be no room for one. */
    private ReleaseResult oweRelease() {
        synchronized (this) {
            if (released) {
                return ReleaseResult.ALREADY_RELEASED;
            }
            released = true;
            owed = true;
            state = state == StoreHold.State.HELD ? StoreHold.State.RELEASED : state;
        }
        return ReleaseResult.UNKNOWN;
    }

    /** Returns whether a release found no room on its stack, or the caller none to receive the lease. */
    boolean owesRelease() {
        return owed || (abandoned && state == StoreHold.State.HELD);
    }

    /** Completes that release. */
    void completeRelease() {
        if (owed) {
            owed = false;
            releaseAsync();
        } else if (abandoned) {
            giveBack();
        }
    }

    /** Ends the lease here, at once; false: it was released before. */
    private boolean end() {
        boolean held = isHeld();
        synchronized (this) {
            if (released) {
                return false;
            }
            released = true;
            if (held && state == StoreHold.State.HELD) {
                state = StoreHold.State.RELEASED;
            }
        }
        if (state == StoreHold.State.HELD) {
            // Its end has passed, and has not been told yet.
            if (ownEndSeen) {
                ownEndPassed();
            } else {
                keeper.lose(hold, endReason());
                lost(endReason());
            }
        }
        return true;
    }

    private ReleaseResult ended(ReleaseResult result) {
        if (state == StoreHold.State.RELEASED) {
            // A loss was told to the engine when it came.
            keeper.over();
        }
        LockLostException late = result == ReleaseResult.LOST && state == StoreHold.State.RELEASED
                ? lossBecause("the store did not know of it any more when it was released")
                : null;
        List<Consumer<LockLostException>> told;
        synchronized (this) {
            told = callbacks;
            callbacks = List.of();
            loss = late == null ? loss : late;
        }
        if (acquisition != 0) {
            if (late != null) {
                told.forEach(callback -> tell(callback, late));
                tellLoss(late);
            }
            LockListener listener = keeper.context().listener();
            listener.onReleased(new LockListener.Released(acquisition, request, fencingToken(), heldFor(), result));
        }
        return result;
    }

    @Override
    public void giveBack() {
        received = false;
        closeAsync();
    }

    @Override
    public long keepMillis() {
        Duration keep = AcquireSpec.bounded(minHold).minus(heldFor());
        return !received || keep.isNegative() ? 0 : keep.plusNanos(999_999).toMillis();
    }

    @Override
    public void close() {
        report(release());
    }

    /** Says what needs a person in the outcome of a release. A loss was logged when it was told. */
    private void report(ReleaseResult result) {
        if (result == ReleaseResult.UNKNOWN) {
            log.warn("Release of lock '{}' was not answered; it is repeated in the background", name());
        }
    }

    @Override
    public boolean isReleased() {
        return state == StoreHold.State.RELEASED;
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
        int last = callbacks.lastIndexOf(callback);
        if (last >= 0) {
            callbacks.remove(last);
        }
    }

    @Override
    public boolean lost(String reason) {
        List<Consumer<LockLostException>> told;
        LockLostException lost = lossBecause(reason);
        boolean received;
        synchronized (this) {
            // A caller who receives the lease from now on tells the listeners of the loss.
            received = acquisition != 0;
            if (state != StoreHold.State.HELD) {
                return false;
            }
            state = StoreHold.State.LOST;
            loss = lost;
            told = callbacks;
            callbacks = List.of();
        }
        keeper.over();
        told.forEach(callback -> tell(callback, lost));
        if (received) {
            tellLoss(lost);
        }
        return true;
    }

    private void tell(Consumer<LockLostException> callback, LockLostException lost) {
        keeper.context().callbacks().execute(() -> {
            try {
                callback.accept(lost);
            } catch (Throwable failure) {
                log.error("The callback for the loss of lock '{}' failed", lost.name(), failure);
            }
        });
    }

    private void tellLoss(LockLostException lost) {
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
        keeper.context().listener().onLost(new LockListener.Lost(acquisition, request, lost));
    }

    private LockLostException lossBecause(String reason) {
        return new LockLostException(name(), fencingToken(), heldFor(), reason);
    }

    private Duration heldFor() {
        return Duration.ofNanos(Math.max(0, keeper.context().nanoTime() - grantedNanos));
    }

    @Override
    public String toString() {
        return "LockLease[" + name() + ", " + mode() + ", token " + fencingToken() + ", " + state + "]";
    }
}
