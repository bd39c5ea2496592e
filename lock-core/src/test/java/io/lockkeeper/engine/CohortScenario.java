/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockLostException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.ReleaseCommand;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What callers, the timer, the store and another instance do to the cohort of one name, and what must hold then. */
final class CohortScenario {

    private static final LockRequest REQUEST = LockRequest.of("stock");
    private static final Claim CLAIM = Claim.renewed(List.of("stock"), ClaimMode.EXCLUSIVE, 30_000, 1);
    private static final AcquireCommand OTHER =
            new AcquireCommand(List.of("stock"), "OTHER0000000-1", ClaimMode.EXCLUSIVE, 30_000, true, 1);
    private static final TimeSource NO_TIME = new TimeSource() {
        @Override
        public long nanoTime() {
            return 0;
        }

        @Override
        public long currentTimeMillis() {
            return 0;
        }
    };

    /** A caller, and when it came and was let in. */
    private static final class Caller implements Consumer<LockLostException> {
        private final Waiter waiter;
        private final int came;
        private final AtomicBoolean releases = new AtomicBoolean();
        private volatile int entered = Integer.MAX_VALUE;
        private volatile boolean disturbed;
        private volatile boolean told;

        Caller(boolean waits, int came) {
            this.waiter = new Waiter(REQUEST, waits, false, NO_TIME.now());
            this.came = came;
        }

        @Nullable
        HeldLease lease() {
            CompletableFuture<HeldLease> outcome = waiter.outcome;
            return outcome.isDone() && !outcome.isCompletedExceptionally() ? outcome.join() : null;
        }

        boolean holds() {
            HeldLease lease = lease();
            return lease != null && !releases.get() && lease.isHeld();
        }

        @Override
        public void accept(LockLostException loss) {
            told = true;
        }
    }

    private final ModelStore store = new ModelStore();
    private final Leases leases =
            new Leases(store, NO_TIME, (task, delay) -> () -> {}, CohortFixture.settings(new Events()), Runnable::run);
    private final StorePort port = new StorePort(
            store,
            CohortFixture.INSTANCE,
            (task, delay) -> () -> {},
            Runnable::run,
            leases,
            new Instances(store, CohortFixture.INSTANCE));
    private final CohortTimes times = new CohortTimes(NO_TIME, 5_000, 1, false);
    private final AtomicReference<@Nullable Cohort> cohort = new AtomicReference<>();
    private final List<Caller> callers = new CopyOnWriteArrayList<>();
    private final AtomicInteger order = new AtomicInteger();
    private volatile @Nullable String violation;

    void enter(boolean waits) {
        Caller caller = new Caller(waits, order.incrementAndGet());
        callers.add(caller);
        caller.waiter.outcome.whenComplete((lease, failure) -> {
            if (lease != null) {
                lease.onLost(caller);
                checkExclusion();
            }
        });
        while (!current().enter(caller.waiter)) {
            // The cohort retired meanwhile: another one takes the caller in.
        }
        caller.entered = order.incrementAndGet();
    }

    private Cohort current() {
        Cohort known = cohort.get();
        if (known != null) {
            return known;
        }
        Cohort made =
                new Cohort(CLAIM, port, times, Runnable::run, () -> {}, retired -> cohort.compareAndSet(retired, null));
        return cohort.compareAndSet(null, made) ? made : current();
    }

    void leave(int index) {
        withCaller(index, caller -> {
            if (caller.waiter.outcome.cancel(false)) {
                Cohort known = cohort.get();
                if (known != null) {
                    known.leave(caller.waiter, Runnable::run, new CompletableFuture<>());
                }
            }
        });
    }

    void expire(int index) {
        withCaller(index, caller -> {
            Cohort known = cohort.get();
            if (known != null && !caller.waiter.outcome.isDone()) {
                known.expire(caller.waiter, new CompletableFuture<>());
            }
        });
    }

    private void withCaller(int index, Consumer<Caller> action) {
        if (index < callers.size() && callers.get(index).entered != Integer.MAX_VALUE) {
            callers.get(index).disturbed = true;
            action.accept(callers.get(index));
        }
    }

    /** Whoever holds the lock releases it; false: nobody does. */
    boolean release() {
        for (Caller caller : callers) {
            if (caller.holds() && caller.releases.compareAndSet(false, true)) {
                Objects.requireNonNull(caller.lease()).release();
                return true;
            }
        }
        return false;
    }

    /** The hold of whoever has the lock ends in the store, and the watchdog hears of it. */
    void lose() {
        for (Caller caller : callers) {
            HeldLease lease = caller.lease();
            if (lease != null && !lease.tenure().isOver()) {
                store.forget(lease.tenure().attempt);
                leases.lose(lease.tenure(), "the store says that it ended");
                return;
            }
        }
    }

    /** The oldest grant under way arrives; false: there is none. */
    boolean deliver() {
        Grant grant = store.nextMessage();
        if (grant != null) {
            port.granted(grant);
        }
        return grant != null;
    }

    void otherComes() {
        store.acquire(OTHER);
    }

    void otherGoes() {
        store.release(new ReleaseCommand(List.of("stock"), OTHER.attempt(), 0, 0));
    }

    /** Two leases that are held at the same time; nothing that was not held once is held later. */
    private void checkExclusion() {
        for (Caller one : callers) {
            for (Caller another : callers) {
                HeldLease first = one.lease();
                HeldLease second = another.lease();
                if (one != another && first != null && second != null && first.isHeld() && second.isHeld()) {
                    violation = "two hold: " + first + " and " + second;
                }
            }
        }
    }

    /** Checks what must hold when nothing is under way any more. */
    void checkAtTheEnd() {
        deliverAll();
        checkExclusion();
        check(violation == null, "exclusion");
        checkNobodyIsForgotten();
        otherGoes();
        do {
            store.grantNext();
            deliverAll();
        } while (release());
        callers.forEach(caller -> check(caller.waiter.outcome.isDone(), "a caller never got an answer"));
        check(violation == null, "exclusion");
        checkOrder();
        check(store.knowsNobody(), "the store keeps what nobody has");
        check(port.liveAttempts() == 0, "an ended attempt is still tracked");
        check(cohort.get() == null, "an empty cohort stays");
    }

    private void deliverAll() {
        while (deliver()) {
            // One after the other.
        }
    }

    private void checkNobodyIsForgotten() {
        boolean held = callers.stream().anyMatch(Caller::holds);
        boolean queued = store.isHeldByOthers() && store.hasPlaceForUs();
        boolean wanted = callers.stream().anyMatch(caller -> !caller.waiter.outcome.isDone());
        check(wanted || !store.hasPlaceForUs(), "a place is kept for nobody");
        for (Caller caller : callers) {
            check(caller.waiter.outcome.isDone() || held || queued, "a caller waits for nobody");
            HeldLease lease = caller.lease();
            if (lease != null && !caller.releases.get()) {
                check(lease.isHeld() || caller.told, "a holder was not told of its loss");
                check(!lease.isHeld() || store.isOwner(lease.tenure().attempt), "a holder is not the owner");
            }
        }
    }

    private void checkOrder() {
        for (Caller one : callers) {
            for (Caller later : callers) {
                HeldLease first = one.lease();
                HeldLease second = later.lease();
                if (one.entered < later.came && first != null && second != null && !one.disturbed) {
                    check(first.fencingToken() < second.fencingToken(), "a later caller was served before");
                }
            }
        }
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }
}
