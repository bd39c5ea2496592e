/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One level of a hold: the lease that all levels share, but for its end. */
final class NestedLease implements EnteredLease {

    private final ReentrantHold hold;
    private final ReentrantHolds holds;
    private final LockMode mode;
    private final List<String> names;
    private final boolean body;
    private final boolean outermost;
    private final AtomicBoolean released = new AtomicBoolean();
    private final List<Consumer<LockLostException>> callbacks = new ArrayList<>(0);

    /** Takes out the owner that this level belongs to; null: it belongs to none. */
    private final AtomicReference<@Nullable Runnable> owner = new AtomicReference<>();

    /** Makes a level that the hold counts already, and no owner. */
    NestedLease(
            ReentrantHold hold,
            ReentrantHolds holds,
            LockRequest request,
            List<String> names,
            boolean body,
            boolean outermost) {
        this.hold = hold;
        this.holds = holds;
        this.mode = request.mode();
        this.names = names;
        this.body = body;
        this.outermost = outermost;
    }

    @Override
    public long acquisition() {
        return outermost ? hold.lease().acquisition() : 0;
    }

    ReentrantHold hold() {
        return hold;
    }

    boolean isLiveIn(ReentrantHolds known) {
        return holds == known && !released.get();
    }

    @Override
    public Runnable enter(ReentrantHolds.Owner inside) {
        OwnedHold mine = inside.part(hold);
        mine.attach(mode);
        return () -> mine.detach(mode);
    }

    @Override
    public Runnable enterThread() {
        return holds.enterThread(this);
    }

    /** Makes this a level of an owner, which is inside until the level ends. */
    void bindTo(ReentrantHolds.Owner bound) {
        owner.set(enter(bound));
    }

    /** Ends what belongs to this level alone. */
    private void leave() {
        forgetCallbacks();
        leaveOwner();
    }

    private void leaveOwner() {
        Runnable leave = owner.getAndSet(null);
        if (leave != null) {
            leave.run();
        }
    }

    @Override
    public String name() {
        return names.get(0);
    }

    @Override
    public List<String> names() {
        return names;
    }

    @Override
    public LockMode mode() {
        return mode == LockMode.READ ? mode : hold.lease().mode();
    }

    @Override
    public long fencingToken() {
        return hold.lease().fencingToken(name());
    }

    @Override
    public long fencingToken(String name) {
        return hold.lease().fencingToken(name);
    }

    @Override
    public boolean isHeld() {
        return !released.get() && hold.lease().isHeld();
    }

    @Override
    public Duration remaining() {
        return released.get() ? Duration.ZERO : hold.lease().remaining();
    }

    @Override
    public void ensureHeld() {
        if (released.get()) {
            throw new LockLostException(name(), fencingToken(), Duration.ZERO, "this level of it was released");
        }
        hold.lease().ensureHeld();
    }

    @Override
    public boolean verify() {
        return !released.get() && hold.lease().verify();
    }

    @Override
    public boolean extend(Duration leaseTime) {
        return !released.get() && hold.lease().extend(leaseTime);
    }

    @Override
    public boolean extend(Duration leaseTime, Duration minHoldTime) {
        return !released.get() && hold.lease().extend(leaseTime, minHoldTime);
    }

    @Override
    public void onLost(Consumer<LockLostException> callback) {
        hold.lease().onLost(callback);
        synchronized (callbacks) {
            if (!released.get()) {
                callbacks.add(callback);
                return;
            }
        }
        hold.lease().forget(callback);
    }

    /** Otherwise each level would leave its callbacks behind, in a hold that goes on. */
    private void forgetCallbacks() {
        synchronized (callbacks) {
            callbacks.forEach(hold.lease()::forget);
            callbacks.clear();
        }
    }

    @Override
    public ReleaseResult release() {
        if (!released.compareAndSet(false, true)) {
            return ReleaseResult.ALREADY_RELEASED;
        }
        ReleaseResult result;
        try {
            leave();
        } finally {
            result = hold.leave(mode, body);
        }
        return result;
    }

    @Override
    public CompletableFuture<?> closeAsync() {
        if (!released.compareAndSet(false, true)) {
            return CompletableFuture.completedFuture(ReleaseResult.ALREADY_RELEASED);
        }
        CompletableFuture<?> result;
        try {
            leave();
        } finally {
            result = hold.leaveAsync(mode, body);
        }
        return result;
    }

    @Override
    public void close() {
        if (release() == ReleaseResult.UNKNOWN) {
            ReentrantHolds.logUnanswered(name());
        }
    }

    @Override
    public String toString() {
        return hold.lease().toString();
    }
}
