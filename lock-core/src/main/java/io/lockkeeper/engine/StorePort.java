package io.lockkeeper.engine;

import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTimes;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Has done what cohorts decide: commands to the store, polls, and answers to callers. Brings grants to their cohorts. */
final class StorePort implements CohortPort, StoreListener {

    private final LockStore store;
    private final Scheduler scheduler;
    private final Executor background;
    private final LeaseKeeper keeper;
    private final Map<String, Cohort> cohorts = new ConcurrentHashMap<>();
    private final AtomicLong numbers = new AtomicLong();

    /** Known when the store is open, which is before the first command. */
    private volatile StoreTimes times = new StoreTimes(Duration.ZERO, Duration.ZERO, Duration.ZERO);

    StorePort(LockStore store, Scheduler scheduler, Executor background, LeaseKeeper keeper) {
        this.store = store;
        this.scheduler = scheduler;
        this.background = background;
        this.keeper = keeper;
    }

    void opened(StoreTimes storeTimes) {
        times = storeTimes;
    }

    @Override
    public Attempt nextAttempt() {
        String number = Long.toString(numbers.incrementAndGet(), 36);
        String padded = "0".repeat(Math.max(0, 8 - number.length())) + number;
        return new Attempt(store.clientId() + padded, keeper.clock().now());
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
    public HeldLease lease(LockRequest request, Tenure tenure, long token) {
        return keeper.lease(request, tenure, token);
    }

    @Override
    public void ask(Cohort cohort, Attempt attempt, boolean queue) {
        Moment sent = keeper.clock().now();
        safely(() -> store.acquire(cohort.claim().command(attempt.id, queue)))
                .whenComplete((reply, failure) -> tell(cohort, attempt, sent, reply, failure));
    }

    @Override
    public CompletableFuture<Boolean> handOver(Tenure ended, long lastToken, Attempt next) {
        Moment sent = keeper.clock().now();
        HandOverCommand command = new HandOverCommand(ended.attempt, lastToken, ended.claim.command(next.id, true));
        return safely(() -> store.handOver(command)).handle((reply, failure) -> {
            tell(ended.cohort, next, sent, reply == null ? null : reply.next(), failure);
            if (reply == null) {
                releaseUntil(new ReleaseCommand(ended.claim.name(), ended.attempt, lastToken), ended.deadline(), null);
                throw new CompletionException(failure);
            }
            return reply.wasHeld();
        });
    }

    @Override
    public CompletableFuture<Boolean> release(Cohort cohort, String attempt, long lastToken) {
        ReleaseCommand command = new ReleaseCommand(cohort.claim().name(), attempt, lastToken);
        CompletableFuture<ReleaseReply> reply = safely(() -> store.release(command));
        return reply.handle((answer, failure) -> {
            if (failure != null) {
                Moment end = keeper.clock().now().plusMillis(cohort.claim().leaseMillis());
                retryRelease(command, end, null);
                throw new CompletionException(failure);
            }
            return answer != ReleaseReply.NOT_HELD;
        });
    }

    @Override
    public CompletableFuture<?> abandon(Cohort cohort, Attempt attempt) {
        // A command of the attempt may still be on its way until the store refuses it as late.
        Moment lastArrival =
                keeper.clock().now().plusMillis(times.commandTimeout().toMillis());
        Moment end = lastArrival.plusMillis(cohort.claim().leaseMillis());
        return releaseUntil(new ReleaseCommand(cohort.claim().name(), attempt.id, 0), end, lastArrival);
    }

    /** Releases once for certain, and again after the last moment at which something may arrive; until a given end. */
    private CompletableFuture<?> releaseUntil(ReleaseCommand command, Moment end, @Nullable Moment lastArrival) {
        return safely(() -> store.release(command)).whenComplete((reply, failure) -> {
            if (failure != null) {
                retryRelease(command, end, lastArrival);
            } else if (lastArrival != null) {
                long delay = lastArrival.nanosFrom(keeper.clock());
                scheduler.schedule(() -> background.execute(() -> releaseUntil(command, end, null)), delay);
            }
        });
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
        long due = Math.min(times.pollInterval().toMillis(), Math.max(0, remainingMillis));
        long jitter = ThreadLocalRandom.current().nextLong(5, 25 + due / 20);
        attempt.pollAt(scheduler.schedule(() -> cohort.pollDue(attempt), TimeUnit.MILLISECONDS.toNanos(due + jitter)));
    }

    @Override
    public void watch(Tenure tenure) {
        keeper.watch(tenure);
    }

    @Override
    public void grant(Waiter waiter, HeldLease lease) {
        if (!waiter.outcome.complete(lease)) {
            // Nobody is there to receive it.
            background.execute(lease::closeAsync);
        }
    }

    @Override
    public void refuse(Waiter waiter, @Nullable String holder) {
        waiter.outcome.completeExceptionally(
                new LockNotAcquiredException(waiter.request.names(), waiter.asked.until(keeper.clock()), 1, null));
    }

    @Override
    public void fail(Waiter waiter, Throwable failure) {
        waiter.outcome.completeExceptionally(
                failure instanceof LockStoreException known
                        ? known
                        : new LockStoreException(
                                "Lock " + String.join(", ", waiter.request.names()) + ": " + failure.getMessage(),
                                failure));
    }

    @Override
    public void granted(Grant grant) {
        Cohort cohort = cohorts.get(grant.attempt());
        if (cohort != null) {
            cohort.granted(grant);
        } else {
            // The attempt has ended: a late copy of one of its commands took a place.
            ReleaseCommand giveBack = new ReleaseCommand(grant.name(), grant.attempt(), grant.firstToken() - 1);
            background.execute(() -> releaseUntil(
                    giveBack, keeper.clock().now().plusMillis(times.grantTime().toMillis()), null));
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

    /** A store that throws instead of failing its answer must not leave a cohort without one. */
    private static <T> CompletableFuture<T> safely(Supplier<CompletableFuture<T>> command) {
        try {
            return command.get();
        } catch (RuntimeException | Error failure) {
            return CompletableFuture.failedFuture(failure);
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
