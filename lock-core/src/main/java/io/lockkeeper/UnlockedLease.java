/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/** A lease of nothing: held until it is released. */
final class UnlockedLease implements LockEngine.Level {

    private static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);

    private static final AtomicLong TOKENS = new AtomicLong();

    private final LockRequest request;
    private final long token = nextToken();
    private final AtomicBoolean released = new AtomicBoolean();

    UnlockedLease(LockRequest request) {
        this.request = request;
    }

    /** Strictly increasing within this process, and close to what a store would give. */
    private static long nextToken() {
        return TOKENS.updateAndGet(last -> Math.max(last + 1, System.currentTimeMillis() * 1_000));
    }

    @Override
    public Runnable enterThread() {
        return () -> {};
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
