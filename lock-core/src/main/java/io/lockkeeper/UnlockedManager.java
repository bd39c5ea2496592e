/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/** Locking switched off: any number of callers have every lock at once, and there is none to see. */
final class UnlockedManager implements LockManager, LockInspector {

    private static final AtomicLong TOKENS = new AtomicLong();

    @Override
    public boolean excludes() {
        return false;
    }

    /** Tokens are strictly increasing within this process, and close to what a store would give. */
    @Override
    public Lease acquire(LockRequest request, boolean nested, boolean interruptibly, long waitedNanos) {
        return new UnlockedLease(
                request, TOKENS.updateAndGet(last -> Math.max(last + 1, System.currentTimeMillis() * 1_000)));
    }

    @Override
    public <T> void acquireAsync(
            LockRequest request,
            boolean nested,
            CompletableFuture<T> result,
            Function<Lease, T> received,
            boolean atOnce,
            long waitedNanos) {
        result.complete(received.apply(acquire(request, nested, false, waitedNanos)));
    }

    @Override
    public void execute(Runnable task) {
        task.run();
    }

    @Override
    public boolean isLocked(String name, LockMode mode) {
        return false;
    }

    @Override
    public LockInspector inspector() {
        return this;
    }

    @Override
    public Optional<LockStatus> status(String name) {
        return Optional.empty();
    }

    @Override
    public List<LockStatus> heldHere() {
        return List.of();
    }

    @Override
    public List<LockStatus> find(String namePattern, int limit) {
        return List.of();
    }

    @Override
    public boolean forceRelease(String name) {
        return false;
    }

    @Override
    public LockListener listener() {
        return new LockListener() {};
    }

    @Override
    public void close() {
        // There is nothing to release, and no caller is refused.
    }

    @Override
    public String toString() {
        return "without locking";
    }

    /** A lease of nothing: held until it is released. */
    static final class UnlockedLease extends DelegatingLease {

        private final long token;

        UnlockedLease(LockRequest request, long token) {
            super(request);
            this.token = token;
        }

        @Override
        public long fencingToken(String name) {
            return names().contains(name) ? token : super.fencingToken(name);
        }

        @Override
        public boolean extend(Duration leaseTime) {
            return request.withLeaseTime(leaseTime).leaseTime() != null && isHeld();
        }

        @Override
        public boolean extend(Duration leaseTime, Duration minHoldTime) {
            return request.withMinHoldTime(minHoldTime).minHoldTime() != null && extend(leaseTime);
        }
    }
}
