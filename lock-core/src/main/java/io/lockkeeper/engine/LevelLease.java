/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.ReleaseResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One level of a hold: the lease that all levels share, but for its end. */
final class LevelLease extends Recovery.Task implements EnteredLevel {

    private final Hold hold;
    private final ThreadHolds holder;
    private final LockMode mode;
    private final List<String> names;
    private final boolean outermost;
    private final Recovery recovery;
    private final AtomicBoolean released = new AtomicBoolean();
    private final List<Consumer<LockLostException>> callbacks = new ArrayList<>(0);

    /** Takes out the thread that this level belongs to; null: it belongs to none. */
    private final AtomicReference<@Nullable Runnable> owner = new AtomicReference<>();

    /** Makes a level that the hold counts already, and no thread. */
    LevelLease(Hold hold, ThreadHolds holder, LockMode mode, List<String> names, boolean outermost) {
        this.hold = hold;
        this.holder = holder;
        this.mode = mode;
        this.names = names;
        this.outermost = outermost;
        this.recovery = hold.lease().recovery();
    }

    @Override
    public long acquisition() {
        return outermost ? hold.lease().events().acquisition() : 0;
    }

    Hold hold() {
        return hold;
    }

    boolean isLiveIn(ThreadHolds engine) {
        return holder == engine && !released.get();
    }

    @Override
    public Runnable enterThread() {
        ThreadHold mine = holder.mine(hold);
        mine.attach(mode);
        return () -> mine.detach(mode);
    }

    /** Makes this a level of the thread, which is inside until the level ends. */
    void bindToThread() {
        owner.set(enterThread());
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

    /** Whoever enters often would leave its callbacks behind, in a hold that goes on. */
    private void forgetCallbacks() {
        synchronized (callbacks) {
            callbacks.forEach(hold.lease()::forget);
            callbacks.clear();
        }
    }

    @Override
    public ReleaseResult release() {
        if (!StackRoom.isEnough()) {
            // Without a call: a thread that has room ends the level.
            synchronized (recovery) {
                if (!noted) {
                    noted = true;
                    next = recovery.first;
                    recovery.first = this;
                }
            }
            return ReleaseResult.UNKNOWN;
        }
        if (!released.compareAndSet(false, true)) {
            return ReleaseResult.ALREADY_RELEASED;
        }
        ReleaseResult result;
        try {
            leave();
        } finally {
            result = hold.leave(mode);
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
            result = hold.leaveAsync(mode);
        }
        return result;
    }

    @Override
    public void close() {
        if (!StackRoom.isEnough()) {
            // Without a call: a thread that has room ends the level.
            synchronized (recovery) {
                if (!noted) {
                    noted = true;
                    next = recovery.first;
                    recovery.first = this;
                }
            }
            return;
        }
        if (released.compareAndSet(false, true)) {
            try {
                leave();
            } finally {
                hold.leaveAndLog(mode);
            }
        }
    }

    @Override
    void recover() {
        closeAsync();
    }

    @Override
    public String toString() {
        return hold.lease().toString();
    }
}
