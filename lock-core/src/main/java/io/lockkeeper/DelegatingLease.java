/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A lease that stands for others, and is held while it was not released and all of them are held. */
class DelegatingLease implements LockManager.Lease {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    private static final List<ReleaseResult> FROM_GOOD_TO_BAD =
            List.of(ReleaseResult.RELEASED, ReleaseResult.ALREADY_RELEASED, ReleaseResult.UNKNOWN, ReleaseResult.LOST);

    final LockRequest request;
    private volatile boolean released;

    DelegatingLease(LockRequest request) {
        this.request = request;
    }

    /** Returns the leases for which this one stands; here none. */
    List<LockManager.Lease> leases() {
        return List.of();
    }

    @Override
    public boolean isReleased() {
        return released;
    }

    /** Ends this lease, but none of the others; false: it was released before. */
    synchronized boolean end() {
        boolean first = !released;
        released = true;
        return first;
    }

    private boolean all(Predicate<LockLease> condition) {
        for (LockLease lease : leases()) {
            if (!condition.test(lease)) {
                return false;
            }
        }
        return true;
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
    public long fencingToken(String name) {
        for (LockLease lease : leases()) {
            if (lease.names().contains(name)) {
                return lease.fencingToken(name);
            }
        }
        throw new IllegalArgumentException("This lease holds " + names() + ", not '" + name + "'");
    }

    @Override
    public boolean isHeld() {
        return !released && all(LockLease::isHeld);
    }

    @Override
    public Duration remaining() {
        return released
                ? Duration.ZERO
                : leases().stream()
                        .map(LockLease::remaining)
                        .min(Comparator.naturalOrder())
                        .orElse(LockManager.FOREVER);
    }

    @Override
    public void ensureHeld() {
        leases().forEach(LockLease::ensureHeld);
        if (released) {
            throw new LockLostException(name(), fencingToken(), Duration.ZERO, "it was released");
        }
    }

    @Override
    public boolean verify() {
        return !released && all(LockLease::verify);
    }

    @Override
    public boolean extend(Duration leaseTime) {
        return !released && all(lease -> lease.extend(leaseTime));
    }

    @Override
    public boolean extend(Duration leaseTime, Duration minHoldTime) {
        return !released && all(lease -> lease.extend(leaseTime, minHoldTime));
    }

    @Override
    public void onLost(Consumer<LockLostException> callback) {
        Consumer<LockLostException> called = calledOnce(callback);
        leases().forEach(lease -> lease.onLost(called));
    }

    final Consumer<LockLostException> calledOnce(Consumer<LockLostException> callback) {
        Objects.requireNonNull(callback, "callback must not be null");
        if (leases().size() == 1) {
            return callback;
        }
        AtomicBoolean called = new AtomicBoolean();
        return lost -> {
            if (called.compareAndSet(false, true)) {
                callback.accept(lost);
            }
        };
    }

    @Override
    public ReleaseResult release() {
        if (!end()) {
            return ReleaseResult.ALREADY_RELEASED;
        }
        ReleaseResult result = ReleaseResult.RELEASED;
        for (LockLease lease : leases()) {
            result = worse(result, lease.release());
        }
        return result;
    }

    @Override
    public void close() {
        if (release() == ReleaseResult.UNKNOWN) {
            logUnanswered(names());
        }
    }

    static void logUnanswered(List<String> names) {
        log.warn("Release of lock '{}' was not answered; it is repeated in the background", String.join("', '", names));
    }

    static ReleaseResult worse(ReleaseResult one, ReleaseResult other) {
        return FROM_GOOD_TO_BAD.indexOf(one) < FROM_GOOD_TO_BAD.indexOf(other) ? other : one;
    }

    @Override
    public String toString() {
        return leases().size() == 1 ? leases().get(0).toString() : "LockLease" + names();
    }
}
