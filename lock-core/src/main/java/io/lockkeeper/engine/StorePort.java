/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockInstance;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Has done what cohorts decide: commands to the store, polls, and answers to callers. Brings grants to their cohorts. */
final class StorePort implements CohortPort, StoreListener {

    /** How long a refusal may wait for the name of the holder. */
    private static final long NAME_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** The latest moment after the end of a wait at which its caller is told the name of the holder. */
    private static final long LAST_WORD_MILLIS = 80;

    private final LockStore store;
    private final Scheduler scheduler;
    private final Executor background;
    private final LeaseKeeper keeper;
    private final Recovery recovery;
    private final Instances instances;
    private final StoredInstance instance;
    private final Map<String, Cohort> cohorts = new ConcurrentHashMap<>();
    private final AtomicLong numbers = new AtomicLong();

    /** When the store answered last; before the first answer, when nobody can have asked yet. */
    private volatile long heardNanos;

    /** Known when the store is open, which is before the first command. */
    private volatile StoreTraits traits = new StoreTraits(Duration.ZERO, Duration.ZERO, Duration.ZERO, true);

    StorePort(
            LockStore store,
            StoredInstance instance,
            Scheduler scheduler,
            Executor background,
            LeaseKeeper keeper,
            Instances instances) {
        this.store = store;
        this.instance = instance;
        this.scheduler = scheduler;
        this.background = background;
        this.keeper = keeper;
        this.recovery = keeper.recovery();
        this.instances = instances;
        this.heardNanos = keeper.clock().nanoTime() - 1;
    }

    /** Opens the store for this client. */
    StoreTraits open(Duration leaseTime) {
        traits = store.open(instance, leaseTime, this);
        return traits;
    }

    @Override
    public Recovery recovery() {
        return recovery;
    }

    @Override
    public long heardNanos() {
        return heardNanos;
    }

    private void heard(@Nullable Object reply) {
        if (reply != null) {
            heardNanos = keeper.clock().nanoTime();
        }
    }

    @Override
    public Attempt nextAttempt() {
        String number = Long.toString(numbers.incrementAndGet(), 36);
        String padded = "0".repeat(Math.max(0, 8 - number.length())) + number;
        return new Attempt(instance.clientId() + padded, keeper.clock().now());
    }

    @Override
    public void track(String attempt, Cohort cohort) {
        cohorts.put(attempt, cohort);
    }

    @Override
    public void untrack(String attempt) {
        cohorts.remove(attempt);
    }

    @Override
    public HeldLease lease(LockRequest request, Tenure tenure) {
        return keeper.lease(request, tenure);
    }

    @Override
    public void ask(Cohort cohort, Attempt attempt, boolean queue) {
        Moment sent = keeper.clock().now();
        recovery.ask(
                () -> store.acquire(cohort.claim().command(attempt.id, queue, attempt.passes)),
                patienceMillis(),
                (reply, failure) -> {
                    heard(reply);
                    tell(cohort, attempt, sent, reply, failure);
                });
    }

    @Override
    public CompletableFuture<Boolean> handOver(Tenure ended, long lastToken, Attempt next) {
        Moment sent = keeper.clock().now();
        Moment lastArrival = lastArrival();
        HandOverCommand command =
                new HandOverCommand(ended.attempt, lastToken, ended.claim.command(next.id, true, next.passes), false);
        CompletableFuture<Boolean> wasHeld = new CompletableFuture<>();
        recovery.ask(() -> store.handOver(command), patienceMillis(), (reply, failure) -> {
            heard(reply);
            tell(ended.cohort, next, sent, reply == null ? null : reply.next(), failure);
            if (reply == null) {
                ReleaseCommand giveUp = new ReleaseCommand(ended.claim.names(), ended.attempt, lastToken, 0);
                releaseUntil(giveUp, ended.deadline(), null);
                wasHeld.completeExceptionally(storeFailure(failure));
                return;
            }
            if (!reply.wasHeld()) {
                releaseAgain(ended.claim, ended.attempt, lastArrival);
            }
            wasHeld.complete(reply.wasHeld());
        });
        return wasHeld;
    }

    /** Returns after how long an answer is overdue: a store may ask its server twice. */
    private long patienceMillis() {
        return 2 * traits.commandTimeout().toMillis() + 1_000;
    }

    @Override
    public CompletableFuture<Boolean> release(Tenure ended, long lastToken, long keepMillis) {
        Claim claim = ended.claim;
        ReleaseCommand command = new ReleaseCommand(claim.names(), ended.attempt, lastToken, keepMillis);
        Moment lastArrival = lastArrival();
        CompletableFuture<Boolean> wasHeld = new CompletableFuture<>();
        recovery.ask(() -> store.release(command), patienceMillis(), (answer, failure) -> {
            heard(answer);
            if (answer == null) {
                Moment end = keeper.clock().now().plusMillis(claim.leaseMillis());
                retryRelease(command, end, null);
                wasHeld.completeExceptionally(storeFailure(failure));
                return;
            }
            if (answer == ReleaseReply.NOT_HELD) {
                releaseAgain(claim, ended.attempt, lastArrival);
            }
            wasHeld.complete(answer != ReleaseReply.NOT_HELD);
        });
        return wasHeld;
    }

    /** Returns the last moment at which the store may run what was sent so far. */
    private Moment lastArrival() {
        return keeper.clock().now().plusMillis(traits.commandTimeout().toMillis());
    }

    /** The store remembers nothing of the attempt: a poll that is still on its way would get the lock for a whole lease. */
    private void releaseAgain(Claim claim, String attempt, Moment lastArrival) {
        ReleaseCommand again = new ReleaseCommand(claim.names(), attempt, 0, 0);
        releaseAt(lastArrival, again, lastArrival.plusMillis(claim.leaseMillis()));
    }

    private void releaseAt(Moment time, ReleaseCommand command, Moment end) {
        scheduler.schedule(
                () -> background.execute(() -> releaseUntil(command, end, null)), time.nanosFrom(keeper.clock()));
    }

    @Override
    public CompletableFuture<?> abandon(Cohort cohort, Attempt attempt) {
        // A command of the attempt may still be on its way until the store refuses it as late.
        Moment lastArrival = lastArrival();
        Moment end = lastArrival.plusMillis(cohort.claim().leaseMillis());
        return releaseUntil(new ReleaseCommand(cohort.claim().names(), attempt.id, 0, 0), end, lastArrival);
    }

    /** Releases once for certain, and again after the last moment at which something may arrive; until a given end. */
    private CompletableFuture<?> releaseUntil(ReleaseCommand command, Moment end, @Nullable Moment lastArrival) {
        CompletableFuture<@Nullable Void> told = new CompletableFuture<>();
        recovery.ask(() -> store.release(command), patienceMillis(), (reply, failure) -> {
            heard(reply);
            if (reply == null) {
                retryRelease(command, end, lastArrival);
            } else if (lastArrival != null) {
                releaseAt(lastArrival, command, end);
            }
            told.complete(null);
        });
        return told;
    }

    private void retryRelease(ReleaseCommand command, Moment end, @Nullable Moment lastArrival) {
        if (!end.hasPassed(keeper.clock())) {
            scheduler.schedule(
                    () -> background.execute(() -> releaseUntil(command, end, lastArrival)),
                    TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextLong(100, 300)));
        }
    }

    @Override
    public void pollLater(Cohort cohort, Attempt attempt, long remainingMillis) {
        long due = Math.min(traits.pollInterval().toMillis(), Math.max(0, remainingMillis));
        long jitter = ThreadLocalRandom.current().nextLong(5, 25 + due / 20);
        attempt.pollAt(scheduler.schedule(() -> cohort.pollDue(attempt), TimeUnit.MILLISECONDS.toNanos(due + jitter)));
    }

    @Override
    public void watch(Tenure tenure) {
        keeper.watch(tenure);
    }

    @Override
    public void grant(Waiter waiter, HeldLease lease) {
        // What was done already, and failed after that, is done again.
        if (!waiter.outcome.complete(lease) && !waiter.received(lease)) {
            // Nobody is there to receive it.
            background.execute(lease::giveBack);
        }
    }

    @Override
    public void refuse(Waiter waiter, @Nullable String holder) {
        if (holder == null || holder.isEmpty()) {
            refuse(waiter, (LockInstance) null);
            return;
        }
        long left = waiter.nanosLeft(LAST_WORD_MILLIS, keeper.clock());
        instances
                .find(holder, scheduler, Math.max(0, Math.min(left, NAME_NANOS)))
                .whenComplete((known, failure) -> refuse(waiter, known));
    }

    private void refuse(Waiter waiter, @Nullable LockInstance holder) {
        waiter.outcome.completeExceptionally(
                new LockNotAcquiredException(waiter.request.names(), waiter.asked.until(keeper.clock()), 1, holder));
    }

    @Override
    public void fail(Waiter waiter, Throwable failure) {
        waiter.outcome.completeExceptionally(failure);
    }

    @Override
    public void granted(Grant grant) {
        Cohort cohort = cohorts.get(grant.attempt());
        if (cohort != null) {
            cohort.granted(grant);
        } else {
            // The attempt has ended: a late copy of one of its commands took a place. Or the news is old, and the token
            // was used: so nothing is taken back.
            ReleaseCommand giveBack = new ReleaseCommand(List.of(grant.name()), grant.attempt(), 0, 0);
            background.execute(() -> releaseUntil(
                    giveBack, keeper.clock().now().plusMillis(traits.grantTime().toMillis()), null));
        }
    }

    @Override
    public void revoked(String attempt) {
        Cohort cohort = cohorts.get(attempt);
        Tenure tenure = cohort == null ? null : cohort.revoked(attempt);
        if (tenure != null) {
            background.execute(() -> keeper.lose(tenure, "it was taken away by force"));
        }
    }

    @Override
    public void freeIn(String attempt, long remainingMillis) {
        Cohort cohort = cohorts.get(attempt);
        if (cohort != null) {
            cohort.freeIn(attempt, remainingMillis);
        }
    }

    @Override
    public void awaited(String attempt) {
        Cohort cohort = cohorts.get(attempt);
        if (cohort != null) {
            cohort.awaited(attempt);
        }
    }

    @Override
    public void channelRestored() {
        cohorts.values().forEach(Cohort::pollNow);
    }

    int liveAttempts() {
        return cohorts.size();
    }

    private void tell(
            Cohort cohort, Attempt attempt, Moment sent, @Nullable AcquireReply reply, @Nullable Throwable failure) {
        if (reply != null) {
            cohort.answered(attempt, sent, reply);
        } else {
            cohort.failed(attempt, storeFailure(failure));
        }
    }

    static StoreException storeFailure(@Nullable Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        return cause instanceof StoreException known
                ? known
                : new StoreException("the store failed unexpectedly: " + cause, cause);
    }
}
