/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockLostException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What callers, the timer, the store and another instance do to the local lock of one name, and what must hold then.
 */
final class LocalLockScenario {

    private static final LockRequest REQUEST = EngineFixture.REQUEST;
    private static final AcquireSpec SPEC = new AcquireSpec(ClaimMode.EXCLUSIVE, 30_000, false, 1);
    private static final StoredInstance INSTANCE = StoredInstance.ofThisProcess(ModelStore.CLIENT, "test", "");
    private static final AcquireCommand OTHER =
            new AcquireCommand(List.of("stock"), "OTHER0000000-1", ClaimMode.EXCLUSIVE, 30_000, true, 1);
    private static final Scheduler NO_TIME = new Scheduler() {
        @Override
        public long nanoTime() {
            return 0;
        }

        @Override
        public long currentTimeMillis() {
            return 0;
        }

        @Override
        public Timeout schedule(Runnable task, long delayNanos) {
            return () -> {};
        }
    };

    /** A caller, and when it came and was let in. */
    private static final class Caller implements Consumer<LockLostException> {
        private final PendingRequest request;
        private final int came;
        private final AtomicBoolean releases = new AtomicBoolean();
        private volatile int entered = Integer.MAX_VALUE;
        private volatile boolean disturbed;
        private volatile boolean told;

        Caller(boolean waits, int came) {
            LockRequest asked = waits ? REQUEST : REQUEST.withWaitTime(Duration.ZERO);
            this.request = new PendingRequest(
                    came, asked, new ClockReading(0, 0), false, new CompletableFuture<>(), Duration.ofSeconds(2));
            this.came = came;
        }

        @Nullable
        ManagedLease lease() {
            return request.isDone() && !request.isCompletedExceptionally() ? request.join() : null;
        }

        boolean holds() {
            ManagedLease lease = lease();
            return lease != null && !releases.get() && lease.isHeld();
        }

        @Override
        public void accept(LockLostException loss) {
            told = true;
        }
    }

    private final ModelStore store = new ModelStore();
    private final EngineContext context = new EngineContext(
            NO_TIME, Runnable::run, Runnable::run, Runnable::run, new Events(), (origin, bound) -> origin, () -> {});
    private final LeaseRegistry registry = new LeaseRegistry();
    private final PendingAnswers calls = new PendingAnswers(context, () -> {}, PendingRequest.WITHOUT_LIMIT);
    private final LeasePolicy policy =
            new LeasePolicy(5_000, 1, false, (origin, bound) -> origin, this::nextAttempt, null);
    private final AtomicInteger attempts = new AtomicInteger();
    private final ActionExecutor executor = new ActionExecutor(
            store,
            new StoreTraits(Duration.ZERO, Duration.ZERO, Duration.ZERO, true),
            context,
            calls,
            registry,
            new LockInspection(store, registry, context, INSTANCE, hold -> {}, Duration.ZERO),
            new Surroundings());
    private final LeaseRenewer renewer = new LeaseRenewer(store, context, registry, executor::lose);
    private final LeaseOperations leases =
            new LeaseOperations(store, context, calls, policy, registry, executor, renewer);
    private final AtomicReference<@Nullable LocalLock> lock = new AtomicReference<>();
    private final List<Caller> callers = new CopyOnWriteArrayList<>();
    private final AtomicInteger order = new AtomicInteger();
    private volatile @Nullable String violation;

    void enter(boolean waits) {
        Caller caller = new Caller(waits, order.incrementAndGet());
        callers.add(caller);
        caller.request.whenComplete((lease, failure) -> {
            if (lease != null) {
                lease.onLost(caller);
                checkExclusion();
            }
        });
        LocalLock known;
        do {
            // Where the lock takes no callers any more, another one takes this caller in.
            known = current();
            registry.put(caller.request, known);
        } while (executor.on(known, 0, (entered, now) -> entered.enter(caller.request, now)) == null);
        caller.entered = order.incrementAndGet();
    }

    private LocalLock current() {
        LocalLock known = lock.get();
        if (known != null) {
            return known;
        }
        LocalLock made = new LocalLock(REQUEST.names(), SPEC, policy);
        return lock.compareAndSet(null, made) ? made : current();
    }

    private AcquireSpec.AttemptId nextAttempt() {
        return new AcquireSpec.AttemptId(ModelStore.CLIENT, attempts.incrementAndGet());
    }

    /** What the manager does for its local locks. */
    private final class Surroundings implements ActionExecutor.Owner {

        @Override
        public ManagedLease lease(LockAction.Grant grant) {
            return leases.lease(grant);
        }

        @Override
        public void watch(StoreHold hold) {}

        @Override
        public void retry(PendingRequest request) {}

        @Override
        public void retired(LocalLock retired) {
            lock.compareAndSet(retired, null);
        }
    }

    void leave(int index) {
        withCaller(index, caller -> {
            if (caller.request.cancel(false)) {
                executor.leave(caller.request);
            }
        });
    }

    void expire(int index) {
        withCaller(index, caller -> {
            if (!caller.request.isDone()) {
                executor.timeOut(caller.request);
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

    /** The hold of whoever has the lock ends in the store, and the renewer hears of it. */
    void lose() {
        for (Caller caller : callers) {
            ManagedLease lease = caller.lease();
            if (lease != null && !lease.hold().isOver()) {
                store.forget(lease.hold().attempt());
                executor.lose(lease.hold(), "the store says that it ended");
                return;
            }
        }
    }

    /** The oldest grant under way arrives; false: there is none. */
    boolean deliver() {
        Grant grant = store.nextMessage();
        if (grant != null) {
            LocalLock waiting = registry.lockOf(grant.attempt());
            if (waiting != null) {
                executor.on(waiting, (known, now) -> known.granted(grant, now));
            } else {
                executor.cancelGrant(grant.name(), grant.attempt());
            }
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
                ManagedLease first = one.lease();
                ManagedLease second = another.lease();
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
        callers.forEach(caller -> check(caller.request.isDone(), "a caller never got an answer"));
        check(violation == null, "exclusion");
        checkOrder();
        check(store.knowsNobody(), "the store keeps what nobody has");
        check(registry.attempts() == 0, "an ended attempt is still tracked");
        check(registry.pending().size() == 0, "an answered caller is still pending");
        check(lock.get() == null, "an empty local lock stays");
    }

    private void deliverAll() {
        while (deliver()) {
            // One after the other.
        }
    }

    private void checkNobodyIsForgotten() {
        boolean held = callers.stream().anyMatch(Caller::holds);
        boolean queued = store.isHeldByOthers() && store.hasPlaceForUs();
        boolean wanted = callers.stream().anyMatch(caller -> !caller.request.isDone());
        check(wanted || !store.hasPlaceForUs(), "a place is kept for nobody");
        for (Caller caller : callers) {
            check(caller.request.isDone() || held || queued, "a caller waits for nobody");
            ManagedLease lease = caller.lease();
            if (lease != null && !caller.releases.get()) {
                check(lease.isHeld() || caller.told, "a holder was not told of its loss");
                check(!lease.isHeld() || store.isOwner(lease.hold().attempt()), "a holder is not the owner");
            }
        }
    }

    private void checkOrder() {
        for (Caller one : callers) {
            for (Caller later : callers) {
                ManagedLease first = one.lease();
                ManagedLease second = later.lease();
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
