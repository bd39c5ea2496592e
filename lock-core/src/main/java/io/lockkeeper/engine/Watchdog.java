/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Renews holds every third of their lease, those that are due together in one call of the store, and tells when one
 * reached its deadline without a renewal. A renewal that fails is repeated until then.
 */
final class Watchdog {

    private static final Logger log = LoggerFactory.getLogger(Watchdog.class);
    private static final long BATCH_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long MIN_RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /** What is left of a hold that was given in doubt, or of a grant that came late: too little to wait with its renewal. */
    private static final long SHORT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private static final long MAX_RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Tasks that are due within this time are done together. */
    private static final long GRAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    /** The part of a lease by which a renewal may come earlier than it must, to come with others. */
    private static final long EARLY = 60;

    private final LockStore store;
    private final Scheduler scheduler;
    private final TenureTimer timer;
    private final TimeSource clock;
    private final Executor background;
    private final LockListener listener;
    private final BiConsumer<Tenure, String> onLost;
    private final RenewalWarnings warnings;
    private final Consumer<Tenure> renewal = this::renewSoon;
    private final Consumer<Tenure> check = this::checkDeadline;
    private List<Tenure> due = new ArrayList<>();

    /** Whether the timer is to start the renewals that are due. */
    private volatile boolean starting;

    Watchdog(
            LockStore store,
            Scheduler scheduler,
            TimeSource clock,
            Executor background,
            LockListener listener,
            BiConsumer<Tenure, String> onLost) {
        this.store = store;
        this.scheduler = scheduler;
        this.timer = new TenureTimer(scheduler, clock);
        this.clock = clock;
        this.background = background;
        this.listener = listener;
        this.onLost = onLost;
        this.warnings = new RenewalWarnings(clock);
    }

    /** Begins to watch a hold, or looks anew at one whose end was changed. */
    void watch(Tenure tenure) {
        Moment fixedEnd = tenure.fixedEnd();
        boolean complete = fixedEnd != null && !fixedEnd.isAfter(tenure.deadline());
        if (complete) {
            checkAtDeadline(tenure);
        } else {
            renewAt(tenure, tenure.deadline().nanosFrom(clock));
        }
    }

    /** Renewals come a little earlier than they must, together with others: each batch wakes threads, and Redis. */
    private void renewAt(Tenure tenure, long remaining) {
        long now = clock.nanoTime();
        if (remaining < SHORT_NANOS) {
            put(tenure, renewal, now);
            return;
        }
        long due = now + remaining / 3;
        long grain = TimeUnit.MILLISECONDS.toNanos(tenure.claim.leaseMillis()) / EARLY;
        long together = Math.floorDiv(due, grain) * grain;
        put(tenure, renewal, together - now > remaining / 6 ? together : due);
    }

    private void checkAtDeadline(Tenure tenure) {
        put(tenure, check, clock.nanoTime() + tenure.deadline().nanosFrom(clock));
    }

    private void put(Tenure tenure, Consumer<Tenure> task, long nanos) {
        timer.put(tenure, task, Math.floorDiv(nanos + GRAIN_NANOS - 1, GRAIN_NANOS) * GRAIN_NANOS);
    }

    private void checkDeadline(Tenure tenure) {
        if (tenure.isOver()) {
            return;
        }
        if (tenure.deadline().hasPassed(clock)) {
            onLost.accept(
                    tenure,
                    tenure.fixedEnd() == null ? "its lease ended before it was renewed" : "its lease time is over");
        } else {
            checkAtDeadline(tenure);
        }
    }

    private void renewSoon(Tenure tenure) {
        if (tenure.isOver()) {
            return;
        }
        checkAtDeadline(tenure);
        synchronized (this) {
            due.add(tenure);
            if (starting) {
                return;
            }
            starting = true;
        }
        try {
            scheduler.schedule(this::startRenewal, BATCH_NANOS);
        } catch (Throwable failure) {
            // The next one that is due starts them all.
            starting = false;
            throw failure;
        }
    }

    private void startRenewal() {
        starting = false;
        try {
            background.execute(this::renewDue);
        } catch (Throwable failure) {
            // No thread can be had now: what is due waits, and is not forgotten.
            scheduler.schedule(this::startRenewal, MIN_RETRY_NANOS);
            log.warn("Renewals of locks could not be started and are tried again", failure);
        }
    }

    private void renewDue() {
        List<Tenure> batch;
        synchronized (this) {
            batch = due;
            due = new ArrayList<>();
        }
        batch.removeIf(Tenure::isOver);
        if (batch.isEmpty()) {
            return;
        }
        Moment sent = clock.now();
        List<CompletableFuture<Boolean>> answers = renew(batch);
        for (int i = 0; i < batch.size(); i++) {
            Tenure tenure = batch.get(i);
            CompletableFuture<Boolean> answer = answers.get(i);
            Recovery.safely(() -> answer).whenComplete((held, failure) -> answered(tenure, sent, held, failure));
        }
    }

    /** An error here must not cost a hold its renewals: it is renewed once more, soon. */
    private void answered(Tenure tenure, Moment sent, @Nullable Boolean held, @Nullable Throwable failure) {
        try {
            renewed(
                    tenure,
                    sent,
                    held,
                    held == null && failure == null ? new StoreException("the store gave no answer", null) : failure);
        } catch (Throwable error) {
            put(tenure, renewal, clock.nanoTime() + MIN_RETRY_NANOS);
            log.error("The answer to a renewal could not be told, and it is renewed again", error);
        }
    }

    private List<CompletableFuture<Boolean>> renew(List<Tenure> batch) {
        try {
            List<CompletableFuture<Boolean>> answers =
                    store.renew(batch.stream().flatMap(this::commands).toList());
            return together(batch, answers);
        } catch (Throwable failure) {
            // A store that throws instead of failing its answers must not cost the batch its retries.
            return Collections.nCopies(batch.size(), CompletableFuture.failedFuture(failure));
        }
    }

    private Stream<RenewCommand> commands(Tenure tenure) {
        long lease = leaseMillis(tenure);
        return tenure.claim.names().stream().map(name -> new RenewCommand(name, tenure.attempt, lease, false, 0));
    }

    /** Returns one answer for each hold: that of all its names. */
    private static List<CompletableFuture<Boolean>> together(
            List<Tenure> batch, List<CompletableFuture<Boolean>> answers) {
        List<CompletableFuture<Boolean>> together = new ArrayList<>(batch.size());
        int from = 0;
        for (Tenure tenure : batch) {
            int to = from + tenure.claim.names().size();
            together.add(all(answers.subList(from, to)));
            from = to;
        }
        return together;
    }

    /** Returns whether all answers are yes. A no comes at once; a failure only where nothing says no. */
    static CompletableFuture<Boolean> all(List<CompletableFuture<Boolean>> answers) {
        if (answers.size() == 1) {
            return answers.get(0);
        }
        CompletableFuture<Boolean> result = new CompletableFuture<>();
        answers.forEach(answer -> answer.thenAccept(yes -> {
            if (!yes) {
                result.complete(false);
            }
        }));
        CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new)).whenComplete((done, failure) -> {
            if (failure == null) {
                result.complete(true);
            } else {
                result.completeExceptionally(failure);
            }
        });
        return result;
    }

    private long leaseMillis(Tenure tenure) {
        Moment fixedEnd = tenure.fixedEnd();
        if (fixedEnd == null) {
            return tenure.claim.leaseMillis();
        }
        long remaining = TimeUnit.NANOSECONDS.toMillis(fixedEnd.nanosFrom(clock));
        return remaining + Claim.marginMillis(remaining);
    }

    private void renewed(Tenure tenure, Moment sent, @Nullable Boolean held, @Nullable Throwable failure) {
        if (tenure.isOver()) {
            return;
        }
        List<String> names = tenure.claim.names();
        if (failure != null) {
            Duration remaining = Duration.ofNanos(tenure.deadline().nanosFrom(clock));
            warnings.failed(names.get(0), remaining, failure);
            retry(tenure, remaining.toNanos());
            listener.onRenewalFailed(
                    new LockListener.RenewalFailed(names, tenure.claim.lockMode(), tenure.label(), remaining, failure));
        } else if (Boolean.TRUE.equals(held)) {
            Moment fixedEnd = tenure.fixedEnd();
            long lease = tenure.claim.leaseMillis();
            tenure.renewed(fixedEnd == null ? sent.plusMillis(lease - Claim.marginMillis(lease)) : fixedEnd, sent);
            watch(tenure);
            listener.onRenewed(new LockListener.Renewed(
                    names,
                    tenure.claim.lockMode(),
                    tenure.label(),
                    Duration.ofNanos(tenure.deadline().nanosFrom(clock))));
        } else {
            onLost.accept(tenure, "the store says that it ended");
        }
    }

    private void retry(Tenure tenure, long remainingNanos) {
        long delay = Math.max(MIN_RETRY_NANOS, Math.min(MAX_RETRY_NANOS, remainingNanos / 10));
        if (delay < remainingNanos) {
            put(tenure, renewal, clock.nanoTime() + delay);
        }
    }
}
