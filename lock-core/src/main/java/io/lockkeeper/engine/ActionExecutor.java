/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockInstance;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreTraits;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Executes the actions of local locks, in order, outside their monitors, and brings them their events. An action that throws
 * anything is executed again a little later, and a question that throws is a failed one: nothing ends in silence.
 */
final class ActionExecutor {

    private static final Logger log = LoggerFactory.getLogger(ActionExecutor.class);

    /** How long a refusal may wait for the name of the holder. */
    private static final long NAME_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** The latest moment after the end of a wait at which its caller is told the name of the holder. */
    private static final long LAST_WORD_NANOS = TimeUnit.MILLISECONDS.toNanos(80);

    /** How long a caller waits at most until its place is gone. */
    static final long PLACE_GONE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int MOST_TRIES = 40;

    /** Instead of the time for which a thread waits: commands run on other threads. */
    private static final long IN_BACKGROUND = -1;

    /** For so many polls a store keeps what a waiting attempt has. */
    private static final int ALIVE_POLLS = 3;

    /** What the actions concern beside the store and the callers. */
    interface Owner {

        /** Makes the lease of a caller. */
        ManagedLease lease(LockAction.Grant grant);

        /** Renews a hold. */
        void watch(StoreHold hold);

        /** A caller was refused and has tries left. */
        void retry(PendingRequest request);

        /** A lock takes no callers any more. */
        void retired(LocalLock lock);

        /** The next fair caller may ask. */
        void gateOpened(LocalLock lock);
    }

    /** Something that happens to a lock. */
    @FunctionalInterface
    interface Event {

        /** Returns what is to be done; null: nothing has happened. */
        @Nullable
        List<LockAction> apply(LocalLock lock, ClockReading now);
    }

    private final LockStore store;
    private final EngineContext context;
    private final PendingAnswers calls;
    private final LeaseRegistry registry;
    private final LockInspection inspection;
    private final Owner owner;

    /** The second cancels to come of attempts that have asked without an answer. */
    private final Map<Object, CompletableFuture<?>> lastCancels = new ConcurrentHashMap<>();

    /** Known when the store is open, which is before the first command. */
    private volatile StoreTraits traits = new StoreTraits(Duration.ZERO, Duration.ZERO, Duration.ZERO, true);

    ActionExecutor(
            LockStore store,
            EngineContext context,
            PendingAnswers calls,
            LeaseRegistry registry,
            LockInspection inspection,
            Owner owner) {
        this.store = store;
        this.context = context;
        this.calls = calls;
        this.registry = registry;
        this.inspection = inspection;
        this.owner = owner;
    }

    /** Says what the store has said of itself when it was opened. */
    void opened(StoreTraits opened) {
        traits = opened;
    }

    /** Brings an event to a lock and executes what follows; commands run in the background. Returns whether it happened. */
    boolean on(LocalLock lock, Event event) {
        return on(lock, IN_BACKGROUND, null, event);
    }

    /**
     * Brings an event to a lock and executes what follows.
     *
     * @param waitNanos how long this thread, on which commands run, waits for their answers; 0: not at all
     * @param released completed when a hold that ends with the event is known to have ended; null: no one waits for that
     * @return whether the event happened; false: it came too late
     */
    boolean on(LocalLock lock, long waitNanos, @Nullable CompletableFuture<ReleaseResult> released, Event event) {
        List<LockAction> actions = decide(lock, event);
        if (actions == null) {
            return false;
        }
        execute(lock, actions, waitNanos, released);
        return true;
    }

    private @Nullable List<LockAction> decide(LocalLock lock, Event event) {
        synchronized (lock) {
            try {
                return event.apply(lock, context.now());
            } catch (Throwable error) {
                log.error("An error came into a decision about {}, whose callers fail", lock.spec.names(), error);
                return lock.broken();
            }
        }
    }

    private void execute(
            LocalLock lock,
            List<LockAction> actions,
            long waitNanos,
            @Nullable CompletableFuture<ReleaseResult> released) {
        boolean ends = false;
        for (LockAction action : actions) {
            ends |= action instanceof LockAction.Release || action instanceof LockAction.HandOver;
            execute(lock, action, waitNanos, released, 0);
        }
        if (released != null && !ends) {
            released.complete(ReleaseResult.RELEASED);
        }
        if (lock.isBroken()) {
            failCallersOf(lock);
        }
    }

    /** The callers of a broken lock may be unknown there, and its hold may have no owner. */
    void failCallersOf(LocalLock broken) {
        registry.forEachPending((caller, lock) -> {
            if (lock == broken) {
                fail(caller, new StoreException("an error came into the answer", null));
            }
        });
        StoreHold hold = broken.hold();
        if (hold != null && hold.leases().isEmpty()) {
            lose(hold, "an error came into its release");
        }
    }

    private void execute(
            LocalLock lock,
            LockAction action,
            long waitNanos,
            @Nullable CompletableFuture<ReleaseResult> released,
            int tries) {
        try {
            execute(lock, action, waitNanos, released);
        } catch (Throwable error) {
            if (tries == 0) {
                log.error("{} failed, and is executed again", action, error);
            }
            if (tries < MOST_TRIES) {
                context.scheduler()
                        .schedule(() -> execute(lock, action, IN_BACKGROUND, released, tries + 1), RETRY_NANOS);
            }
        }
    }

    private void execute(
            LocalLock lock, LockAction action, long waitNanos, @Nullable CompletableFuture<ReleaseResult> released) {
        if (action instanceof LockAction.Grant grant) {
            grant(grant);
        } else if (action instanceof LockAction.Watch watch) {
            owner.watch(watch.hold());
        } else if (action instanceof LockAction.Ask ask) {
            run(waitNanos, wait -> ask(lock, ask, wait));
        } else if (action instanceof LockAction.TimeoutAfter timeout) {
            timeout(timeout.waiter(), timeout.nanos());
        } else if (action instanceof LockAction.Release release) {
            run(waitNanos, wait -> release(release, wait, released));
        } else if (action instanceof LockAction.HandOver handOver) {
            run(waitNanos, wait -> handOver(lock, handOver, wait, released));
        } else if (action instanceof LockAction.PollAfter poll) {
            pollAfter(lock, poll);
        } else if (action instanceof LockAction.StopPolling stop) {
            stop.attempt().stopPolling();
        } else if (action instanceof LockAction.Forget forget) {
            forget(forget.attempt());
        } else if (action instanceof LockAction.Cancel cancel) {
            forget(cancel.attempt());
            boolean unanswered = cancel.attempt().unanswered.get() > 0;
            run(waitNanos, wait -> cancel(lock.spec, cancel.attempt().id, 0, cancel.keepMillis(), unanswered)
                    .whenComplete((told, never) -> placeGone(cancel.leaver())));
        } else if (action instanceof LockAction.Refuse refuse) {
            refuse(refuse);
        } else if (action instanceof LockAction.Fail fail) {
            fail(fail.waiter(), fail.failure());
        } else if (action instanceof LockAction.PlaceGone gone) {
            placeGone(gone.leaver());
        } else if (action instanceof LockAction.OpenGate) {
            owner.gateOpened(lock);
        } else if (action instanceof LockAction.Retire) {
            owner.retired(lock);
        }
    }

    private void run(long waitNanos, LongConsumer commands) {
        calls.run(
                waitNanos == IN_BACKGROUND ? context.background() : Runnable::run,
                () -> commands.accept(Math.max(0, waitNanos)));
    }

    // ---- callers ----

    private void grant(LockAction.Grant grant) {
        PendingRequest waiter = grant.waiter();
        ManagedLease lease = waiter.lease;
        if (lease == null) {
            lease = owner.lease(grant);
            waiter.lease = lease;
        }
        answered(waiter);
        // Where this is executed again, the caller may have the lease already.
        boolean complete = waiter.complete(lease) || (!waiter.isCompletedExceptionally() && waiter.join() == lease);
        if (!complete || waiter.abandoned) {
            calls.run(context.background(), lease::giveBack);
        }
    }

    private void refuse(LockAction.Refuse refuse) {
        PendingRequest waiter = refuse.waiter();
        if (waiter.mayRetry() && !waiter.isDone()) {
            waiter.stopTimeout();
            owner.retry(waiter);
        } else if (refuse.whenPlaceGone()) {
            CompletableFuture<@Nullable Void> gone = waiter.leaving();
            if (!gone.isDone()) {
                context.scheduler().schedule(() -> placeGone(waiter), PLACE_GONE_NANOS);
            }
            gone.whenComplete((told, never) -> refuse(waiter, refuse.holder()));
        } else {
            refuse(waiter, refuse.holder());
        }
    }

    private void refuse(PendingRequest waiter, @Nullable String holder) {
        if (holder == null || holder.isEmpty()) {
            refuse(waiter, (LockInstance) null);
            return;
        }
        long left = waiter.isLimited()
                ? waiter.patienceNanos + LAST_WORD_NANOS - (context.now().nanos() - waiter.tried.nanos())
                : Long.MAX_VALUE;
        inspection.holderOf(holder, Math.min(left, NAME_NANOS)).whenComplete((known, failure) -> refuse(waiter, known));
    }

    private void refuse(PendingRequest waiter, @Nullable LockInstance holder) {
        fail(
                waiter,
                new LockNotAcquiredException(
                        waiter.request.names(), waiter.asked.until(context.now()), waiter.tries, holder));
    }

    private void fail(PendingRequest waiter, RuntimeException failure) {
        answered(waiter);
        waiter.completeExceptionally(failure);
    }

    private void answered(PendingRequest waiter) {
        waiter.stopTimeout();
        registry.remove(waiter);
    }

    private static void placeGone(@Nullable PendingRequest leaver) {
        if (leaver != null) {
            leaver.leaving().complete(null);
        }
    }

    private void timeout(PendingRequest waiter, long nanos) {
        if (waiter.blocking) {
            waiter.timeoutNanos = context.now().nanos() + nanos;
            waiter.timed = true;
        } else {
            waiter.timeoutBy(() -> context.scheduler().schedule(() -> timeOut(waiter), nanos));
        }
    }

    /** The time of a caller is up. */
    void timeOut(PendingRequest waiter) {
        LocalLock lock = registry.lockOf(waiter);
        waiter.timed = false;
        if (lock != null) {
            on(lock, (known, now) -> known.timedOut(waiter, now, calls.heardNanos()));
        }
    }

    /** A caller leaves; returns what is completed when it has no place in the store any more. */
    CompletableFuture<@Nullable Void> leave(PendingRequest waiter) {
        CompletableFuture<@Nullable Void> gone = waiter.leaving();
        LocalLock lock = registry.lockOf(waiter);
        answered(waiter);
        if (lock == null || !on(lock, (known, now) -> known.left(waiter))) {
            gone.complete(null);
        }
        return gone;
    }

    // ---- the one way to lose a hold ----

    /** Makes a hold lost, unless it is over: its holders are told, and those who wait for the lock ask again. */
    void lose(StoreHold hold, String reason) {
        LocalLock lock = registry.lockOf(hold.attempt);
        if (lock == null) {
            return;
        }
        long keep = hold.leases().stream()
                .mapToLong(StoreHold.Holder::keepMillis)
                .max()
                .orElse(0);
        List<LockAction> actions = decide(lock, (known, now) -> known.lost(hold, reason, now));
        if (actions == null) {
            return;
        }
        registry.untrack(hold.attempt);
        hold.leases().forEach(holder -> holder.lost(reason));
        // What the store may still keep goes back now: other locks of the same request, or a lease that is over for
        // us only. Where the answer never comes, the store ends the hold by itself; but it may have kept some of
        // several locks for longer than a lease, while the attempt waited for the others.
        ReleaseCommand giveBack = new ReleaseCommand(hold.spec.names(), hold.attempt, 0, keep);
        ClockReading end = hold.spec.names().size() == 1 ? context.now() : keptUntil(hold.spec, context.now());
        context.background().execute(() -> end(new Ending(giveBack, end, null)));
        execute(lock, actions, IN_BACKGROUND, null);
    }

    // ---- commands ----

    private void ask(LocalLock lock, LockAction.Ask ask, long waitNanos) {
        AcquireAttempt attempt = ask.attempt();
        if (attempt.isOver()) {
            return;
        }
        registry.track(attempt.id, lock);
        if (attempt.isOver() && !isHeldBy(lock, attempt)) {
            // It ended meanwhile, and its end may have come before this.
            registry.untrack(attempt.id);
            return;
        }
        ClockReading sent = context.now();
        attempt.unanswered.incrementAndGet();
        calls.send(
                () -> store.acquire(lock.spec
                        .command(attempt.id, ask.queue(), attempt.passes)
                        .awaited(waitNanos)),
                (reply, failure) -> tell(lock, attempt, sent, reply, failure));
    }

    private static boolean isHeldBy(LocalLock lock, AcquireAttempt attempt) {
        StoreHold hold = lock.hold();
        return hold != null && hold.attempt.equals(attempt.id);
    }

    private void tell(
            LocalLock lock,
            AcquireAttempt attempt,
            ClockReading sent,
            @Nullable AcquireReply reply,
            @Nullable Throwable failure) {
        if (reply != null) {
            attempt.unanswered.decrementAndGet();
        }
        on(
                lock,
                reply != null
                        ? (known, now) -> known.replied(attempt, sent, reply, now)
                        : (known, now) -> known.failed(attempt, PendingAnswers.storeFailure(failure), now));
    }

    private void pollAfter(LocalLock lock, LockAction.PollAfter poll) {
        long due = Math.min(traits.pollInterval().toMillis(), Math.max(0, poll.millis()));
        long jitter = context.random().applyAsLong(5, 25 + due / 20);
        AcquireAttempt attempt = poll.attempt();
        attempt.pollBy(poll, () -> context.scheduler()
                .schedule(
                        () -> on(lock, (known, now) -> known.pollDue(attempt, now)),
                        TimeUnit.MILLISECONDS.toNanos(due + jitter)));
    }

    private void forget(AcquireAttempt attempt) {
        attempt.stopPolling();
        registry.untrack(attempt.id);
    }

    private void handOver(
            LocalLock lock,
            LockAction.HandOver handOver,
            long waitNanos,
            @Nullable CompletableFuture<ReleaseResult> released) {
        StoreHold ended = handOver.hold();
        AcquireAttempt next = handOver.next();
        registry.untrack(ended.attempt);
        registry.track(next.id, lock);
        ClockReading sent = context.now();
        ClockReading lastArrival = lastArrival();
        next.unanswered.incrementAndGet();
        HandOverCommand command = new HandOverCommand(
                ended.attempt,
                handOver.lastToken(),
                lock.spec.command(next.id, true, next.passes).awaited(waitNanos),
                false);
        calls.send(() -> store.handOver(command), (reply, failure) -> {
            tell(lock, next, sent, reply == null ? null : reply.next(), failure);
            if (reply == null) {
                complete(released, ReleaseResult.UNKNOWN);
                // In the background: the caller waits for one command only.
                ReleaseCommand again = new ReleaseCommand(ended.spec.names(), ended.attempt, handOver.lastToken(), 0);
                context.background().execute(() -> end(new Ending(again, ended.deadline(), null)));
                return;
            }
            if (!reply.wasHeld()) {
                releaseAgain(ended.spec, ended.attempt, lastArrival);
            }
            complete(released, reply.wasHeld() ? ReleaseResult.RELEASED : ReleaseResult.LOST);
        });
    }

    private void release(
            LockAction.Release release, long waitNanos, @Nullable CompletableFuture<ReleaseResult> released) {
        StoreHold ended = release.hold();
        String before = ended.unconfirmed;
        if (before == null) {
            release(release, ReleaseReply.NOT_HELD, waitNanos, released);
        } else {
            // Nothing was heard of the downgrade yet: the lock may be held by either of the attempts. The first command
            // must be answered before the second one is sent, but the caller waits for no longer than one may take.
            context.scheduler()
                    .schedule(
                            () -> complete(released, ReleaseResult.UNKNOWN),
                            traits.commandTimeout().toNanos());
            cancel(ended.spec, before, release.lastToken(), release.keepMillis(), true)
                    .whenComplete((reply, never) -> release(release, reply, 0, released));
        }
    }

    /** Releases a hold, of which another attempt was released before. */
    private void release(
            LockAction.Release release,
            @Nullable ReleaseReply before,
            long waitNanos,
            @Nullable CompletableFuture<ReleaseResult> released) {
        StoreHold ended = release.hold();
        AcquireSpec spec = ended.spec;
        ReleaseCommand command =
                new ReleaseCommand(spec.names(), ended.attempt, release.lastToken(), release.keepMillis());
        ClockReading lastArrival = lastArrival();
        calls.send(() -> store.release(command.awaited(waitNanos)), (answer, failure) -> {
            // Not before: the late news of its grant would be answered with a release that knows of no minimum hold
            // time.
            registry.untrack(ended.attempt);
            if (answer == null) {
                endAgain(new Ending(command, context.now().plusMillis(spec.leaseMillis()), null));
            } else if (answer == ReleaseReply.NOT_HELD) {
                releaseAgain(spec, ended.attempt, lastArrival);
            }
            complete(released, result(before, answer));
            placeGone(release.leaver());
        });
    }

    /** Returns what came of a release whose hold was that of one of two attempts. */
    private static ReleaseResult result(@Nullable ReleaseReply before, @Nullable ReleaseReply answer) {
        if (before == ReleaseReply.RELEASED || (answer != null && answer != ReleaseReply.NOT_HELD)) {
            return ReleaseResult.RELEASED;
        }
        return before == null || answer == null ? ReleaseResult.UNKNOWN : ReleaseResult.LOST;
    }

    private static void complete(@Nullable CompletableFuture<ReleaseResult> released, ReleaseResult result) {
        if (released != null) {
            released.complete(result);
        }
    }

    /** Returns the last moment at which the store may run what was sent so far. */
    private ClockReading lastArrival() {
        return context.now().plusMillis(traits.commandTimeout().toMillis());
    }

    /** The store remembers nothing of the attempt: a poll that is still on its way would get the lock for a whole lease. */
    private void releaseAgain(AcquireSpec spec, String attempt, ClockReading lastArrival) {
        ReleaseCommand again = new ReleaseCommand(spec.names(), attempt, 0, 0);
        endAt(lastArrival, new Ending(again, lastArrival.plusMillis(spec.leaseMillis()), null));
    }

    /** Ends whatever an attempt may have, for as long as a command of it may still arrive; returns the first answer. */
    CompletableFuture<@Nullable ReleaseReply> cancel(
            AcquireSpec spec, String attempt, long lastToken, long keepMillis, boolean unanswered) {
        // A command of the attempt may still be on its way until the store refuses it as late.
        ClockReading lastArrival = lastArrival();
        ReleaseCommand command = new ReleaseCommand(spec.names(), attempt, lastToken, keepMillis);
        Ending ending = new Ending(command, keptUntil(spec, lastArrival), lastArrival);
        if (unanswered) {
            Object key = new Object();
            lastCancels.put(key, ending.over);
            ending.over.whenComplete((done, never) -> lastCancels.remove(key));
        }
        return end(ending);
    }

    /** Returns until when the store may keep what it gave: what a waiting attempt has, for longer than its lease. */
    private ClockReading keptUntil(AcquireSpec spec, ClockReading given) {
        return given.plusMillis(
                Math.max(spec.leaseMillis(), ALIVE_POLLS * traits.pollInterval().toMillis()));
    }

    /** Returns what is completed when nothing can arrive any more of the attempts that were cancelled, and that is released. */
    CompletableFuture<?> lastCancels() {
        return CompletableFuture.allOf(lastCancels.values().toArray(CompletableFuture<?>[]::new));
    }

    /** The grant of an attempt that has ended: a late copy of a command took a place. */
    void cancelGrant(String name, String attempt) {
        // Or the news is old, and the token was used: so nothing is taken back.
        ReleaseCommand giveBack = new ReleaseCommand(List.of(name), attempt, 0, 0);
        context.background()
                .execute(() -> end(new Ending(
                        giveBack, context.now().plusMillis(traits.grantTime().toMillis()), null)));
    }

    /**
     * A release that is repeated until the store has answered, or its time is over.
     *
     * @param lastArrival when it is sent once more, because something of the attempt may arrive until then; null: never
     * @param over completed when the last release is answered, or given up
     */
    private record Ending(
            ReleaseCommand command,
            ClockReading end,
            @Nullable ClockReading lastArrival,
            CompletableFuture<@Nullable Void> over) {

        Ending(ReleaseCommand command, ClockReading end, @Nullable ClockReading lastArrival) {
            this(command, end, lastArrival, new CompletableFuture<>());
        }
    }

    /** Releases for certain; returns the first answer. */
    private CompletableFuture<@Nullable ReleaseReply> end(Ending ending) {
        CompletableFuture<@Nullable ReleaseReply> told = new CompletableFuture<>();
        calls.send(() -> store.release(ending.command), (reply, failure) -> {
            if (reply == null) {
                endAgain(ending);
            } else if (ending.lastArrival != null) {
                endAt(ending.lastArrival, new Ending(ending.command, ending.end, null, ending.over));
            } else {
                ending.over.complete(null);
            }
            told.complete(reply);
        });
        return told;
    }

    private void endAgain(Ending ending) {
        // By the monotonic clock alone: a wall clock that was set forward says nothing of the store.
        if (ending.end.isAfter(context.now())) {
            endAfter(TimeUnit.MILLISECONDS.toNanos(context.random().applyAsLong(100, 300)), ending);
        } else {
            ending.over.complete(null);
        }
    }

    private void endAt(ClockReading time, Ending ending) {
        endAfter(Math.max(0, time.nanos() - context.nanoTime()), ending);
    }

    private void endAfter(long nanos, Ending ending) {
        context.scheduler().schedule(() -> context.background().execute(() -> end(ending)), nanos);
    }
}
