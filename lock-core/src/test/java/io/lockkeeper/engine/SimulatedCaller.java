/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockException;
import io.lockkeeper.LockManager;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One caller of an instance: asks for a lock, holds it, and ends it. Everything it sees goes to the checker. */
final class SimulatedCaller {

    private static final long BLOCK_NANOS = 5_000_000_000L;
    private static final Duration WITHOUT_LIMIT = Duration.ofSeconds(Long.MAX_VALUE);

    /** Where a caller stands. */
    enum State {
        ASKS,
        HOLDS,
        LOST,
        RELEASES,
        RELEASED,
        REFUSED,
        CANCELLED
    }

    final SimulationPlan.Ask ask;
    final SimulatedInstance instance;
    private final long planEnd;
    private final VirtualTime time;
    private final SimulationChecker checker;
    private final CompletableFuture<LockManager.Lease> result = new CompletableFuture<>();
    State state = State.ASKS;
    long askedAt;
    long begunAt;
    long endedAt;
    long deadSince = -1;
    int lossesTold;
    boolean extended;
    private boolean releaseDue;
    private boolean downgrading;

    @Nullable
    ManagedLease lease;

    SimulatedCaller(
            SimulationPlan.Ask ask,
            SimulatedInstance instance,
            long planEnd,
            VirtualTime time,
            SimulationChecker checker) {
        this.ask = ask;
        this.instance = instance;
        this.planEnd = planEnd;
        this.time = time;
        this.checker = checker;
    }

    boolean holds() {
        return state == State.HOLDS;
    }

    boolean reads() {
        ManagedLease held = lease;
        return (held == null ? ask.mode() : held.mode()) == LockMode.READ;
    }

    boolean believes() {
        ManagedLease held = lease;
        return state == State.HOLDS && held != null && held.isHeld();
    }

    void begin() {
        askedAt = time.now();
        checker.asks(this);
        result.whenComplete(this::answered);
        instance.manager.acquireAsync(request(), false, result, lease -> lease, false);
    }

    private LockRequest request() {
        Duration wait =
                ask.waitMillis() == SimulationPlan.WITHOUT_LIMIT ? WITHOUT_LIMIT : Duration.ofMillis(ask.waitMillis());
        LockRequest request = LockRequest.of(ask.names()).withMode(ask.mode()).withWaitTime(wait);
        if (ask.fixedMillis() > 0) {
            request = request.withLeaseTime(Duration.ofMillis(ask.fixedMillis()));
        }
        if (ask.minHoldMillis() > 0) {
            request = request.withMinHoldTime(Duration.ofMillis(ask.minHoldMillis()));
        }
        return ask.retries() > 0 ? request.withRetries(ask.retries(), Duration.ofMillis(40)) : request;
    }

    private void answered(LockManager.@Nullable Lease given, @Nullable Throwable failure) {
        endedAt = time.now();
        if (given != null) {
            holdsNow((ManagedLease) given);
        } else if (result.isCancelled()) {
            state = State.CANCELLED;
        } else {
            state = State.REFUSED;
            checker.refused(this, failure);
            if (!(failure instanceof LockException)) {
                checker.fault(this + " was refused by " + failure);
            }
        }
    }

    private void holdsNow(ManagedLease given) {
        lease = given;
        state = State.HOLDS;
        begunAt = time.now();
        given.onLost(loss -> lost());
        checker.begins(this, given);
        long hold = ask.holdMicros() == SimulationPlan.WITHOUT_LIMIT ? planEnd - time.now() : ask.holdMicros() * 1_000;
        instance.after(2_000 + Math.max(0, hold), this::release);
    }

    private void lost() {
        lossesTold++;
        checker.lost(this);
        if (state == State.HOLDS) {
            state = State.LOST;
            endedAt = time.now();
        }
        if (ask.onLoss() == SimulationPlan.OnLoss.BLOCK) {
            instance.block(BLOCK_NANOS);
        } else if (ask.onLoss() == SimulationPlan.OnLoss.THROW) {
            throw new AssertionError(SimulationLog.PLANNED);
        }
    }

    void cancel() {
        if (state == State.ASKS) {
            result.cancel(false);
        }
    }

    void release() {
        ManagedLease held = lease;
        if (downgrading) {
            releaseDue = true;
        } else if (held != null && (state == State.HOLDS || state == State.LOST)) {
            State before = state;
            checker.ends(this);
            state = State.RELEASES;
            endedAt = time.now();
            held.closeAsync()
                    .whenComplete((told, never) -> instance.manager.execute(() -> {
                        state = State.RELEASED;
                        checker.released(this, before, endedAt);
                    }));
        }
    }

    void extend(long millis) {
        ManagedLease held = lease;
        if (state == State.HOLDS && held != null) {
            extended = true;
            held.extendAsync(Duration.ofMillis(millis));
        }
    }

    void downgrade() {
        ManagedLease held = lease;
        if (state == State.HOLDS && held != null && !reads() && ask.names().size() == 1 && !downgrading) {
            downgrading = true;
            held.downgrade().whenComplete((told, never) -> {
                downgrading = false;
                if (releaseDue) {
                    release();
                }
            });
        }
    }

    @Override
    public String toString() {
        return "caller " + ask.id() + " of instance " + instance.number + " (" + ask.mode() + " of " + ask.names()
                + ", " + state + (lease == null ? "" : ", token " + lease.fencingToken()) + ")";
    }
}
