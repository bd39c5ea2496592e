/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The watchdog: looks at all holds periodically, renews each after a third of its lease, ends those that have reached
 * their deadline without a renewal, and notices when the machine was suspended. Renewals due within lease/60 of each
 * other are sent in one batch. A renewal that fails is repeated until the deadline.
 *
 * <p>A look at all holds is cheaper than a timer for each, because most holds end long before they are due.
 */
final class LeaseRenewer {

    private static final Logger log = LoggerFactory.getLogger(LeaseRenewer.class);

    /** How often the clocks are compared: after a suspension, a loss is reported within this time. */
    private static final long CLOCK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** How much the clocks may differ between two looks. */
    private static final long JUMP_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** The least time between two looks at all holds. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private static final long MIN_RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long MAX_RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** A hold with less time left, for example after a late grant, is renewed at once. */
    private static final long SHORT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /** A renewal may come earlier by the lease divided by this, to be sent together with others. */
    private static final long EARLY = 60;

    private static final long WARNING_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final LockStore store;
    private final EngineContext context;
    private final LeaseRegistry registry;
    private final BiConsumer<StoreHold, String> lose;

    /** The task of the next look; null: nothing is due. Written under the monitor. */
    private volatile Scheduler.@Nullable Timeout wake;

    /** When the first hold is due, or earlier; valid while there is a task. Written under the monitor. */
    private volatile long dueNanos;

    /** When the task of the next look runs. Guarded by this. */
    private long wakeNanos;

    /** Used by the timer alone. */
    private ClockReading lastLook;

    private long nextWarningNanos;
    private int unsaidWarnings;

    LeaseRenewer(LockStore store, EngineContext context, LeaseRegistry registry, BiConsumer<StoreHold, String> lose) {
        this.store = store;
        this.context = context;
        this.registry = registry;
        this.lose = lose;
        this.lastLook = context.now();
        this.nextWarningNanos = lastLook.nanos();
    }

    /** Begins to watch a hold, or to watch for its new end after a change. */
    void watch(StoreHold hold) {
        ClockReading now = context.now();
        ClockReading deadline = hold.deadline();
        ClockReading fixedEnd = hold.fixedEnd();
        long remaining = deadline.nanosFrom(now);
        // A reader that follows a downgrade is renewed after the store has confirmed it. A hold whose deadline is its
        // fixed end is not renewed; unequal ones differ on one clock at least, as after a suspension.
        boolean renews = hold.unconfirmed() == null && !deadline.equals(fixedEnd);
        // The remaining time may be much longer than the lease: a reader may have extended it and left.
        long lease = Math.min(remaining, TimeUnit.MILLISECONDS.toNanos(hold.spec.leaseMillis()));
        due(hold, renews, now, !renews ? remaining : remaining < SHORT_NANOS ? 0 : lease / 3);
        if (hold.spec.isShared()) {
            hold.leases().stream()
                    .map(StoreHold.Holder::ownEnd)
                    .filter(Objects::nonNull)
                    .forEach(own -> wakeIn(own.nanosFrom(now), now));
        }
    }

    // ---- the looks ----

    private void due(StoreHold hold, boolean renewal, ClockReading now, long nanos) {
        hold.renewalNanos = renewal ? now.nanos() + nanos : ClockReading.NEVER;
        wakeIn(nanos, now);
    }

    private void wakeIn(long nanos, ClockReading now) {
        long due = now.nanos() + nanos;
        if (wake != null && dueNanos - due <= 0) {
            // Most holds are due long after the next look.
            return;
        }
        synchronized (this) {
            if (wake == null || due - dueNanos < 0) {
                dueNanos = due;
                // An earlier look stays: if it were postponed again and again, it would notice a clock's jump late.
                if (wake == null || due - wakeNanos < 0) {
                    schedule(now);
                }
            }
        }
    }

    private void schedule(ClockReading now) {
        unset();
        long nanos = Math.max(0, Math.min(CLOCK_NANOS, dueNanos - now.nanos()));
        wakeNanos = now.nanos() + nanos;
        wake = context.scheduler().schedule(this::look, nanos);
    }

    /** Cancels the next look, so that after an error none is set, and never more than one. */
    private synchronized void unset() {
        Scheduler.Timeout before = wake;
        wake = null;
        if (before != null) {
            before.cancel();
        }
    }

    /** Looks at once if no look is set, which happens after an error. */
    void lookUnlessSet() {
        if (wake == null) {
            wakeIn(0, context.now());
        }
    }

    /** Begins in one synchronized step, so that a hold that is watched meanwhile cannot postpone an earlier one. */
    private void look() {
        ClockReading now;
        boolean jumped;
        synchronized (this) {
            unset();
            now = context.now();
            // Unequal if the machine was suspended or the wall clock was set.
            long wall = TimeUnit.MILLISECONDS.toNanos(now.wallMillis() - lastLook.wallMillis());
            jumped = Math.abs(wall - (now.nanos() - lastLook.nanos())) > JUMP_NANOS;
            lastLook = now;
            if (registry.attempts() == 0) {
                return;
            } else if (dueNanos - now.nanos() > 0 && !jumped) {
                schedule(now);
                return;
            }
        }
        List<StoreHold> due = new ArrayList<>();
        List<Runnable> ends = new ArrayList<>();
        try {
            long next = Long.MAX_VALUE;
            for (LocalLock lock : registry.locks()) {
                StoreHold hold = lock.hold();
                if (hold != null && !hold.isOver()) {
                    next = Math.min(next, look(hold, now, jumped, due, ends));
                }
            }
            if (next != Long.MAX_VALUE) {
                wakeIn(Math.max(PAUSE_NANOS, next), now);
            }
            if (!due.isEmpty()) {
                context.background().execute(() -> {
                    try {
                        renew(due);
                    } catch (Throwable error) {
                        again(due, error);
                    }
                });
            }
            ends.forEach(Runnable::run);
        } catch (Throwable failure) {
            again(due, failure);
        }
    }

    /** Looks at one hold; returns in how many nanoseconds to look at it again. */
    private long look(StoreHold hold, ClockReading now, boolean jumped, List<StoreHold> due, List<Runnable> ends) {
        if (hold.isExpired(now)) {
            ends.add(() -> lose.accept(hold, hold.endReason()));
            // Looked at again, in case the loss cannot be reported now.
            return MIN_RETRY_NANOS;
        }
        long next = hold.deadline().nanosFrom(now);
        long grain = TimeUnit.MILLISECONDS.toNanos(hold.spec.leaseMillis()) / EARLY;
        long renewal = hold.renewalNanos;
        if (renewal != ClockReading.NEVER && (jumped || renewal - now.nanos() <= grain)) {
            hold.renewalNanos = ClockReading.NEVER;
            due.add(hold);
        } else if (renewal != ClockReading.NEVER) {
            next = Math.min(next, renewal - now.nanos());
        }
        for (StoreHold.Holder holder : hold.spec.isShared() ? hold.leases() : List.<StoreHold.Holder>of()) {
            ClockReading own = holder.ownEnd();
            if (own != null && own.hasPassedAt(now)) {
                ends.add(holder::ownEndPassed);
            } else if (own != null) {
                next = Math.min(next, own.nanosFrom(now));
            }
        }
        return next;
    }

    // ---- the renewals ----

    CompletableFuture<Boolean> renew(StoreHold hold, long leaseMillis) {
        long millis = withMargin(leaseMillis);
        hold.asksFor(millis);
        List<RenewCommand> commands = commands(hold, millis).toList();
        return PendingAnswers.safely(() -> all(store.renew(commands)));
    }

    /** Keeps the renewals due after an error, for example if no thread was available. */
    private void again(List<StoreHold> due, Throwable failure) {
        ClockReading now = context.now();
        due.forEach(hold -> hold.renewalNanos = now.nanos());
        EngineContext.quietly(log, "A look at the holds failed, and is repeated", null, failure);
        wakeIn(MIN_RETRY_NANOS, now);
    }

    private void renew(List<StoreHold> due) {
        List<StoreHold> batch = due.stream().filter(hold -> !hold.isOver()).toList();
        if (batch.isEmpty()) {
            return;
        }
        ClockReading sent = context.now();
        List<RenewCommand> commands = batch.stream()
                .flatMap(hold -> commands(hold, leaseMillis(hold, sent)))
                .toList();
        Iterator<CompletableFuture<Boolean>> answers = send(commands).iterator();
        // One object for all holds with the same lease: it is most of the memory that a renewal keeps for each hold.
        Map<Long, ClockReading> deadlines = new HashMap<>();
        for (StoreHold hold : batch) {
            ClockReading deadline =
                    deadlines.computeIfAbsent(hold.spec.leaseMillis(), millis -> LeasePolicy.deadline(millis, sent));
            PendingAnswers.safely(() ->
                            all(hold.names.stream().map(name -> answers.next()).toList()))
                    .whenComplete((held, failure) -> answered(hold, sent, deadline, held, failure));
        }
    }

    private List<CompletableFuture<Boolean>> send(List<RenewCommand> commands) {
        try {
            return Objects.requireNonNull(store.renew(commands), "the store gave no answers");
        } catch (Throwable failure) {
            // Also if the store throws, each renewal of the batch is tried again.
            return Collections.nCopies(commands.size(), CompletableFuture.failedFuture(failure));
        }
    }

    private static Stream<RenewCommand> commands(StoreHold hold, long leaseMillis) {
        return hold.names.stream().map(name -> new RenewCommand(name, hold.attempt(), leaseMillis, false, 0));
    }

    private static long leaseMillis(StoreHold hold, ClockReading now) {
        ClockReading end = hold.fixedEnd();
        return end == null
                ? hold.spec.leaseMillis()
                : withMargin(TimeUnit.NANOSECONDS.toMillis(end.nanosToKeepFrom(now)));
    }

    /**
     * Returns a lease for the store, longer than the local one. It is never exact, because a late copy of a command
     * would cut off a later extension. A hold whose end comes nearer is released by this instance at that end.
     */
    private static long withMargin(long millis) {
        return millis + AcquireSpec.marginMillis(millis);
    }

    /** Combines answers: false as soon as one is false, a failure if one failed and none is false, else true. */
    static CompletableFuture<Boolean> all(List<CompletableFuture<Boolean>> answers) {
        if (answers.size() == 1) {
            return answers.get(0);
        }
        CompletableFuture<Boolean> result = new CompletableFuture<>();
        Stream<CompletableFuture<?>> told = answers.stream()
                .map(answer -> answer.thenAccept(yes -> {
                    if (!yes) {
                        result.complete(false);
                    }
                }));
        CompletableFuture.allOf(told.toArray(CompletableFuture<?>[]::new)).whenComplete((all, failure) -> {
            if (failure == null) {
                result.complete(true);
            } else {
                result.completeExceptionally(failure);
            }
        });
        return result;
    }

    /** Takes the answer to a renewal; after an error in this the hold is renewed again soon. */
    private void answered(
            StoreHold hold,
            ClockReading sent,
            ClockReading deadline,
            @Nullable Boolean held,
            @Nullable Throwable failure) {
        try {
            if (hold.isOver()) {
                return;
            } else if (held == null) {
                failed(hold, failure == null ? new StoreException("the store gave no answer", null) : failure);
            } else if (held) {
                renewed(hold, sent, deadline);
            } else {
                lose.accept(hold, hold.endReasonByStore(context.now()));
            }
        } catch (Throwable error) {
            due(hold, true, context.now(), MIN_RETRY_NANOS);
            log.error("The answer to a renewal could not be handled, and the lock is renewed again", error);
        }
    }

    private void renewed(StoreHold hold, ClockReading sent, ClockReading deadline) {
        ClockReading now = context.now();
        ClockReading fixedEnd = hold.fixedEnd();
        hold.renewed(fixedEnd == null ? deadline : fixedEnd, sent, now);
        watch(hold);
        Duration remaining = Duration.ofNanos(hold.deadline().nanosFrom(now));
        context.listener()
                .onRenewed(new LockListener.Renewed(hold.names, hold.spec.lockMode(), hold.label(), remaining));
    }

    private void failed(StoreHold hold, Throwable failure) {
        ClockReading now = context.now();
        long remaining = hold.deadline().nanosFrom(now);
        warn(hold.name(), remaining, failure);
        long delay = Math.max(MIN_RETRY_NANOS, Math.min(MAX_RETRY_NANOS, remaining / 10));
        due(hold, delay < remaining, now, Math.min(delay, remaining));
        context.listener()
                .onRenewalFailed(new LockListener.RenewalFailed(
                        hold.names, hold.spec.lockMode(), hold.label(), Duration.ofNanos(remaining), failure));
    }

    /** Warns at most once in ten seconds, however many renewals a failing server causes to fail. */
    private synchronized void warn(String name, long remainingNanos, Throwable failure) {
        long now = context.nanoTime();
        if (now - nextWarningNanos < 0) {
            unsaidWarnings++;
            log.debug("Renewal of lock '{}' failed: {}", name, failure.getMessage());
            return;
        }
        log.warn(
                "Renewal of lock '{}' failed, {} ms before its end, and is tried again ({} other failures since the last"
                        + " such line): {}",
                name,
                TimeUnit.NANOSECONDS.toMillis(remainingNanos),
                unsaidWarnings,
                failure.getMessage());
        nextWarningNanos = now + WARNING_PAUSE_NANOS;
        unsaidWarnings = 0;
    }
}
