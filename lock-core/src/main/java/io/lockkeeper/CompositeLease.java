/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** Leases of several holds as one: held while all are held. */
class CompositeLease<L extends LockLease> implements LockLease {

    private final List<String> names;
    private final LockMode mode;
    private final List<L> leases;

    CompositeLease(LockRequest request, List<L> leases) {
        this.names = request.names();
        this.mode = request.mode();
        this.leases = leases;
    }

    /** Returns the leases that this one is made of. */
    List<L> leases() {
        return leases;
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
        return mode;
    }

    @Override
    public long fencingToken() {
        return fencingToken(name());
    }

    @Override
    public long fencingToken(String name) {
        return leases.stream()
                .filter(lease -> lease.names().contains(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("This lease holds " + names + ", not '" + name + "'"))
                .fencingToken(name);
    }

    @Override
    public boolean isHeld() {
        return leases.stream().allMatch(LockLease::isHeld);
    }

    @Override
    public Duration remaining() {
        return leases.stream()
                .map(LockLease::remaining)
                .min(Comparator.naturalOrder())
                .orElseThrow();
    }

    @Override
    public void ensureHeld() {
        leases.forEach(LockLease::ensureHeld);
    }

    @Override
    public boolean verify() {
        return leases.stream().allMatch(LockLease::verify);
    }

    @Override
    public boolean extend(Duration leaseTime) {
        return leases.stream().allMatch(lease -> lease.extend(leaseTime));
    }

    @Override
    public boolean extend(Duration leaseTime, Duration minHoldTime) {
        return leases.stream().allMatch(lease -> lease.extend(leaseTime, minHoldTime));
    }

    @Override
    public void onLost(Consumer<LockLostException> callback) {
        AtomicBoolean told = new AtomicBoolean();
        leases.forEach(lease -> lease.onLost(lost -> {
            if (told.compareAndSet(false, true)) {
                callback.accept(lost);
            }
        }));
    }

    @Override
    public ReleaseResult release() {
        return worst(leases.stream().map(LockLease::release).toList());
    }

    static ReleaseResult worst(List<ReleaseResult> results) {
        return Collections.max(results, Comparator.comparingInt(CompositeLease::badness));
    }

    private static int badness(ReleaseResult result) {
        return switch (result) {
            case RELEASED -> 0;
            case ALREADY_RELEASED -> 1;
            case UNKNOWN -> 2;
            case LOST -> 3;
        };
    }

    @Override
    public void close() {
        leases.forEach(LockLease::close);
    }

    @Override
    public String toString() {
        return "LockLease" + leases;
    }
}
