package io.lockkeeper;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** A lease that belongs to no thread, whose release only hands it to surrounding work. */
final class KeptLease implements LockLease {

    private final LockLease lease;
    private final Consumer<LockLease> keeper;
    private final AtomicBoolean released = new AtomicBoolean();

    KeptLease(LockLease lease, Consumer<LockLease> keeper) {
        this.lease = lease;
        this.keeper = keeper;
    }

    @Override
    public String name() {
        return lease.name();
    }

    @Override
    public List<String> names() {
        return lease.names();
    }

    @Override
    public LockMode mode() {
        return lease.mode();
    }

    @Override
    public long fencingToken() {
        return lease.fencingToken();
    }

    @Override
    public long fencingToken(String name) {
        return lease.fencingToken(name);
    }

    @Override
    public boolean isHeld() {
        return !released.get() && lease.isHeld();
    }

    @Override
    public Duration remaining() {
        return released.get() ? Duration.ZERO : lease.remaining();
    }

    @Override
    public void ensureHeld() {
        if (released.get()) {
            throw new LockLostException(
                    name(), fencingToken(), Duration.ZERO, "it was released, and ends with the work around it");
        }
        lease.ensureHeld();
    }

    @Override
    public boolean verify() {
        return !released.get() && lease.verify();
    }

    @Override
    public boolean extend(Duration leaseTime) {
        return !released.get() && lease.extend(leaseTime);
    }

    @Override
    public void onLost(Consumer<LockLostException> callback) {
        lease.onLost(callback);
    }

    @Override
    public ReleaseResult release() {
        if (!released.compareAndSet(false, true)) {
            return ReleaseResult.ALREADY_RELEASED;
        }
        ReleaseResult result = lease.isHeld() ? ReleaseResult.RELEASED : ReleaseResult.LOST;
        keeper.accept(lease);
        return result;
    }

    @Override
    public void close() {
        release();
    }

    @Override
    public String toString() {
        return lease.toString();
    }
}
