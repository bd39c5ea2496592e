package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.ReleaseResult;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** One level of a thread's hold: the lease that all levels share, but for its end. */
final class LevelLease implements LockLease {

    private final ThreadHold hold;
    private final LockMode mode;
    private final List<String> names;
    private final boolean outermost;
    private final AtomicBoolean released = new AtomicBoolean();

    LevelLease(ThreadHold hold, LockMode mode, List<String> names, boolean outermost) {
        this.hold = hold;
        this.mode = mode;
        this.names = names;
        this.outermost = outermost;
    }

    /** Returns the number of the acquisition that was made for this level; 0: the thread held the lock before. */
    long acquisition() {
        return outermost ? hold.lease().acquisition() : 0;
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
    }

    @Override
    public ReleaseResult release() {
        return released.compareAndSet(false, true) ? hold.leave(mode) : ReleaseResult.ALREADY_RELEASED;
    }

    @Override
    public void close() {
        if (released.compareAndSet(false, true)) {
            hold.leaveAndLog(mode);
        }
    }

    @Override
    public String toString() {
        return hold.lease().toString();
    }
}
