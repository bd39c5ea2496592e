/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.LockManager;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The local locks of one instance. Each name has one that plain requests share; a request that cannot share (fair, for
 * writing, for several names, with a fixed lease or a minimum hold) has one of its own.
 */
final class LocalLockManager implements ActionExecutor.Owner, StoreListener {

    private static final Logger log = LoggerFactory.getLogger(LockTemplate.class);

    /** A listener may hear several engines, so numbers are unique in the process. */
    private static final AtomicLong NUMBERS = new AtomicLong();

    private static final int MOST_NAMED = 10;

    /** Command timeouts that closing takes after its wait: for commands under way, a late copy, and its release. */
    private static final int LAST_COMMANDS = 3;

    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    final LockStore store;
    final LockManager.Settings settings;
    final EngineContext context;
    final ActionExecutor executor;
    final LockInspection inspection;
    final StoreTraits traits;

    /** The answers for callers who do not wait on their thread. */
    final PendingAnswers answers;

    private final PendingAnswers calls;
    final LeaseRegistry registry = new LeaseRegistry();
    private final LeaseRenewer renewer;
    private final LeaseOperations leases;
    final LeasePolicy policy;
    private final AcquireSpec exclusive;
    private final AcquireSpec reading;
    private final Map<String, LocalLock> plain = new ConcurrentHashMap<>();
    private final Map<String, LocalLock> readers = new ConcurrentHashMap<>();

    private final AtomicLong attempts = new AtomicLong();

    private final Queue<CompletableFuture<?>> placesGone = new ConcurrentLinkedQueue<>();

    /** The future of the close under way; null: the engine is not closing. */
    private final AtomicReference<@Nullable CompletableFuture<@Nullable Void>> closing = new AtomicReference<>();

    private final AtomicBoolean looks = new AtomicBoolean();
    private volatile boolean refusesAll;

    LocalLockManager(LockStore store, LockManager.Settings settings, EngineContext context, StoredInstance instance) {
        this.store = store;
        this.settings = settings;
        this.context = context;
        // Messages cannot concern this engine before its first request.
        this.traits = open(instance);
        // A store may need two commands for an answer.
        Duration patience = traits.commandTimeout().multipliedBy(2).plusSeconds(1);
        this.calls = new PendingAnswers(context, this::armLookAfterAnError, patience);
        this.answers = new PendingAnswers(context, this::armLookAfterAnError, PendingRequest.WITHOUT_LIMIT);
        this.inspection = new LockInspection(store, registry, context, instance, this::loseByForce, patience);
        this.executor = new ActionExecutor(store, traits, context, calls, registry, inspection, this);
        this.renewer = new LeaseRenewer(store, context, registry, executor::lose);
        this.policy = new LeasePolicy(
                traits.pollInterval().toMillis(),
                settings.maxPassTime().toNanos(),
                traits.claims(),
                context.random(),
                () -> new AcquireSpec.AttemptId(instance.clientId(), attempts.incrementAndGet()),
                traits.queues() ? null : settings.leaseTime());
        this.exclusive =
                new AcquireSpec(ClaimMode.EXCLUSIVE, leaseMillis(), false, traits.queues() ? settings.maxPasses() : 0);
        this.reading = AcquireSpec.renewed(ClaimMode.READ, leaseMillis());
        this.leases = new LeaseOperations(store, context, calls, policy, registry, executor, renewer);
    }

    /** The store of a test may be a mock, which returns null. */
    private StoreTraits open(StoredInstance instance) {
        StoreTraits opened = store.open(instance, settings.leaseTime(), this);
        if (opened == null) {
            throw new IllegalStateException(
                    "The lock store " + store + " does not open, and returns null: a mock cannot"
                            + " keep locks. Mock LockTemplate instead, or use MemoryLockStore");
        }
        return opened;
    }

    // ---- requests ----

    /** Makes a request, of which listeners hear; without a result in hand, the caller waits on its thread. */
    PendingRequest asked(LockRequest asked, boolean nested, @Nullable CompletableFuture<?> result, long waitedNanos) {
        LockRequest request = store.permitsWaiting() ? asked : asked.withoutWaiting();
        long number = NUMBERS.incrementAndGet();
        context.listener().onAsked(new LockListener.Asked(number, request));
        ClockReading begun = context.now().minusNanos(waitedNanos);
        return new PendingRequest(number, request, begun, nested, result, traits.commandTimeout());
    }

    /** Begins to acquire a lock; the thread waits for the given time, 0: not at all. */
    void begin(PendingRequest request, long waitNanos) {
        armLook();
        calls.begin();
        try {
            if (refuses(request)) {
                request.completeExceptionally(closing());
            } else {
                enter(request, waitNanos);
            }
        } catch (Throwable failure) {
            withdraw(request);
            throw failure;
        } finally {
            calls.end();
        }
    }

    private void enter(PendingRequest request, long waitNanos) {
        boolean reads = request.request.mode() == LockMode.READ;
        if (request.waits() && !reads) {
            // Readers that join a local hold do not ask the store, which would queue them behind this waiter.
            for (String name : request.request.names()) {
                LocalLock reading = readers.get(name);
                StoreHold hold = reading == null ? null : reading.hold();
                if (hold != null) {
                    hold.pinned = true;
                }
            }
        }
        boolean entered;
        do {
            LocalLock lock = request.isPlain()
                    ? reads ? shared(request.request, readers, reading) : shared(request.request, plain, exclusive)
                    : new LocalLock(
                            AcquireSpec.inGlobalOrder(request.request.names()),
                            AcquireSpec.single(request.request, leaseMillis()),
                            policy);
            registry.put(request, lock);
            // The wait counts from the call: listeners may have taken some of the time.
            long left = Math.max(0, Math.min(waitNanos, request.leftNanos(context.now())));
            entered = executor.on(lock, left, (known, now) -> known.enter(request, now)) != null;
            if (!entered) {
                // It accepts no callers any more.
                retired(lock);
            }
        } while (!entered);
        if (refuses(request)) {
            refuseAll();
        }
    }

    private LocalLock shared(LockRequest request, Map<String, LocalLock> locks, AcquireSpec spec) {
        LocalLock lock =
                locks.computeIfAbsent(request.names().get(0), name -> new LocalLock(request.names(), spec, policy));
        StoreHold hold = lock.hold();
        if (hold != null && hold.isExpired(context.now())) {
            // An expired hold stays lost: the answer to a renewal under way must not revive it.
            executor.lose(hold, hold.endReason());
        }
        return lock;
    }

    private long leaseMillis() {
        return settings.leaseTime().toMillis();
    }

    /** Cancels a request; a lease that it has, or gets later, is given back. */
    CompletableFuture<?> withdraw(PendingRequest request) {
        return request.cancel(false) ? executor.leave(request) : PendingAnswers.DONE;
    }

    // ---- callbacks of the executor ----

    @Override
    public ManagedLease lease(LockAction.Grant grant) {
        return leases.lease(grant);
    }

    @Override
    public void watch(StoreHold hold) {
        renewer.watch(hold);
    }

    @Override
    public void retry(PendingRequest request) {
        Duration delay = LockManager.bounded(Objects.requireNonNull(request.request.retryDelay()));
        long nanos = delay.toNanos() / 2 + context.random().applyAsLong(0, delay.toNanos());
        Runnable again = () -> calls.untilDone(() -> retryNow(request));
        context.scheduler().schedule(() -> calls.run(context.background(), again), nanos);
    }

    private void retryNow(PendingRequest request) {
        if (!request.isDone()) {
            request.retry(context.now());
            enter(request, 0);
        }
    }

    @Override
    public void retired(LocalLock lock) {
        plain.remove(lock.name(), lock);
        if (lock.spec.isShared()) {
            readers.remove(lock.name(), lock);
        }
    }

    // ---- the store's messages ----

    @Override
    public void granted(Grant grant) {
        if (message(grant.attempt(), (known, now) -> known.granted(grant, now)) == null) {
            executor.cancelGrant(grant.name(), grant.attempt());
        }
    }

    @Override
    public void revoked(String attempt) {
        LocalLock lock = message(attempt, (known, now) -> known.revoked(attempt, now));
        StoreHold hold = lock == null ? null : lock.hold();
        if (hold != null && hold.attempt().equals(attempt)) {
            context.background().execute(() -> calls.untilDone(() -> loseByForce(hold)));
        }
    }

    private void loseByForce(StoreHold hold) {
        executor.lose(hold, "it was taken away by force");
    }

    @Override
    public void freeIn(String attempt, long remainingMillis) {
        message(attempt, (known, now) -> known.freeIn(attempt, remainingMillis, now));
    }

    @Override
    public void awaited(String attempt) {
        message(attempt, (known, now) -> known.contended(attempt));
    }

    @Override
    public void channelRestored() {
        registry.locks().forEach(lock -> message(lock, LocalLock::messagesMissed));
    }

    /** Delivers a message to the lock of an attempt, and returns the lock; null: the attempt has ended. */
    private @Nullable LocalLock message(String attempt, ActionExecutor.Event event) {
        LocalLock lock = registry.lockOf(attempt);
        if (lock != null) {
            message(lock, event);
        }
        return lock;
    }

    private void message(LocalLock lock, ActionExecutor.Event event) {
        Executor where = StackRoom.isEnough() ? Runnable::run : context.background();
        where.execute(() -> executor.on(lock, event));
    }

    // ---- the periodic look ----

    void armLook() {
        if (!looks.get() && looks.compareAndSet(false, true)) {
            try {
                context.scheduler().schedule(this::look, LOOK_NANOS);
            } catch (Throwable failure) {
                looks.set(false);
                throw failure;
            }
        }
    }

    /** Continues whatever an error or a full stack has interrupted. */
    private void look() {
        looks.set(false);
        try {
            ClockReading now = context.now();
            if (registry.attempts() > 0) {
                renewer.lookUnlessSet();
            }
            calls.look();
            registry.forEachPending((request, lock) -> isLeft(request, lock, now), (request, lock) -> {
                if (request.isWithdrawn() || request.abandoned) {
                    context.background().execute(() -> withdraw(request));
                } else if (request.isDue(now)) {
                    context.background().execute(() -> timeOut(request));
                }
                executor.setTimer(lock);
                executor.endIfBroken(lock);
            });
            if (registry.breaks) {
                registry.locks().forEach(executor::endIfBroken);
            }
            answers.look();
            registry.reportForgotten();
            if (registry.owedReleases.any) {
                completeReleases();
            }
        } catch (Throwable error) {
            // If it were thrown, the timer would repeat this look besides the next one.
            EngineContext.quietly(log, "An error interrupted the periodic look, and the next one goes on", null, error);
        } finally {
            int left = calls.size() + registry.pending().size() + answers.size() + registry.attempts();
            if (left > 0 || registry.owedReleases.any) {
                armLookAfterAnError();
            }
        }
    }

    /** Checks again: another thread may have given the request a moment more. */
    private void timeOut(PendingRequest request) {
        if (request.isDue(context.now())) {
            executor.timeOut(request);
        }
    }

    /** Returns whether an error may have interrupted a step for a caller. */
    private static boolean isLeft(PendingRequest request, LocalLock lock, ClockReading now) {
        return request.isWithdrawn() || request.abandoned || lock.broken || request.isDue(now) || !lock.isTimerSet();
    }

    private void completeReleases() {
        ManagedLease.OwedReleases owed = registry.owedReleases;
        owed.any = false;
        ManagedLease taken = null;
        try {
            while ((taken = owed.take()) != null) {
                completeRelease(taken);
            }
            registry.held().stream().filter(ManagedLease::owesRelease).forEach(this::completeRelease);
        } catch (Throwable error) {
            owed.any = true;
            if (taken != null) {
                owed.add(taken);
            }
            throw error;
        }
    }

    private void completeRelease(ManagedLease lease) {
        context.background().execute(() -> lease.closeAsync(true));
    }

    /** Tries twice, so that one error does not end the looks. */
    private void armLookAfterAnError() {
        try {
            armLook();
        } catch (Throwable error) {
            armLook();
        }
    }

    // ---- the end ----

    private boolean refuses(PendingRequest request) {
        return refusesAll || (closing.get() != null && !request.nested && !isOfHolder(request));
    }

    /** Returns whether the waiting thread has leases, which it may only be able to end when it goes on. */
    private boolean isOfHolder(PendingRequest request) {
        return request.isOfThread() && registry.held().stream().anyMatch(lease -> lease.thread.equals(request.thread));
    }

    private void refuseAll() {
        registry.forEachPending((request, lock) -> refuses(request), (request, lock) -> {
            // Even if it was refused before, it may have entered another local lock since.
            request.completeExceptionally(closing());
            placesGone.add(executor.leave(request));
        });
    }

    private static StoreException closing() {
        return new StoreException("this LockTemplate is closed", null);
    }

    /**
     * Refuses callers who hold nothing, waits for the holders as the settings say, refuses all and releases what is
     * left.
     *
     * @param waiting the thread that waits for the result, and not for leases of its own; null: none waits
     * @param timer ends the steps that take too long
     * @return completed when the store has nothing to do any more; the same for each call, until one ends with an error
     *     before all has begun that completes it: the next call begins anew then
     */
    CompletableFuture<?> close(@Nullable Thread waiting, Scheduler timer) {
        CompletableFuture<@Nullable Void> closed = new CompletableFuture<>();
        CompletableFuture<@Nullable Void> before = closing.compareAndExchange(null, closed);
        try {
            if (before == null) {
                refuseAll();
            }
            if (waiting != null) {
                registry.excludeLeasesOf(waiting);
            }
            if (before == null) {
                beginToEnd(closed, timer);
            }
        } catch (Throwable error) {
            if (before == null) {
                closing.set(null);
                closed.completeExceptionally(error);
            }
            throw error;
        }
        return before == null ? closed : before;
    }

    private void beginToEnd(CompletableFuture<@Nullable Void> closed, Scheduler timer) {
        int held = registry.leases.get();
        if (held > 0) {
            log.info(
                    "Waiting up to {} ms until locks are released that are held: {}",
                    settings.shutdownWait().toMillis(),
                    held);
        }
        atMost(settings.shutdownWait(), timer, registry.drained())
                .thenCompose(waited -> atMost(traits.commandTimeout().multipliedBy(LAST_COMMANDS), timer, end(timer)))
                // If the process was suspended, the time may be up although nothing was released yet.
                .thenCompose(ended -> atMost(traits.commandTimeout(), timer, inBackground(this::releaseHeld)))
                .whenComplete((done, failure) -> closed.complete(null));
    }

    /** Releases all holds and those that may still come. Each step is limited to one command timeout. */
    private CompletableFuture<?> end(Scheduler timer) {
        Duration once = traits.commandTimeout();
        long begun = context.nanoTime();
        return atMost(once, timer, inBackground(this::refuseNested))
                // Attempts under way may still get locks that no caller receives: these are released first.
                .thenCompose(gone -> atMost(once, timer, calls.none()))
                .thenCompose(answered -> atMost(once, timer, inBackground(this::releaseHeld)))
                // A late answer may have granted one more.
                .thenCompose(released -> atMost(once, timer, calls.none()))
                .thenCompose(
                        none -> timer.atMost(once.toNanos() - (context.nanoTime() - begun), executor.releases(true)))
                // A store that has not answered since is most likely gone. But for cancelled attempts closing waits on,
                // so that a late command of theirs is followed by its release or comes too late.
                .thenCompose(done -> executor.releases(calls.heard().nanos() - begun > 0));
    }

    private CompletableFuture<?> refuseNested() {
        List<ManagedLease> left = registry.held();
        if (!left.isEmpty()) {
            log.warn(
                    "Released although their holders have not ended, so that others may have them now: {} held, {}."
                            + " Closing waits up to {} ms, and not for what the thread holds that closes",
                    left.size(),
                    left.stream()
                            .limit(MOST_NAMED)
                            .map(lease -> "'" + lease.name() + "' (fencing token " + lease.fencingToken() + ")")
                            .collect(Collectors.joining(", ")),
                    settings.shutdownWait().toMillis());
        }
        refusesAll = true;
        refuseAll();
        return CompletableFuture.allOf(placesGone.toArray(CompletableFuture<?>[]::new));
    }

    private CompletableFuture<?> releaseHeld() {
        return CompletableFuture.allOf(
                registry.held().stream().map(ManagedLease::closeAsync).toArray(CompletableFuture<?>[]::new));
    }

    /** Runs a step on a background thread, which a listener may block without blocking the next step. */
    private CompletableFuture<?> inBackground(Supplier<CompletableFuture<?>> step) {
        return CompletableFuture.supplyAsync(step, context.background()).thenCompose(done -> done);
    }

    private static CompletableFuture<?> atMost(Duration time, Scheduler timer, CompletableFuture<?> awaited) {
        return time.isZero() ? PendingAnswers.DONE : timer.atMost(time.toNanos(), awaited);
    }

    @Override
    public String toString() {
        return "held=" + registry.leases.get() + ", names="
                + (plain.size()
                        + readers.size()
                        + executor.gated()
                        + registry.pending().size()
                        + answers.size());
    }
}
