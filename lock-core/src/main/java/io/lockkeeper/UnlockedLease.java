/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** A lease of nothing: held until it is released. */
final class UnlockedLease implements LockManager.Lease {

    private static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);

    private final LockRequest request;
    private final long token;
    private final AtomicBoolean released = new AtomicBoolean();

    UnlockedLease(LockRequest request, long token) {
        this.request = request;
        this.token = token;
    }

    @Override
    public long acquisition() {
        return 0;
    }

    @Override
    public boolean isFixed() {
        return false;
    }

    @Override
    public boolean hasEndedAsAsked() {
        return false;
    }

    @Override
    public boolean isReleased() {
        return released.get();
    }

    @Override
    public CompletableFuture<ReleaseResult> closeAsync() {
        return CompletableFuture.completedFuture(release());
    }

    @Override
    public CompletableFuture<Boolean> extendAsync(Duration leaseTime) {
        return CompletableFuture.completedFuture(extend(leaseTime));
    }

    @Override
    public CompletableFuture<?> downgrade() {
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public void forget(Consumer<LockLostException> callback) {
        // Nothing is kept that could be called.
    }

    @Override
    public void giveBack() {
        release();
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
        return token;
    }

    @Override
    public long fencingToken(String name) {
        if (!request.names().contains(name)) {
            throw new IllegalArgumentException("This lease holds " + names() + ", not '" + name + "'");
        }
        return token;
    }

    @Override
    public boolean isHeld() {
        return !released.get();
    }

    @Override
    public Duration remaining() {
        return isHeld() ? FOREVER : Duration.ZERO;
    }

    @Override
    public void ensureHeld() {
        if (!isHeld()) {
            throw new LockLostException(name(), token, Duration.ZERO, "it was released");
        }
    }

    @Override
    public boolean verify() {
        return isHeld();
    }

    @Override
    public boolean extend(Duration leaseTime) {
        return request.withLeaseTime(leaseTime).leaseTime() != null && isHeld();
    }

    @Override
    public boolean extend(Duration leaseTime, Duration minHoldTime) {
        return request.withMinHoldTime(minHoldTime).minHoldTime() != null && extend(leaseTime);
    }

    @Override
    public void onLost(Consumer<LockLostException> callback) {
        // Nothing can be lost; the argument is checked as everywhere.
        Objects.requireNonNull(callback, "callback must not be null");
    }

    @Override
    public ReleaseResult release() {
        return released.compareAndSet(false, true) ? ReleaseResult.RELEASED : ReleaseResult.ALREADY_RELEASED;
    }

    @Override
    public void close() {
        release();
    }
}
