/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.SimulatedOwner;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One caller of an instance: asks for a lock, holds it, and ends it. Everything it sees goes to the checker. */
final class SimulatedCaller {

    private static final long BLOCK_NANOS = 5_000_000_000L;
    private static final long WAKE_NANOS = 20_000;
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
    private final SimulatedOwner owner;
    private final List<LockLease> levels = new ArrayList<>();
    private CompletableFuture<? extends LockLease> result = new CompletableFuture<>();

    /** The request for which a thread waits; null: the caller goes on meanwhile. */
    private @Nullable PendingRequest blocked;

    State state = State.ASKS;
    long askedAt;
    long begunAt;
    long endedAt;
    long deadSince = -1;
    long keptUntil;
    int lossesTold;
    boolean extended;
    private final List<LockLease> releaseDue = new ArrayList<>();

    /** The level that a downgrade ended, and the one that took its place. */
    private @Nullable LockLease writer;

    private @Nullable LockLease reader;
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
        this.owner = new SimulatedOwner(instance.manager);
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
        if (ask.blocks()) {
            block(request());
        } else {
            result = owner.enter(request());
            result.handle(this::answered);
        }
    }

    /** Waits as a thread does. */
    private void block(LockRequest request) {
        PendingRequest asked = instance.locks.asked(request, false, null, 0);
        blocked = asked;
        instance.locks.begin(asked, asked.patienceNanos);
        asked.handle((given, failure) -> instance.after(WAKE_NANOS, () -> wake(request, asked, given, failure)));
        awaitEnd(asked);
    }

    private void awaitEnd(PendingRequest asked) {
        long end = asked.endNanos();
        if (asked.isDone() || end == ClockReading.NEVER) {
            return;
        }
        instance.schedule(
                () -> {
                    if (!asked.isDone()) {
                        instance.locks.executor.timeOut(asked);
                        awaitEnd(asked);
                    }
                },
                end - instance.nanoTime());
    }

    private void wake(
            LockRequest request, PendingRequest asked, @Nullable ManagedLease given, @Nullable Throwable failure) {
        if (state != State.ASKS) {
            return;
        }
        if (given == null) {
            answered(null, instance.manager.refused(asked, failure));
        } else {
            given.received(asked.number, asked.asked, asked.tries, asked.path);
            answered(owner.enter(request, given), null);
        }
    }

    private void interrupt(PendingRequest asked) {
        instance.locks.withdraw(asked);
        if (!asked.isCompletedExceptionally()) {
            asked.join().giveBack();
        }
        state = State.CANCELLED;
        endedAt = time.now();
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

    private @Nullable Void answered(@Nullable LockLease level, @Nullable Throwable failure) {
        endedAt = time.now();
        if (level != null) {
            levels.add(level);
            holdsNow((ManagedLease) owner.inside(level));
        } else if (result.isCancelled()) {
            state = State.CANCELLED;
        } else {
            state = State.REFUSED;
            checker.refused(this, failure);
            if (!(failure instanceof LockException)) {
                checker.fault(this + " was refused by " + failure);
            }
        }
        return null;
    }

    private void holdsNow(ManagedLease given) {
        lease = given;
        state = State.HOLDS;
        begunAt = time.now();
        given.onLost(loss -> lost());
        checker.begins(this, given);
        if (ask.forgetsToUnlock() && owner.lock(levels.get(0), ask.mode())) {
            levels.remove(0);
            return;
        }
        long hold = ask.holdMicros() == SimulationPlan.WITHOUT_LIMIT ? planEnd - time.now() : ask.holdMicros() * 1_000;
        instance.after(2_000 + Math.max(0, hold), () -> release(levels.get(0)));
    }

    private void lost() {
        lossesTold++;
        checker.lost(this);
        if (state == State.HOLDS) {
            state = State.LOST;
            endedAt = time.now();
            if (ask.forgetsToUnlock()) {
                instance.after(ask.holdMicros() * 1_000 + 1, this::lockAnew);
            }
        }
        if (ask.onLoss() == SimulationPlan.OnLoss.BLOCK) {
            instance.block(BLOCK_NANOS);
        } else if (ask.onLoss() == SimulationPlan.OnLoss.THROW) {
            throw new AssertionError(SimulationLog.PLANNED);
        }
    }

    void cancel() {
        PendingRequest asked = blocked;
        if (state == State.ASKS && asked != null) {
            interrupt(asked);
        } else if (state == State.ASKS) {
            result.cancel(false);
        }
    }

    /** Leaves a level; with the last one the lock is released. */
    private void release(LockLease entered) {
        ManagedLease held = lease;
        LockLease reads = reader;
        LockLease level = entered == writer && reads != null ? reads : entered;
        if (downgrading) {
            releaseDue.add(level);
            return;
        }
        if (held == null || !levels.remove(level)) {
            return;
        }
        if (!levels.isEmpty()) {
            boolean before = held.isHeld();
            owner.leave(level);
            if (held.isHeld() != before) {
                checker.fault("the end of an inner level ended the hold: " + this);
            }
            return;
        }
        State before = state;
        checker.ends(this);
        state = State.RELEASES;
        endedAt = time.now();
        owner.leave(level)
                .whenComplete((told, never) -> instance.manager.execute(() -> {
                    state = State.RELEASED;
                    checker.released(this, before, endedAt);
                }));
    }

    /** Enters the lock again, for a while. */
    void reenter(long leaseMillis, long holdMicros) {
        ManagedLease held = lease;
        if (state != State.HOLDS || held == null || downgrading) {
            return;
        }
        LockRequest again = LockRequest.of(ask.names()).withMode(held.mode()).withWaitTime(Duration.ZERO);
        boolean longer = false;
        if (leaseMillis > 0) {
            again = again.withLeaseTime(Duration.ofMillis(leaseMillis));
            longer = held.isFixed() && held.remaining().toMillis() < leaseMillis;
        }
        extended |= longer;
        boolean atOnce = !longer && held.isHeld();
        CompletableFuture<? extends LockLease> entering = enter(again);
        if (atOnce && held.isHeld() && (!entering.isDone() || entering.isCompletedExceptionally())) {
            checker.fault("a lock that is held is not entered again at once: " + this);
        }
        entering.whenComplete((level, failure) -> reentered(level, failure, holdMicros));
    }

    /** What ended as asked and was never unlocked does not block its owner. */
    private void lockAnew() {
        ManagedLease ended = lease;
        boolean asAsked = ended != null && ended.hold().endReason().equals(StoreHold.TIME_OVER);
        enter(LockRequest.of(ask.names()).withMode(ask.mode()).withWaitTime(Duration.ZERO))
                .whenComplete((level, failure) -> {
                    if (level != null) {
                        owner.leave(level);
                    } else if (asAsked && failure instanceof LockLostException) {
                        checker.fault("a lease that ended as asked blocks its owner: " + this);
                    }
                });
    }

    private CompletableFuture<? extends LockLease> enter(LockRequest again) {
        try {
            return owner.enter(again);
        } catch (LockLostException lost) {
            return CompletableFuture.failedFuture(lost);
        }
    }

    private void reentered(@Nullable LockLease level, @Nullable Throwable failure, long holdMicros) {
        if (level == null) {
            checker.notReentered(this, failure);
        } else if (owner.inside(level) != lease) {
            // The hold had ended, and the lock was free.
            owner.leave(level);
        } else if (levels.isEmpty() || downgrading) {
            owner.leave(level);
        } else {
            levels.add(level);
            instance.after(holdMicros * 1_000, () -> release(level));
        }
    }

    void extend(long millis) {
        ManagedLease held = lease;
        if (state == State.HOLDS && held != null) {
            extended = true;
            held.extendAsync(Duration.ofMillis(millis), held.request.withoutWaiting());
        }
    }

    void downgrade() {
        ManagedLease held = lease;
        if (state == State.HOLDS && held != null && !reads() && ask.names().size() == 1 && !downgrading) {
            CompletableFuture<? extends LockLease> reading =
                    enter(LockRequest.of(ask.names()).withMode(LockMode.READ));
            if (!reading.isDone() || reading.isCompletedExceptionally() || levels.size() != 1) {
                reading.thenAccept(owner::leave);
                return;
            }
            LockLease level = reading.join();
            owner.inside(level);
            LockLease before = levels.set(0, level);
            writer = before;
            reader = level;
            downgrading = true;
            owner.leave(before).whenComplete((told, never) -> {
                downgrading = false;
                instance.after(0, this::releaseWhatIsDue);
            });
        }
    }

    private void releaseWhatIsDue() {
        List<LockLease> due = List.copyOf(releaseDue);
        releaseDue.clear();
        due.forEach(this::release);
    }

    @Override
    public String toString() {
        return "caller " + ask.id() + " of instance " + instance.number + " (" + ask.mode() + " of " + ask.names()
                + ", " + state + (lease == null ? "" : ", token " + lease.fencingToken()) + ")";
    }
}
