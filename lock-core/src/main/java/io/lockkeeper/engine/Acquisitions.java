/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.CallerThread;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The callers of this JVM who want a lock now: each in a cohort, with the end of its wait on the timer. */
final class Acquisitions {

    private static final Duration WITHOUT_LIMIT = Duration.ofNanos(Long.MAX_VALUE / 2);
    private static final long PLACE_GONE_MILLIS = 50;

    /** How long a caller whose time is up still waits for an answer that the store owes. */
    private static final long GRACE_MILLIS = 50;

    /** The part of it that is left also where the end of the wait came late: what came meanwhile must be heard first. */
    private static final long LEAST_GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

    private static final long CLOSE_MILLIS = 1_000;

    private final CohortPort port;
    private final CohortTimes times;
    private final Scheduler scheduler;
    private final Executor background;
    private final Duration commandTimeout;
    private final long leaseMillis;
    private final int maxPasses;
    private final Map<String, Cohort> shared = new ConcurrentHashMap<>();
    private final Map<String, Cohort> readers = new ConcurrentHashMap<>();
    private final Turnstiles turnstiles = new Turnstiles();
    private final Set<Waiter> pending = ConcurrentHashMap.newKeySet();
    private final Set<Retrying> retrying = ConcurrentHashMap.newKeySet();
    private final Queue<CompletableFuture<@Nullable Void>> placesGone = new ConcurrentLinkedQueue<>();
    private volatile boolean closed;
    private volatile boolean closedToAll;

    /** A caller who tries again after a while, and is in no cohort meanwhile. */
    private record Retrying(LockRequest request, boolean nested, CompletableFuture<HeldLease> outcome) {}

    Acquisitions(
            CohortPort port,
            CohortTimes times,
            Scheduler scheduler,
            Executor background,
            Duration commandTimeout,
            long leaseMillis,
            int maxPasses) {
        this.port = port;
        this.times = times;
        this.scheduler = scheduler;
        this.background = background;
        this.commandTimeout = commandTimeout;
        this.leaseMillis = leaseMillis;
        this.maxPasses = maxPasses;
    }

    /**
     * Begins to acquire a lock.
     *
     * @param request what to lock, complete
     * @param nested whether the caller holds a lock already, and may go on while the engine closes
     * @return the lease to come; cancelling it gives up the place
     */
    CompletableFuture<HeldLease> begin(LockRequest request, boolean nested) {
        if (refuses(nested)) {
            return CompletableFuture.failedFuture(closing());
        }
        port.recovery().arm();
        if (request.retryCount() > 0) {
            return retry(request, nested);
        }
        return once(request, nested);
    }

    private CompletableFuture<HeldLease> retry(LockRequest request, boolean nested) {
        Retries retries = new Retries(request, scheduler, background, attempt -> once(attempt, nested));
        Retrying caller = new Retrying(request, nested, retries.begin());
        retrying.add(caller);
        caller.outcome.whenComplete((lease, failure) -> retrying.remove(caller));
        if (refuses(nested)) {
            refuseAll();
        }
        return caller.outcome;
    }

    /** Returns how long each attempt of a request waits where the lock is held. */
    private static Duration waitOf(LockRequest request) {
        return request.retryCount() > 0 || request.waitTime() == null ? Duration.ZERO : request.waitTime();
    }

    /** Begins on a thread that does nothing but wait for the answers of the store, and no longer than the request does. */
    CompletableFuture<HeldLease> beginWaiting(LockRequest request, boolean nested) {
        Duration wait = waitOf(request);
        if (wait.compareTo(WITHOUT_LIMIT) > 0) {
            return CallerThread.waiting(() -> begin(request, nested));
        }
        long nanos = (wait.isZero() ? commandTimeout : wait).toNanos();
        return CallerThread.waitingFor(nanos, () -> begin(request, nested));
    }

    private CompletableFuture<HeldLease> once(LockRequest request, boolean nested) {
        Duration wait = waitOf(request);
        Waiter waiter =
                new Waiter(request, !wait.isZero(), nested, times.clock().now());
        waiter.patience = wait.isZero() ? commandTimeout : wait.compareTo(WITHOUT_LIMIT) > 0 ? null : wait;
        if (waiter.waits && request.mode() != LockMode.READ) {
            request.names().forEach(this::closeToReaders);
        }
        try {
            enter(waiter);
        } catch (Throwable failure) {
            withdraw(waiter);
            throw failure;
        }
        return waiter.outcome;
    }

    private void enter(Waiter waiter) {
        Runnable entry = isShared(waiter.request) ? entryToShared(waiter) : entryToOwn(waiter);
        if (CallerThread.waits()) {
            // The thread that is to be told asks by itself, and nothing has to be kept for it if it has its answer
            // then.
            entry.run();
            if (!waiter.outcome.isDone()) {
                await(waiter);
            }
        } else {
            await(waiter);
            entry.run();
        }
    }

    /** The caller does not hear of the outcome: a lease that comes, or has come, goes back. */
    private void withdraw(Waiter waiter) {
        if (!waiter.outcome.cancel(false) && !waiter.outcome.isCompletedExceptionally()) {
            background.execute(waiter.outcome.join()::giveBack);
        }
    }

    /** Ends the waits of callers that an error made their cohort forget, at some moment before the last look. */
    void lookAfterForgotten() {
        pending.forEach(waiter -> {
            Cohort cohort = waiter.cohort();
            if (waiter.isGone()) {
                pending.remove(waiter);
                cohort.leave(waiter, background, waiter.outcome.placeGone);
            } else if (!cohort.hasForgotten(waiter)) {
                waiter.forgotten = false;
            } else if (waiter.forgotten) {
                port.fail(waiter, new StoreException("an error came into the answer", null));
            } else {
                waiter.forgotten = true;
            }
        });
    }

    private void await(Waiter waiter) {
        pending.add(waiter);
        Scheduler.Timeout timeout = waiter.patience == null
                ? () -> {}
                : scheduler.schedule(() -> expire(waiter), Math.max(0, waiter.nanosLeft(0, times.clock())));
        waiter.outcome.whenComplete((lease, failure) -> {
            pending.remove(waiter);
            timeout.cancel();
            if (waiter.outcome.isCancelled()) {
                waiter.cohort().leave(waiter, background, waiter.outcome.placeGone);
            }
        });
        if (refuses(waiter.nested)) {
            refuseAll();
        }
    }

    private void expire(Waiter waiter) {
        CompletableFuture<@Nullable Void> placeGone = new CompletableFuture<>();
        if (waiter.cohort().expire(waiter, placeGone)) {
            scheduler.schedule(
                    () -> placeGone.complete(null), Math.max(0, waiter.nanosLeft(PLACE_GONE_MILLIS, times.clock())));
        } else {
            scheduler.schedule(
                    () -> waiter.cohort().expireAtLast(waiter),
                    Math.max(LEAST_GRACE_NANOS, waiter.nanosLeft(GRACE_MILLIS, times.clock())));
        }
    }

    /** A caller who left sees to it that its place in the store is gone, but does not wait long for that. */
    static void awaitPlaceGone(CompletableFuture<HeldLease> left) {
        if (!(left instanceof Waiter.Outcome outcome) || !left.isCancelled()) {
            return;
        }
        try {
            outcome.placeGone.get(PLACE_GONE_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        } catch (TimeoutException | ExecutionException slow) {
            // The store is slow: the release goes on in the background.
            return;
        }
    }

    /** Only plain requests share a place: all others are their own waiter in the store. */
    private static boolean isShared(LockRequest request) {
        return (request.mode() == LockMode.EXCLUSIVE || request.mode() == LockMode.READ)
                && request.names().size() == 1
                && request.leaseTime() == null
                && request.minHoldTime().isZero();
    }

    private Runnable entryToShared(Waiter waiter) {
        Cohort first = sharedCohort(waiter);
        return () -> {
            for (Cohort cohort = first; !cohort.enter(waiter); cohort = sharedCohort(waiter)) {
                cohortsLike(waiter).remove(cohort.claim().name(), cohort);
            }
        };
    }

    private Map<String, Cohort> cohortsLike(Waiter waiter) {
        return waiter.request.mode() == LockMode.READ ? readers : shared;
    }

    private Cohort sharedCohort(Waiter waiter) {
        boolean reads = waiter.request.mode() == LockMode.READ;
        ClaimMode mode = reads ? ClaimMode.READ : ClaimMode.EXCLUSIVE;
        return waiter.chooses(cohortsLike(waiter)
                .computeIfAbsent(
                        waiter.request.names().get(0),
                        key -> cohort(
                                Claim.renewed(waiter.request.names(), mode, leaseMillis, reads ? 0 : maxPasses),
                                () -> {},
                                reads ? this::readersRetired : this::retired)));
    }

    private void retired(Cohort cohort) {
        shared.remove(cohort.claim().name(), cohort);
    }

    private void readersRetired(Cohort cohort) {
        readers.remove(cohort.claim().name(), cohort);
    }

    /** Readers of this JVM join each other without asking the store, which would send them behind this waiter. */
    private void closeToReaders(String name) {
        Cohort reading = readers.get(name);
        if (reading != null) {
            reading.closeToJoiners();
        }
    }

    private Runnable entryToOwn(Waiter waiter) {
        LockRequest request = waiter.request;
        List<String> names = inGlobalOrder(request.names());
        ClaimMode mode = ClaimMode.valueOf(request.mode().name());
        Duration lease = request.leaseTime();
        Claim claim = lease == null
                ? Claim.renewed(names, mode, leaseMillis, 0)
                : Claim.fixed(names, mode, Claim.measurable(lease).toMillis());
        if (mode != ClaimMode.FAIR || !waiter.waits) {
            Cohort own = waiter.chooses(cohort(claim, () -> {}, retired -> {}));
            return () -> own.enter(waiter);
        }
        // Fair callers who wait get their places in the store in the order in which they called.
        Turnstiles.Turn turn = turnstiles.turn(names.get(0));
        Cohort own = waiter.chooses(cohort(claim, () -> turn.leave(background), retired -> {}));
        return () -> turn.enter(() -> {
            try {
                own.enter(waiter);
            } catch (Throwable failure) {
                turn.leave(background);
                port.fail(waiter, failure);
            }
        });
    }

    /** Every instance takes several locks in this order, so that no two wait for each other: that of their UTF-8 bytes. */
    private static List<String> inGlobalOrder(List<String> names) {
        return names.stream()
                .sorted(Comparator.comparing(name -> name.getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned))
                .toList();
    }

    private Cohort cohort(Claim claim, Runnable onFirstAnswer, Consumer<Cohort> onRetired) {
        return new Cohort(claim, port, times, background, onFirstAnswer, onRetired);
    }

    /** Refuses callers who hold nothing, from now on. */
    void close() {
        closed = true;
        refuseAll();
    }

    /** Refuses everybody, from now on: nobody is left to wait for a timer that has stopped. */
    void closeToAll() {
        closedToAll = true;
        refuseAll();
        CompletableFuture.allOf(placesGone.toArray(CompletableFuture<?>[]::new))
                .completeOnTimeout(null, CLOSE_MILLIS, TimeUnit.MILLISECONDS)
                .join();
    }

    private boolean refuses(boolean nested) {
        return nested ? closedToAll : closed;
    }

    private void refuseAll() {
        pending.forEach(waiter -> {
            if (refuses(waiter.nested) && waiter.outcome.completeExceptionally(closing())) {
                CompletableFuture<@Nullable Void> placeGone = new CompletableFuture<>();
                placesGone.add(placeGone);
                waiter.cohort().leave(waiter, background, placeGone);
            }
        });
        retrying.forEach(caller -> {
            if (refuses(caller.nested)) {
                caller.outcome.completeExceptionally(closing());
            }
        });
    }

    private static StoreException closing() {
        return new StoreException("this LockTemplate is closed", null);
    }

    /** Returns how many objects are kept for names: none when nobody holds or wants a lock. */
    int names() {
        return shared.size() + readers.size() + turnstiles.size() + pending.size() + retrying.size();
    }
}
