/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks at all holds now and then: renews each after a third of its lease, ends what has reached its deadline without a
 * renewal, and notices when the machine was suspended. Renewals due within lease/60 of each other are sent in one batch. A
 * renewal that fails is repeated until the deadline.
 *
 * <p>A look at all holds is cheaper than a timer for each: most holds end long before they are due, and would only add and
 * remove their timers.
 */
final class LeaseRenewer {

    private static final Logger log = LoggerFactory.getLogger(LeaseRenewer.class);

    /** How often the clocks are compared while there are holds: the loss of a suspended machine is told within this time. */
    private static final long CLOCK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** How much the clocks may differ between two looks. */
    private static final long JUMP_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** Two looks at all holds are so far apart at least. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private static final long MIN_RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long MAX_RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** What is left of a hold that was given in doubt, or of a grant that came late: too little to wait with its renewal. */
    private static final long SHORT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /** The part of a lease by which a renewal may come earlier than it must, to come with others. */
    private static final long EARLY = 60;

    private static final long WARNING_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final LockStore store;
    private final EngineContext context;
    private final LeaseRegistry registry;
    private final BiConsumer<StoreHold, String> lose;

    /** When the next look is due, and its task; null: there is none. Written under the monitor. */
    private volatile Scheduler.@Nullable Timeout wake;

    private long wakeNanos;

    /** When a hold is due next, as far as is known. Written under the monitor. */
    private volatile long dueNanos;

    private volatile boolean hasDue;

    /** Both clocks at the last look. Used by the timer alone. */
    private ClockReading lastLook;

    private long lastWarningNanos;
    private boolean warned;
    private int unsaidWarnings;

    /**
     * Creates a renewer of no holds.
     *
     * @param lose makes a hold lost
     */
    LeaseRenewer(LockStore store, EngineContext context, LeaseRegistry registry, BiConsumer<StoreHold, String> lose) {
        this.store = store;
        this.context = context;
        this.registry = registry;
        this.lose = lose;
        this.lastLook = context.now();
    }

    /** Begins to watch a hold, or looks anew at one whose end was changed. */
    void watch(StoreHold hold) {
        ClockReading now = context.now();
        ClockReading deadline = hold.deadline();
        ClockReading fixedEnd = hold.fixedEnd();
        long remaining = deadline.nanosFrom(now);
        boolean complete = fixedEnd != null && !fixedEnd.isAfter(deadline);
        long due = complete ? remaining : remaining < SHORT_NANOS ? 0 : remaining / 3;
        due(hold, !complete, now, due);
        for (StoreHold.Holder holder : hold.spec.isShared() ? hold.leases() : List.<StoreHold.Holder>of()) {
            ClockReading own = holder.ownEnd();
            if (own != null) {
                wakeIn(own.nanosFrom(now), now);
            }
        }
    }

    /** Watches a hold whose renewal has to wait: it ends at its deadline. */
    void watchDeadline(StoreHold hold) {
        ClockReading now = context.now();
        due(hold, false, now, hold.deadline().nanosFrom(now));
    }

    private void due(StoreHold hold, boolean renewal, ClockReading now, long nanos) {
        hold.dueNanos = now.nanos() + nanos;
        hold.renewalDue = renewal;
        wakeIn(nanos, now);
    }

    private void wakeIn(long nanos, ClockReading now) {
        long due = now.nanos() + nanos;
        if (wake != null && hasDue && dueNanos - due <= 0) {
            // Most holds are due long after the next look.
            return;
        }
        synchronized (this) {
            if (!hasDue || due - dueNanos < 0) {
                hasDue = true;
                dueNanos = due;
            }
            wakeBy(now.nanos() + Math.min(nanos, CLOCK_NANOS), now);
        }
    }

    private void wakeBy(long nanos, ClockReading now) {
        Scheduler.Timeout before = wake;
        if (before != null && wakeNanos - nanos <= 0) {
            return;
        }
        if (before != null) {
            before.cancel();
        }
        wakeNanos = nanos;
        wake = context.scheduler().schedule(this::look, Math.max(0, nanos - now.nanos()));
    }

    private void look() {
        ClockReading now = context.now();
        boolean jumped = jumped(now);
        boolean scan;
        synchronized (this) {
            wake = null;
            scan = jumped || (hasDue && dueNanos - now.nanos() <= 0);
            if (scan) {
                hasDue = false;
            }
        }
        try {
            if (scan) {
                new Look(now, jumped).at();
            }
        } catch (Throwable failure) {
            log.error("A look at the holds failed, and is repeated", failure);
            wakeIn(MIN_RETRY_NANOS, now);
        }
        synchronized (this) {
            if (hasDue && registry.attempts() > 0) {
                wakeBy(now.nanos() + Math.max(PAUSE_NANOS, Math.min(CLOCK_NANOS, dueNanos - now.nanos())), now);
            }
        }
    }

    /** Returns whether the clocks have gone apart since the last look: the machine was suspended, or the wall clock was set. */
    private boolean jumped(ClockReading now) {
        ClockReading last = lastLook;
        lastLook = now;
        long wall = TimeUnit.MILLISECONDS.toNanos(now.wallMillis() - last.wallMillis());
        return Math.abs(wall - (now.nanos() - last.nanos())) > JUMP_NANOS;
    }

    /** One look at all holds. */
    private final class Look {

        private final ClockReading now;
        private final boolean jumped;
        private final List<StoreHold> expired = new ArrayList<>();
        private final List<StoreHold> due = new ArrayList<>();
        private final List<StoreHold.Holder> ending = new ArrayList<>();
        private long next = Long.MAX_VALUE;

        Look(ClockReading now, boolean jumped) {
            this.now = now;
            this.jumped = jumped;
        }

        void at() {
            registry.forEachLock(lock -> {
                StoreHold hold = lock.hold();
                if (hold != null && !hold.isOver()) {
                    at(hold);
                }
            });
            if (next != Long.MAX_VALUE) {
                wakeIn(next, now);
            }
            if (!due.isEmpty()) {
                renewInBackground(due);
            }
            ending.forEach(StoreHold.Holder::ownEndPassed);
            expired.forEach(hold -> lose.accept(hold, hold.endReason()));
        }

        private void at(StoreHold hold) {
            if (hold.isExpired(now)) {
                expired.add(hold);
                // Again, if it cannot be told now.
                next = Math.min(next, MIN_RETRY_NANOS);
                return;
            }
            long grain = TimeUnit.MILLISECONDS.toNanos(hold.spec.leaseMillis()) / EARLY;
            if (hold.renewalDue && (jumped || hold.dueNanos - now.nanos() <= grain)) {
                hold.renewalDue = false;
                due.add(hold);
            } else if (hold.renewalDue) {
                next = Math.min(next, hold.dueNanos - now.nanos());
            }
            next = Math.min(next, hold.deadline().nanosFrom(now));
            if (hold.spec.isShared()) {
                hold.leases().forEach(this::at);
            }
        }

        private void at(StoreHold.Holder holder) {
            ClockReading own = holder.ownEnd();
            if (own != null && own.hasPassedAt(now)) {
                ending.add(holder);
            } else if (own != null) {
                next = Math.min(next, own.nanosFrom(now));
            }
        }
    }

    private void renewInBackground(List<StoreHold> batch) {
        try {
            context.background().execute(() -> renew(batch));
        } catch (Throwable failure) {
            // No thread can be had now: what is due waits, and is not forgotten.
            batch.forEach(hold -> due(hold, true, context.now(), MIN_RETRY_NANOS));
            log.warn("Renewals of locks could not be started and are tried again", failure);
        }
    }

    private void renew(List<StoreHold> due) {
        List<StoreHold> batch = due.stream().filter(hold -> !hold.isOver()).toList();
        if (batch.isEmpty()) {
            return;
        }
        ClockReading sent = context.now();
        Iterator<CompletableFuture<Boolean>> answers = send(batch.stream()
                        .flatMap(hold -> commands(hold, sent))
                        .toList())
                .iterator();
        for (StoreHold hold : batch) {
            PendingAnswers.safely(() -> all(hold.spec.names().stream()
                            .map(name -> answers.next())
                            .toList()))
                    .whenComplete((held, failure) -> answered(hold, sent, held, failure));
        }
    }

    private List<CompletableFuture<Boolean>> send(List<RenewCommand> commands) {
        try {
            return Objects.requireNonNull(store.renew(commands), "the store gave no answers");
        } catch (Throwable failure) {
            // A store that throws instead of failing its answers must not cost the batch its retries.
            return Collections.nCopies(commands.size(), CompletableFuture.failedFuture(failure));
        }
    }

    private static Stream<RenewCommand> commands(StoreHold hold, ClockReading now) {
        ClockReading fixedEnd = hold.fixedEnd();
        long remaining = fixedEnd == null ? 0 : TimeUnit.NANOSECONDS.toMillis(fixedEnd.nanosFrom(now));
        long lease = fixedEnd == null ? hold.spec.leaseMillis() : remaining + AcquireSpec.marginMillis(remaining);
        return hold.spec.names().stream().map(name -> new RenewCommand(name, hold.attempt, lease, false, 0));
    }

    /** Returns whether all answers are yes. A no comes at once; a failure only where nothing says no. */
    static CompletableFuture<Boolean> all(List<CompletableFuture<Boolean>> answers) {
        if (answers.size() == 1) {
            return answers.get(0);
        }
        CompletableFuture<Boolean> result = new CompletableFuture<>();
        Predicate<CompletableFuture<Boolean>> saysNo =
                answer -> answer.isDone() && !answer.isCompletedExceptionally() && !answer.join();
        answers.forEach(answer -> answer.whenComplete((told, failure) -> {
            if (saysNo.test(answer)) {
                result.complete(false);
            }
        }));
        // Of what hangs on the last answer, this runs first.
        CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new)).whenComplete((told, failure) -> {
            if (failure == null || answers.stream().anyMatch(saysNo)) {
                result.complete(answers.stream().noneMatch(saysNo));
            } else {
                result.completeExceptionally(failure);
            }
        });
        return result;
    }

    /** An error here must not cost a hold its renewals: it is renewed once more, soon. */
    private void answered(StoreHold hold, ClockReading sent, @Nullable Boolean held, @Nullable Throwable failure) {
        try {
            if (!hold.isOver()) {
                renewed(hold, sent, held, failure);
            }
        } catch (Throwable error) {
            due(hold, true, context.now(), MIN_RETRY_NANOS);
            log.error("The answer to a renewal could not be told, and it is renewed again", error);
        }
    }

    private void renewed(StoreHold hold, ClockReading sent, @Nullable Boolean held, @Nullable Throwable failure) {
        ClockReading now = context.now();
        if (held == null) {
            failed(hold, failure == null ? new StoreException("the store gave no answer", null) : failure, now);
        } else if (held) {
            AcquireSpec spec = hold.spec;
            ClockReading fixedEnd = hold.fixedEnd();
            hold.renewed(fixedEnd == null ? LeasePolicy.deadline(spec.leaseMillis(), sent) : fixedEnd, sent, now);
            watch(hold);
            Duration remaining = Duration.ofNanos(hold.deadline().nanosFrom(now));
            context.listener()
                    .onRenewed(new LockListener.Renewed(spec.names(), spec.lockMode(), hold.label(), remaining));
        } else {
            lose.accept(hold, StoreHold.SAYS_ENDED);
        }
    }

    private void failed(StoreHold hold, Throwable failure, ClockReading now) {
        AcquireSpec spec = hold.spec;
        long remaining = hold.deadline().nanosFrom(now);
        warn(spec.name(), remaining, failure);
        long delay = Math.max(MIN_RETRY_NANOS, Math.min(MAX_RETRY_NANOS, remaining / 10));
        due(hold, delay < remaining, now, Math.min(delay, remaining));
        context.listener()
                .onRenewalFailed(new LockListener.RenewalFailed(
                        spec.names(), spec.lockMode(), hold.label(), Duration.ofNanos(remaining), failure));
    }

    /** Warns now and then, however many locks one failing server costs their renewals. */
    private void warn(String name, long remainingNanos, Throwable failure) {
        int others;
        synchronized (this) {
            long now = context.nanoTime();
            if (warned && now - lastWarningNanos < WARNING_PAUSE_NANOS) {
                unsaidWarnings++;
                log.debug("Renewal of lock '{}' failed: {}", name, failure.getMessage());
                return;
            }
            warned = true;
            lastWarningNanos = now;
            others = unsaidWarnings;
            unsaidWarnings = 0;
        }
        log.warn(
                "Renewal of lock '{}' failed, {} ms before its end, and is tried again ({} other failures since the last"
                        + " such line): {}",
                name,
                TimeUnit.NANOSECONDS.toMillis(remainingNanos),
                others,
                failure.getMessage());
    }
}
