/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of an open store, and the attempts of which some node may still take a lock, or has yet to be told the end. An
 * attempt that has ended is remembered until every node knows: asked for again meanwhile, it would be given and then taken
 * away.
 */
final class Quorum {

    final List<QuorumNode> nodes;
    final Duration commandTimeout;
    private final Duration leaseTime;
    final Map<String, Attempt> attempts = new ConcurrentHashMap<>();
    private final FairnessWindow window = new FairnessWindow(System::nanoTime);
    private final ScheduledThreadPoolExecutor timer =
            new ScheduledThreadPoolExecutor(1, DaemonThreads.factory("lockkeeper-quorum-timer"));

    /** Creates a quorum of open nodes, of which one that was restarted is trusted again after the lease time. */
    Quorum(List<QuorumNode> nodes, Duration commandTimeout, Duration leaseTime) {
        this.nodes = nodes;
        this.commandTimeout = commandTimeout;
        this.leaseTime = leaseTime;
        timer.setRemoveOnCancelPolicy(true);
    }

    /** Asks all nodes the same, and decides by counting. */
    <T, R> CompletableFuture<R> ask(
            Function<LockStore, CompletableFuture<T>> question, Function<QuorumVote<T>, Optional<R>> rule) {
        return QuorumVote.decide(
                nodes, nodes.stream().map(node -> node.ask(question)).toList(), rule);
    }

    // ---- holds ----

    CompletableFuture<AcquireReply> acquire(AcquireCommand command, long patienceNanos) {
        return isTooLong(command.leaseMillis())
                ? CompletableFuture.failedFuture(tooLong("lease time"))
                : new QuorumAcquisition(command, this).start(Math.max(0, patienceNanos));
    }

    /** Releases, and then acquires for the next attempt; now and then it lets other instances come first. */
    CompletableFuture<HandOverReply> handOver(ReleaseCommand ended, AcquireCommand next) {
        long end = System.nanoTime() + commandTimeout.toNanos();
        boolean mayGoOn = window.mayGoOn(next.name());
        return releaseEverywhere(ended).thenCompose(released -> {
            if (released == ReleaseReply.NOT_HELD) {
                return CompletableFuture.completedFuture(new HandOverReply(false, new AcquireReply.Ended()));
            }
            if (!mayGoOn) {
                return CompletableFuture.completedFuture(new HandOverReply(true, new AcquireReply.Busy("")));
            }
            return acquire(next, end - System.nanoTime())
                    .whenComplete((answer, failure) -> {
                        if (!(answer instanceof AcquireReply.Acquired)) {
                            window.ended(next.name());
                        }
                    })
                    .thenApply(answer -> new HandOverReply(true, answer));
        });
    }

    CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        command.names().forEach(window::ended);
        return isTooLong(command.keepMillis())
                ? CompletableFuture.failedFuture(tooLong("minimum hold time"))
                : releaseEverywhere(command);
    }

    /**
     * Releases at all nodes. The hold is over where a majority says so, and was lost where so many do not know of it that
     * no majority had it.
     */
    private CompletableFuture<ReleaseReply> releaseEverywhere(ReleaseCommand command) {
        Attempt attempt = begin(command.attempt());
        long keptUntil = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(command.keepMillis());
        Ending ending = new Ending(command.names(), command.attempt(), keptUntil, traceEnd());
        attempt.end(ending);
        List<CompletableFuture<ReleaseReply>> replies =
                nodes.stream().map(node -> release(node, attempt, ending)).toList();
        settle(attempt);
        return QuorumVote.decide(nodes, replies, vote -> vote.verdict(reply -> reply != ReleaseReply.NOT_HELD)
                .map(held -> !held
                        ? ReleaseReply.NOT_HELD
                        : vote.answers().contains(ReleaseReply.RELEASED)
                                ? ReleaseReply.RELEASED
                                : ReleaseReply.ALREADY_RELEASED));
    }

    /** Ends an attempt at one node: at once where it answers, in the background where it does not. */
    CompletableFuture<ReleaseReply> release(QuorumNode node, Attempt attempt, Ending ending) {
        Runnable settled = beginAt(node, attempt.id);
        CompletableFuture<ReleaseReply> reply = node.ask(store -> store.release(ending.command()));
        reply.whenComplete((answer, failure) -> {
            if (failure == null) {
                settled.run();
            } else {
                node.releaseLater(ending, settled, this);
            }
        });
        return reply;
    }

    /** Renews holds at all nodes, those of one node together. */
    List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        List<RenewCommand> allowed = commands.stream()
                .filter(command -> !isTooLong(command.leaseMillis()))
                .toList();
        List<List<CompletableFuture<Boolean>>> answers =
                nodes.stream().map(node -> node.renew(allowed)).toList();
        List<CompletableFuture<Boolean>> decisions = new ArrayList<>(commands.size());
        int sent = 0;
        for (RenewCommand command : commands) {
            if (isTooLong(command.leaseMillis())) {
                decisions.add(CompletableFuture.failedFuture(tooLong("lease time")));
            } else {
                int position = sent++;
                decisions.add(QuorumVote.decide(
                        nodes,
                        answers.stream().map(own -> own.get(position)).toList(),
                        vote -> vote.verdict(Boolean::booleanValue)));
            }
        }
        return decisions;
    }

    // ---- attempts ----

    /** Returns an attempt with one more duty. */
    Attempt begin(String id) {
        return attempts.compute(id, (key, known) -> {
            Attempt attempt = known == null ? new Attempt(key) : known;
            attempt.duties++;
            return attempt;
        });
    }

    /** Ends a duty, and forgets the attempt with the last one. */
    void settle(Attempt attempt) {
        attempts.computeIfPresent(attempt.id, (key, known) -> --known.duties == 0 ? null : known);
    }

    private Runnable beginAt(QuorumNode node, String id) {
        Attempt attempt = begin(id);
        node.beginDuty();
        return () -> {
            settle(attempt);
            node.endDuty();
        };
    }

    // ---- times ----

    /** The longest time for which the engine may ask is the lease, and its own margin. */
    private long longestLeaseMillis() {
        return leaseTime.toMillis() + Math.max(100, leaseTime.toMillis() / 100);
    }

    private boolean isTooLong(long millis) {
        return millis > longestLeaseMillis();
    }

    /** Returns when nothing of an attempt that is not renewed can be left at any node, on the monotonic clock. */
    long traceEnd() {
        return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(longestLeaseMillis()) + 2 * commandTimeout.toNanos();
    }

    /** Returns why a time is refused after which a restarted node, which has forgotten the hold, is trusted again. */
    private StoreException tooLong(String what) {
        return new StoreException(
                "on independent masters the " + what + " must be at most the lease time of the template, "
                        + leaseTime.toMillis() + " ms, because a master that was restarted is trusted again after it",
                null);
    }

    /** Runs a short task after a delay, unless the quorum is closed before, and returns what takes it back. */
    Runnable later(long nanos, Runnable task) {
        try {
            var scheduled = timer.schedule(task, nanos, TimeUnit.NANOSECONDS);
            return () -> scheduled.cancel(false);
        } catch (RejectedExecutionException closed) {
            return () -> {};
        }
    }

    void close() {
        QuorumLockStore.inParallel(nodes, node -> node.close(commandTimeout));
        timer.shutdownNow();
    }

    /**
     * How an attempt ends, at every node sooner or later. On the monotonic clock, the locks stay taken until one moment, and
     * nothing of the attempt can be left at any node after the other.
     */
    record Ending(List<String> names, String attempt, long keptUntil, long until) {

        boolean isOver() {
            return System.nanoTime() - until >= 0;
        }

        /**
         * Returns the release for a node that is told now. It keeps all tokens: which of them were used is known only for
         * the first of several locks, and a token that is never given out does no harm.
         */
        ReleaseCommand command() {
            long keep = TimeUnit.NANOSECONDS.toMillis(Math.max(0, keptUntil - System.nanoTime()));
            return new ReleaseCommand(names, attempt, 0, keep);
        }
    }

    /** One attempt of which some node may still take a lock, or has yet to be told the end. */
    static final class Attempt {

        final String id;

        /** How many commands of it some node has not settled; guarded by the map of the quorum. */
        int duties;

        private final AtomicReference<@Nullable Ending> ending = new AtomicReference<>();

        Attempt(String id) {
            this.id = id;
        }

        /** Ends the attempt for good; false: it had ended before. */
        boolean end(Ending how) {
            return ending.compareAndSet(null, how);
        }

        /** Returns how it ended; null while it goes on. */
        @Nullable
        Ending ending() {
            return ending.get();
        }
    }

    /**
     * How long this instance has handed locks over to itself. Other instances have no place in any queue: they ask every 50 to
     * 80 ms, and would find a lock that never rests taken for ever.
     */
    static final class FairnessWindow {

        private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

        private final LongSupplier nanoTime;
        private final Map<String, Long> begins = new ConcurrentHashMap<>();

        FairnessWindow(LongSupplier nanoTime) {
            this.nanoTime = nanoTime;
        }

        /** Returns whether a lock may go on to the next caller of this instance; false: other instances come first. */
        boolean mayGoOn(String name) {
            long now = nanoTime.getAsLong();
            if (now - begins.computeIfAbsent(name, key -> now) < LONGEST_NANOS) {
                return true;
            }
            ended(name);
            return false;
        }

        /** Ends the window: the lock is not this instance's any more. */
        void ended(String name) {
            begins.remove(name);
        }

        int size() {
            return begins.size();
        }
    }
}
