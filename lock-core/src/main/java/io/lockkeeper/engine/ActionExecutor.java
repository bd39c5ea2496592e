/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.CommandNotExecutedException;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreTraits;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Executes the actions of local locks, in order and outside their monitors, sets their timers, and delivers events to
 * them. An action that throws anything is executed again at the next periodic look. A command that throws counts as
 * failed. All of it is in one file, longer than others, because these rules hold only if every action passes here.
 */
final class ActionExecutor {

    private static final Logger log = LoggerFactory.getLogger(ActionExecutor.class);

    /** How long a refusal may wait for the name of the holder. */
    private static final long NAME_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** The latest moment after the end of a wait at which its caller is told the name of the holder. */
    private static final long LAST_WORD_NANOS = TimeUnit.MILLISECONDS.toNanos(80);

    /** How long a caller waits at most until its place is gone. */
    static final long PLACE_GONE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /**
     * The pauses between the repetitions of a release begin with the first, and double up to the second, or half a
     * command timeout: closing waits for two of these only.
     */
    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private static final long MOST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1_600);

    /** In place of the time for which a thread waits: the actions run on background threads. */
    private static final long IN_BACKGROUND = -1;

    /** The result of an event that ends nothing in the store. */
    private static final CompletableFuture<ReleaseResult> RELEASED =
            CompletableFuture.completedFuture(ReleaseResult.RELEASED);

    /** The part of the engine that actions concern, besides the store and the callers. */
    interface Owner {

        ManagedLease lease(LockAction.Grant grant);

        void watch(StoreHold hold);

        /** A caller was refused and has tries left. */
        void retry(PendingRequest request);

        /** A lock takes no callers any more. */
        void retired(LocalLock lock);
    }

    @FunctionalInterface
    interface Event {

        /** Returns what is to be done; null: nothing has happened. */
        @Nullable
        List<LockAction> apply(LocalLock lock, ClockReading now);
    }

    private final LockStore store;
    private final StoreTraits traits;
    private final EngineContext context;
    private final PendingAnswers calls;
    private final LeaseRegistry registry;
    private final LockInspection inspection;
    private final Owner owner;
    private final FifoGate gate = new FifoGate();

    /** Releases that are still to be sent, or to be sent again. */
    private final Set<Ending> endings = ConcurrentHashMap.newKeySet();

    ActionExecutor(
            LockStore store,
            StoreTraits traits,
            EngineContext context,
            PendingAnswers calls,
            LeaseRegistry registry,
            LockInspection inspection,
            Owner owner) {
        this.store = store;
        this.traits = traits;
        this.context = context;
        this.calls = calls;
        this.registry = registry;
        this.inspection = inspection;
        this.owner = owner;
    }

    /** Returns how long the store may take for an answer. */
    Duration commandTimeout() {
        return traits.commandTimeout();
    }

    /** Returns the number of names for which fair callers wait to ask. */
    int gated() {
        return gate.size();
    }

    // ---- events ----

    /** Delivers an event to a lock, and executes the actions in the background. */
    @Nullable
    CompletableFuture<ReleaseResult> on(LocalLock lock, Event event) {
        return on(lock, IN_BACKGROUND, event);
    }

    /**
     * Delivers an event to a lock and executes the actions. If this thread waits, its caller must have called
     * {@link PendingAnswers#begin}.
     *
     * @param waitNanos how long this thread, on which commands run, waits for their answers; 0: not at all
     * @return completed when the store has ended the hold, or the place in the queue, that the event gives up; null if
     *     the event came too late
     */
    @Nullable
    CompletableFuture<ReleaseResult> on(LocalLock lock, long waitNanos, Event event) {
        List<LockAction> actions = decide(lock, event);
        return actions == null ? null : execute(lock, actions, waitNanos);
    }

    private @Nullable List<LockAction> decide(LocalLock lock, Event event) {
        List<LockAction> actions;
        synchronized (lock) {
            try {
                actions = event.apply(lock, context.now());
            } catch (Throwable error) {
                actions = lock.broken();
                EngineContext.quietly(
                        log, "An error interrupted a decision about {}, whose callers fail", lock.names, error);
            }
        }
        try {
            setTimer(lock);
        } catch (Throwable error) {
            EngineContext.quietly(log, "The timer of {} could not be set, and is set later", lock.names, error);
        }
        return actions;
    }

    void setTimer(LocalLock lock) {
        if (lock.isTimerSet()) {
            return;
        }
        synchronized (lock) {
            long due = lock.dueNanos();
            LocalLock.Timer before = lock.timer();
            if (before != null) {
                before.timeout().cancel();
                lock.timer(null);
            }
            if (due != ClockReading.NEVER) {
                long delay = Math.max(0, due - context.nanoTime());
                lock.timer(new LocalLock.Timer(context.scheduler().schedule(() -> timeHasCome(lock), delay), due));
            }
        }
    }

    private void timeHasCome(LocalLock lock) {
        // Not on the timer's thread: answering many callers whose times are up together would delay other tasks.
        context.background()
                .execute(() -> on(lock, (known, now) -> {
                    known.timer(null);
                    return known.due(now, calls.heard());
                }));
    }

    void timeOut(PendingRequest waiter) {
        LocalLock lock = registry.lockOf(waiter);
        if (lock == null) {
            // Another thread is answering it.
            waiter.endTime();
        } else {
            on(lock, (known, now) -> known.timedOut(waiter, now, calls.heard()));
        }
    }

    /** Removes a caller; the result completes when it has no place in the store any more. */
    CompletableFuture<?> leave(PendingRequest waiter) {
        LocalLock lock = registry.lockOf(waiter);
        registry.remove(waiter);
        CompletableFuture<?> gone = lock == null ? null : on(lock, (known, now) -> known.left(waiter));
        return gone == null ? PendingAnswers.DONE : gone;
    }

    /** Marks a hold as lost, unless it is over: tells its holders, and lets those who wait for the lock ask again. */
    void lose(StoreHold hold, String reason) {
        LocalLock lock = registry.lockOf(hold.id);
        if (lock == null) {
            return;
        }
        long keep = hold.leases().stream()
                .mapToLong(StoreHold.Holder::keepMillis)
                .reduce(hold.keepMillis(context.now()), Math::max);
        List<LockAction> actions = decide(lock, (known, now) -> known.lost(hold, reason, now));
        if (actions == null) {
            return;
        }
        calls.untilDone(() -> {
            registry.untrack(hold.id);
            // The store may still keep other locks of the same request, or a lease that is over only here, for example
            // because a renewal was not answered. The release is registered before the holders are told, because
            // closing waits first for the holders and then for the registered releases.
            ReleaseCommand giveBack = new ReleaseCommand(hold.names, hold.attempt(), 0, keep);
            context.background().execute(awaited(new Ending(giveBack, keptUntil(hold), null)));
            hold.leases().forEach(holder -> holder.lost(reason));
        });
        execute(lock, actions, IN_BACKGROUND);
    }

    void endIfBroken(LocalLock lock) {
        if (lock.broken) {
            on(lock, (known, now) -> known.broken());
        }
    }

    /** Fails the callers of a broken lock, which may not know them any more, and loses a hold that has no lease. */
    private void failCallersOf(LocalLock broken) {
        registry.forEachPending(
                (caller, lock) -> lock == broken,
                (caller, lock) -> fail(caller, new StoreException("an error came into the answer", null)));
        StoreHold hold = broken.hold();
        if (hold != null && hold.leases().isEmpty()) {
            lose(hold, "an error came into its release");
        }
    }

    // ---- actions ----

    /** Executes actions. A command runs on this thread only if it waits, and only the first one does. */
    private CompletableFuture<ReleaseResult> execute(LocalLock lock, List<LockAction> actions, long waitNanos) {
        CompletableFuture<ReleaseResult> last = RELEASED;
        long wait = waitNanos;
        try {
            for (LockAction action : actions) {
                // An attempt that had a hold stays registered until its release is answered.
                if (action instanceof LockAction.Cancel cancel
                        && cancel.attempt().hold() == null) {
                    registry.untrack(cancel.attempt().id);
                }
                boolean command = action instanceof LockAction.Command;
                last = command && !(action instanceof LockAction.Ask) ? new CompletableFuture<>() : last;
                execute(lock, action, last, command ? wait : 0);
                wait = command && wait > 0 ? IN_BACKGROUND : wait;
            }
            if (lock.broken) {
                failCallersOf(lock);
            }
            return last;
        } catch (Throwable error) {
            broken(lock);
            throw error;
        }
    }

    private void execute(LocalLock lock, LockAction action, CompletableFuture<ReleaseResult> gone, long waitNanos) {
        Thread caller = Thread.currentThread();
        long most = Math.max(0, waitNanos);
        // After an error the step is repeated on another thread, which must not wait.
        Runnable step = () -> carryOut(lock, action, gone, caller == Thread.currentThread() ? most : 0);
        calls.untilDone(
                waitNanos == IN_BACKGROUND ? () -> calls.run(context.background(), () -> untilDone(lock, step)) : step);
    }

    private void untilDone(LocalLock lock, Runnable step) {
        try {
            calls.untilDone(step);
        } catch (Throwable error) {
            broken(lock);
            throw error;
        }
    }

    /** There was no memory even to repeat a step: the next periodic look ends the lock's callers and hold. */
    private void broken(LocalLock lock) {
        lock.broken = true;
        registry.breaks = true;
    }

    /** Executes one action. A refusal waits until the store has removed the place that was given up before it. */
    private void carryOut(LocalLock lock, LockAction action, CompletableFuture<ReleaseResult> gone, long waitNanos) {
        if (action instanceof LockAction.Ask ask) {
            ask(lock, ask.attempt(), waitNanos);
        } else if (action instanceof LockAction.Release release) {
            release(release, waitNanos, gone);
        } else if (action instanceof LockAction.HandOver handOver) {
            handOver(lock, handOver, waitNanos, gone);
        } else if (action instanceof LockAction.Cancel cancel) {
            AcquireAttempt attempt = cancel.attempt();
            ReleaseCommand ending = new ReleaseCommand(lock.names, attempt.id.toString(), 0, cancel.keepMillis());
            cancel(ending, lock.spec, attempt.unanswered.get() > 0)
                    .whenComplete((reply, never) -> gone.complete(ReleaseResult.RELEASED));
        } else if (action instanceof LockAction.Grant grant) {
            grant(grant);
        } else if (action instanceof LockAction.Watch watch) {
            owner.watch(watch.hold());
        } else if (action instanceof LockAction.Forget forget) {
            registry.untrack(forget.attempt().id);
        } else if (action instanceof LockAction.Refuse refuse) {
            refuse(refuse.waiter(), refuse.holder(), gone);
        } else if (action instanceof LockAction.Fail fail) {
            fail(fail.waiter(), fail.failure());
        } else if (action instanceof LockAction.Retire) {
            owner.retired(lock);
            openGate(lock);
        }
    }

    private void grant(LockAction.Grant grant) {
        PendingRequest waiter = grant.waiter();
        ManagedLease lease = owner.lease(grant);
        registry.remove(waiter);
        // When the action is repeated after an error, the caller may already have the lease.
        boolean complete = waiter.complete(lease) || (!waiter.isCompletedExceptionally() && waiter.join() == lease);
        if (!complete || waiter.abandoned) {
            calls.run(context.background(), lease::giveBack);
        }
    }

    private void refuse(PendingRequest waiter, @Nullable String holder, CompletableFuture<?> gone) {
        if (waiter.mayRetry() && !waiter.isDone()) {
            waiter.retryOnce(owner::retry);
        } else {
            long most = Math.min(PLACE_GONE_NANOS, lastWordNanos(waiter));
            calls.await(context.scheduler().atMost(most, gone), (told, never) -> refuse(waiter, holder));
        }
    }

    private void refuse(PendingRequest waiter, @Nullable String holder) {
        long most = Math.min(NAME_NANOS, lastWordNanos(waiter));
        calls.await(inspection.holderOf(holder, most), (known, failure) -> {
            Duration waited = waiter.asked.until(context.now());
            fail(waiter, new LockNotAcquiredException(waiter.request.names(), waited, waiter.tries, known));
        });
    }

    private long lastWordNanos(PendingRequest waiter) {
        return waiter.isLimited() ? waiter.leftNanos(context.now()) + LAST_WORD_NANOS : Long.MAX_VALUE;
    }

    private void fail(PendingRequest waiter, RuntimeException failure) {
        registry.remove(waiter);
        ManagedLease lease = waiter.lease;
        if (waiter.completeExceptionally(failure) && lease != null) {
            // Its grant was interrupted by an error.
            lease.giveBack();
        }
    }

    // ---- questions ----

    private void ask(LocalLock lock, AcquireAttempt attempt, long waitNanos) {
        if (attempt.gated) {
            boolean first = gate.enter(lock);
            if (attempt.isOver()) {
                // Its caller left before it entered the gate: the next one must not wait for it.
                openGate(lock);
            } else if (first) {
                on(lock, waitNanos, LocalLock::turn);
            }
            return;
        }
        if (attempt.isOver()) {
            return;
        }
        registry.track(attempt.id, lock);
        if (attempt.isOver() && (attempt.hold() == null || attempt.hold() != lock.hold())) {
            // It ended meanwhile, perhaps before it was tracked.
            registry.untrack(attempt.id);
            return;
        }
        ClockReading sent = context.now();
        AcquireCommand command = lock.spec.command(lock.names, attempt.id, attempt.queues, attempt.passes, waitNanos);
        attempt.unanswered.incrementAndGet();
        calls.send(() -> store.acquire(command), (reply, failure) -> answered(lock, attempt, sent, reply, failure));
    }

    private void answered(
            LocalLock lock,
            AcquireAttempt attempt,
            ClockReading sent,
            @Nullable AcquireReply reply,
            @Nullable Throwable failure) {
        if (reply == null) {
            StoreException reason = PendingAnswers.storeFailure(failure);
            if (reason instanceof CommandNotExecutedException) {
                attempt.unanswered.decrementAndGet();
            }
            on(lock, (known, now) -> known.failed(attempt, reason, now));
            return;
        }
        attempt.unanswered.decrementAndGet();
        calls.heardAfter(sent);
        on(lock, (known, now) -> known.replied(attempt, sent, reply, now));
        if (reply instanceof AcquireReply.Queued || reply instanceof AcquireReply.Acquired) {
            openGate(lock);
        }
    }

    /** Lets the next fair lock ask: this one has its place in the store's queue, or needs none. */
    private void openGate(LocalLock lock) {
        LocalLock next = lock.spec.mode() == ClaimMode.FAIR ? gate.leave(lock) : null;
        if (next != null) {
            on(next, LocalLock::turn);
        }
    }

    private void handOver(
            LocalLock lock, LockAction.HandOver handOver, long waitNanos, CompletableFuture<ReleaseResult> released) {
        StoreHold ended = handOver.hold();
        AcquireAttempt next = handOver.next();
        registry.track(next.id, lock);
        ClockReading sent = context.now();
        ClockReading lastArrival = lastArrival();
        next.unanswered.incrementAndGet();
        HandOverCommand command = new HandOverCommand(
                ended.attempt(),
                handOver.lastToken(),
                lock.spec.command(lock.names, next.id, true, next.passes, waitNanos),
                false);
        calls.send(() -> store.handOver(command), (reply, failure) -> {
            // Not earlier: a late grant message of an untracked attempt is answered with a release, which might arrive
            // before this command.
            registry.untrack(ended.id);
            answered(lock, next, sent, reply == null ? null : reply.next(), failure);
            if (reply == null) {
                released.complete(ReleaseResult.UNKNOWN);
                // In the background, because the caller waits for one command only.
                ReleaseCommand again = new ReleaseCommand(ended.names, ended.attempt(), handOver.lastToken(), 0);
                context.background().execute(awaited(new Ending(again, keptUntil(ended), null)));
                return;
            }
            if (!reply.wasHeld()) {
                releaseAgain(ended, lastArrival);
            }
            released.complete(reply.wasHeld() ? ReleaseResult.RELEASED : ended.unknownToStore());
        });
    }

    // ---- releases ----

    private void release(LockAction.Release release, long waitNanos, CompletableFuture<ReleaseResult> released) {
        StoreHold ended = release.hold();
        String before = ended.unconfirmed();
        if (before == null) {
            release(release, ReleaseReply.NOT_HELD, waitNanos, released);
        } else {
            // The downgrade is not answered yet, so that either attempt may hold the lock. The release of the first
            // attempt must be answered before that of the second is sent, but the caller waits for one command only.
            long most = traits.commandTimeout().toNanos();
            context.scheduler().schedule(() -> released.complete(ReleaseResult.UNKNOWN), most);
            calls.await(
                    cancel(ended, before, release.lastToken(), release.keepMillis()),
                    (reply, never) -> release(release, reply, 0, released));
        }
    }

    /** Releases a hold, of which another attempt was released before. */
    private void release(
            LockAction.Release release,
            @Nullable ReleaseReply before,
            long waitNanos,
            CompletableFuture<ReleaseResult> released) {
        StoreHold ended = release.hold();
        ReleaseCommand command =
                new ReleaseCommand(ended.names, ended.attempt(), release.lastToken(), release.keepMillis(), waitNanos);
        ClockReading lastArrival = lastArrival();
        calls.send(() -> store.release(command), (answer, failure) -> {
            // Not earlier: a late grant message of an untracked attempt is answered with a release that knows no
            // minimum hold time.
            registry.untrack(ended.id);
            if (answer == null) {
                // No thread waits for the repetitions.
                awaited(new Ending(command.awaited(0), keptUntil(ended), null)).again();
            } else if (answer == ReleaseReply.NOT_HELD) {
                releaseAgain(ended, lastArrival);
            }
            boolean held = before == ReleaseReply.RELEASED || (answer != null && answer != ReleaseReply.NOT_HELD);
            // A copy of the first command, whose answer was lost, or the downgrade may have ended the hold.
            boolean unknown = before == null || before == ReleaseReply.ALREADY_RELEASED || answer == null;
            released.complete(held ? ReleaseResult.RELEASED : unknown ? ReleaseResult.UNKNOWN : ended.unknownToStore());
        });
    }

    /** Returns the last moment at which the store may run what was sent so far. */
    private ClockReading lastArrival() {
        return context.now().plusMillis(traits.commandTimeout().toMillis());
    }

    /** Returns until when the store may keep a hold that it does not know to have ended. */
    private ClockReading keptUntil(StoreHold ended) {
        // The first of several locks may be kept longer, for the time until the others were acquired.
        ClockReading now = context.now();
        long most = ended.mostMillis();
        return ended.names.size() > 1 ? keptUntil(most, now) : now.plusMillis(most);
    }

    /** Returns until when the store may keep a lock or a place: the place of a waiter may outlive a short lease. */
    private ClockReading keptUntil(long leaseMillis, ClockReading given) {
        return given.plusMillis(Math.max(leaseMillis, traits.aliveMillis()));
    }

    /** Releases once more, late: the store has forgotten the attempt, and a late poll of it would get the lock. */
    private void releaseAgain(StoreHold ended, ClockReading lastArrival) {
        ReleaseCommand again = new ReleaseCommand(ended.names, ended.attempt(), 0, 0);
        new Ending(again, lastArrival.plusMillis(ended.spec.leaseMillis()), null).at(lastArrival);
    }

    /** Releases one attempt of a hold whose downgrade is not confirmed; returns the first answer. */
    CompletableFuture<@Nullable ReleaseReply> cancel(StoreHold hold, String attempt, long lastToken, long keepMillis) {
        return cancel(new ReleaseCommand(hold.names, attempt, lastToken, keepMillis), hold.spec, true);
    }

    /** Releases an attempt until none of its commands can arrive any more; returns the first answer. */
    private CompletableFuture<@Nullable ReleaseReply> cancel(
            ReleaseCommand command, AcquireSpec spec, boolean unanswered) {
        // A command of the attempt may still be on its way until the store refuses it as late.
        ClockReading lastArrival = lastArrival();
        Ending ending = new Ending(command, keptUntil(spec.leaseMillis(), lastArrival), lastArrival);
        if (unanswered) {
            awaited(ending);
        }
        ending.run();
        return ending.first;
    }

    /** Registers a release that may be repeated, so that closing waits for it. */
    private Ending awaited(Ending ending) {
        endings.add(ending);
        return ending;
    }

    /**
     * Returns what completes when the registered releases are answered or given up: all of them, or only those of
     * cancelled attempts, of which a command may still arrive.
     */
    CompletableFuture<?> releases(boolean all) {
        return CompletableFuture.allOf(endings.stream()
                .filter(ending -> all || ending.cancels)
                .map(ending -> ending.over)
                .toArray(CompletableFuture<?>[]::new));
    }

    /** Gives back the grant of an attempt that has ended: a late copy of a command had taken a place. */
    void cancelGrant(String name, String attempt) {
        // With token 0 no token is taken back: the message may be old, and the token used.
        ReleaseCommand giveBack = new ReleaseCommand(List.of(name), attempt, 0, 0);
        ClockReading end = context.now().plusMillis(traits.grantTime().toMillis());
        context.background().execute(new Ending(giveBack, end, null));
    }

    /** A release that is repeated until the store has answered, or its time is over. */
    private final class Ending implements Runnable {

        private final ReleaseCommand command;
        private final ClockReading end;

        /** Whether a command of its attempt may arrive after the first answer. */
        private final boolean cancels;

        /** When it is sent once more, because a command of the attempt may arrive until then; null: it is not. */
        private volatile @Nullable ClockReading lastArrival;

        /** The number of repetitions, which never overlap. */
        private int repeated;

        /** Completed with the first answer; with null where none came in time. */
        private final CompletableFuture<@Nullable ReleaseReply> first = new CompletableFuture<>();

        /** Completed when the last release is answered, or given up. */
        private final CompletableFuture<@Nullable Void> over = new CompletableFuture<>();

        Ending(ReleaseCommand command, ClockReading end, @Nullable ClockReading lastArrival) {
            this.command = command;
            this.end = end;
            this.cancels = lastArrival != null;
            this.lastArrival = lastArrival;
        }

        @Override
        public void run() {
            calls.untilDone(this::send);
        }

        private void send() {
            calls.send(() -> store.release(command), (reply, failure) -> {
                ClockReading last = lastArrival;
                if (reply == null) {
                    again();
                } else if (last != null) {
                    // In this order: if no timer can be set, the answer is delivered again.
                    at(last);
                    lastArrival = null;
                } else {
                    finish();
                }
                first.complete(reply);
            });
        }

        void again() {
            // By the monotonic clock alone: a step of the wall clock says nothing about the store.
            if (end.isAfter(context.now())) {
                long most = Math.min(MOST_PAUSE_NANOS, traits.commandTimeout().toNanos() / 2);
                long pause = Math.min(Math.max(most, LEAST_PAUSE_NANOS), LEAST_PAUSE_NANOS << Math.min(repeated++, 10));
                after(context.random().applyAsLong(pause / 2, pause + 1));
            } else {
                finish();
            }
        }

        void at(ClockReading time) {
            after(Math.max(0, time.nanos() - context.nanoTime()));
        }

        private void after(long nanos) {
            context.scheduler().schedule(() -> context.background().execute(this), nanos);
        }

        private void finish() {
            endings.remove(this);
            over.complete(null);
        }
    }
}
