/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.quorum.QuorumVote.Ballot;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of an open store, and the attempts of which some node may still take a lock, or has yet to be told the end.
 * An attempt that has ended is remembered until every node knows: asked for again meanwhile, it would be given and then
 * taken away.
 */
final class Quorum {

    final List<QuorumNode> nodes;
    final Duration commandTimeout;
    private final Duration leaseTime;

    /** The longest time for which the engine may ask: the lease, and its own margin. */
    final long longestMillis;

    final Map<String, Attempt> attempts = new ConcurrentHashMap<>();
    final FairnessWindow window = new FairnessWindow();
    final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(
            1, DaemonThreads.factory("lockkeeper-quorum-timer"), new ThreadPoolExecutor.DiscardPolicy());

    /** Creates a quorum of open nodes, of which one that was restarted is trusted again after the lease time. */
    Quorum(List<QuorumNode> nodes, Duration commandTimeout, Duration leaseTime) {
        this.nodes = nodes;
        this.commandTimeout = commandTimeout;
        this.leaseTime = leaseTime;
        this.longestMillis = leaseTime.toMillis() + Math.max(100, leaseTime.toMillis() / 100);
        timer.setRemoveOnCancelPolicy(true);
    }

    /** Asks all nodes the same, and decides by counting. */
    <T, R> CompletableFuture<R> ask(
            Function<LockStore, CompletableFuture<T>> question, Function<QuorumVote<T>, Optional<R>> rule) {
        return QuorumVote.decide(each(node -> node.ask(question)), rule);
    }

    <T> List<Ballot<T>> each(Function<QuorumNode, CompletableFuture<T>> question) {
        return nodes.stream()
                .map(node -> new Ballot<>(node, question.apply(node)))
                .toList();
    }

    /** Returns an attempt of which one more thing is to be done: a node's, or an acquisition. */
    Attempt begin(String id, Object duty) {
        return attempts.compute(id, (key, known) -> {
            Attempt attempt = known == null ? new Attempt() : known;
            attempt.duties.add(duty);
            return attempt;
        });
    }

    /** Ends a duty, and forgets the attempt with the last one. */
    void settle(String id, Object duty) {
        attempts.computeIfPresent(
                id, (key, attempt) -> attempt.duties.remove(duty) && attempt.duties.isEmpty() ? null : attempt);
    }

    /**
     * Releases at all nodes. The hold is over where a majority says so, and was lost where so many do not know of it
     * that no majority had it.
     */
    CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        Ending ending = new Ending(command, System.nanoTime());
        // Not to be forgotten after the first node, where that answers at once.
        begin(command.attempt(), ending).ending.compareAndSet(null, ending);
        List<Ballot<ReleaseReply>> replies = each(node -> release(node, ending));
        settle(command.attempt(), ending);
        return QuorumVote.decide(replies, vote -> vote.verdict(reply -> reply != ReleaseReply.NOT_HELD)
                .map(held -> !held
                        ? ReleaseReply.NOT_HELD
                        : vote.answers.contains(ReleaseReply.RELEASED)
                                ? ReleaseReply.RELEASED
                                : ReleaseReply.ALREADY_RELEASED));
    }

    /** Ends an attempt at one node: at once where it answers, in the background where it does not. */
    CompletableFuture<ReleaseReply> release(QuorumNode node, Ending ending) {
        ReleaseCommand command = ending.command();
        begin(command.attempt(), node).ending.compareAndSet(null, ending);
        return node.ask(store -> store.release(command)).whenComplete((answer, failure) -> {
            if (failure == null) {
                settle(command.attempt(), node);
            } else {
                node.releaseLater(ending, this);
            }
        });
    }

    /** Returns whether nothing of an attempt, which is not renewed after its end, is left at any node. */
    boolean hasLapsed(Ending ending) {
        long longest = TimeUnit.MILLISECONDS.toNanos(longestMillis) + 2 * commandTimeout.toNanos();
        return System.nanoTime() - ending.atNanos >= longest;
    }

    /** Returns the failure of a time after which a restarted node, which has forgotten the hold, is trusted again. */
    <T> Optional<CompletableFuture<T>> tooLong(String what, long millis) {
        return millis <= longestMillis
                ? Optional.empty()
                : Optional.of(CompletableFuture.failedFuture(new StoreException(
                        "on independent masters the " + what + " must be at most the lease time of the template, "
                                + leaseTime.toMillis()
                                + " ms, because a master that was restarted is trusted again after it",
                        null)));
    }

    /** Runs a short task after a delay, unless the quorum is closed before. */
    Future<?> later(long nanos, Runnable task) {
        return timer.schedule(task, nanos, TimeUnit.NANOSECONDS);
    }

    /** How an attempt ends, at every node sooner or later: by a command given at a moment of the monotonic clock. */
    record Ending(ReleaseCommand given, long atNanos) {

        /**
         * Returns the release for a node that is told now. It keeps all tokens: which of them were used is known only
         * for the first of several locks, and a token that is never given out does no harm.
         */
        ReleaseCommand command() {
            long since = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - atNanos);
            return new ReleaseCommand(given.names(), given.attempt(), 0, Math.max(0, given.keepMillis() - since));
        }
    }

    /** One attempt of which some node may still take a lock, or has yet to be told the end. */
    static final class Attempt {

        /** Whose commands are not settled: a node once for each. Changed under the map of the quorum. */
        final List<Object> duties = new CopyOnWriteArrayList<>();

        /** How it ended, for good; null while it goes on. */
        final AtomicReference<@Nullable Ending> ending = new AtomicReference<>();
    }

    /**
     * How long this instance has handed locks over to itself. Other instances have no place in any queue: they ask
     * every 50 to 80 ms, and would find a lock that never rests taken for ever.
     */
    static final class FairnessWindow {

        private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

        final Map<String, Turn> turns = new ConcurrentHashMap<>();

        /** Since when attempts of this instance have handed a lock over, and the last of them. */
        private record Turn(String attempt, long begun) {}

        /** Returns whether a lock may go on from one attempt to the next here; false: other instances come first. */
        boolean mayGoOn(String name, String attempt, String next, long now) {
            Turn turn = turns.compute(name, (key, known) -> {
                long begun = known != null && known.attempt.equals(attempt) ? known.begun : now;
                return now - begun < LONGEST_NANOS ? new Turn(next, begun) : null;
            });
            return turn != null;
        }

        /** Ends the window: the lock is not this instance's any more, if the attempt was the last that got it. */
        void ended(String name, String attempt) {
            turns.computeIfPresent(name, (key, turn) -> turn.attempt.equals(attempt) ? null : turn);
        }
    }
}
