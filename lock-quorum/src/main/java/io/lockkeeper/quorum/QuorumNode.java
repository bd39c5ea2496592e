/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.quorum.Quorum.Ending;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreNotReadyException;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** One of the independent stores: asks it, notes whether it answers, and tells it the releases that it missed. */
final class QuorumNode {

    private static final System.Logger log = System.getLogger(QuorumLockStore.class.getName());
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final int MOST_PENDING = 10_000;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    final int number;
    final LockStore store;
    private volatile long lastAnswer = System.nanoTime();

    /** Whether the last that was heard of it is a failure. */
    volatile boolean silent;

    /** Whether it has ever answered. */
    private volatile boolean reached;

    /**
     * Each is sent until the node answers or the hold has ended there by itself. The first is being sent, or waits for
     * that. Guarded by this.
     */
    private final Deque<Ending> pending = new ArrayDeque<>();

    /** All nodes, this one among them. */
    private final List<QuorumNode> nodes;

    private final Executor threads;

    /** Whether its answers count: its server was found to be no other node's. Given under the monitor of the nodes. */
    private volatile boolean hasVote;

    /** The last look at the servers. */
    private CompletableFuture<?> comparison = CompletableFuture.completedFuture(null);

    /** What is said of a server that is another node's, too, for good. */
    private volatile @Nullable String twin;

    QuorumNode(int number, LockStore store, List<QuorumNode> nodes, Executor threads) {
        this.number = number;
        this.store = store;
        this.nodes = nodes;
        this.threads = threads;
    }

    /** Asks the store, on a thread that does not wait: the nodes are asked at the same time. */
    <T> CompletableFuture<T> ask(Function<LockStore, CompletableFuture<T>> question) {
        return askAll(1, store -> List.of(question.apply(store))).get(0);
    }

    /** Asks several questions together. */
    <T> List<CompletableFuture<T>> askAll(int questions, Function<LockStore, List<CompletableFuture<T>>> asking) {
        long sent = System.nanoTime();
        List<CompletableFuture<T>> answers;
        try {
            answers = asking.apply(store);
        } catch (RuntimeException failure) {
            // One node that throws must not keep the others from being asked.
            answers = Collections.nCopies(questions, CompletableFuture.failedFuture(failure));
        }
        return answers.stream()
                .map(answer -> answer.whenComplete((reply, failure) -> note(failure, sent)))
                .map(answer -> hasVote
                        ? answer
                        : answer.thenCompose(reply -> compared().thenApply(done -> reply)))
                .toList();
    }

    /** Returns the comparison under way, or the one that succeeded; one that told nothing is followed by another. */
    private synchronized CompletableFuture<?> compared() {
        if (comparison.isDone() && !hasVote && twin == null) {
            comparison = CompletableFuture.runAsync(this::compare, threads);
        }
        return comparison;
    }

    /**
     * Compares the servers behind the store with those of the nodes that have a vote; fails if one is the same. A
     * restarted server has another id: if this one tells the same before and after the others, it was not.
     */
    private void compare() {
        Set<String> own;
        Map<QuorumNode, CompletableFuture<Set<String>>> others;
        do {
            own = store.serverIds().join();
            others = voters().collect(Collectors.toMap(Function.identity(), QuorumNode::servers));
            others.values().forEach(CompletableFuture::join);
            if (!own.equals(store.serverIds().join())) {
                throw new StoreException("it is not known yet whether this is the server of another master, too", null);
            }
        } while (!decide(own, others));
    }

    private Stream<QuorumNode> voters() {
        return nodes.stream().filter(node -> node.hasVote);
    }

    /** Gives this node its vote, or fails; false: another one has got its vote meanwhile, and may have the same server. */
    private boolean decide(Set<String> own, Map<QuorumNode, CompletableFuture<Set<String>>> others) {
        synchronized (nodes) {
            if (!voters().allMatch(others::containsKey)) {
                return false;
            }
            others.forEach((other, ids) -> {
                if (!Collections.disjoint(own, ids.join())) {
                    twin = "The masters of a quorum must be different servers, but master " + other.number + " ("
                            + other.store + ") and master " + number + " (" + store + ") are the same one";
                }
            });
            hasVote = twin == null;
        }
        if (twin != null) {
            log.log(reached ? Level.ERROR : Level.DEBUG, twin + ". Master " + number + " has no vote.");
            throw new StoreException(twin, null);
        }
        return true;
    }

    /** Returns the servers behind the store. Where they are not told, they are compared before the next answer. */
    private CompletableFuture<Set<String>> servers() {
        CompletableFuture<Set<String>> ids = silent ? CompletableFuture.failedFuture(silence()) : store.serverIds();
        return ids.exceptionally(failure -> {
            hasVote = false;
            return Set.of();
        });
    }

    /** Compares for the first time, and throws if a server is behind another node, too. */
    void refuseTwin() {
        DaemonThreads.join(compared().handle((done, failure) -> done));
        if (twin != null) {
            throw new IllegalArgumentException(twin);
        }
    }

    private void note(@Nullable Throwable failure, long sent) {
        if (failure == null) {
            reached = true;
            lastAnswer = System.nanoTime();
            silent = false;
        } else if (lastAnswer - sent < 0) {
            // A command that was sent before the last answer says nothing about the node as it is now.
            silent = true;
        }
    }

    /** Returns what a command that is not answered fails with. */
    StoreException silence() {
        return reached ? new StoreException("no answer yet", null) : new StoreNotReadyException("no answer yet", null);
    }

    /** Takes over a release that failed, until the node has heard of it, or need not. */
    synchronized void releaseLater(Ending ending, Quorum quorum) {
        pending.add(ending);
        if (pending.size() == 1) {
            quorum.later(PAUSE_NANOS, () -> releaseNext(quorum));
        }
    }

    /** Sends one after the other: a node that is away for long costs one command at a time. */
    private void releaseNext(Quorum quorum) {
        Ending next;
        boolean needless;
        synchronized (this) {
            next = pending.element();
            // Where they are too many, the oldest one ends by itself soonest.
            needless = quorum.hasLapsed(next) || pending.size() > MOST_PENDING;
        }
        CompletableFuture<?> told =
                needless ? CompletableFuture.completedFuture(null) : ask(store -> store.release(next.command()));
        told.whenComplete((reply, failure) -> {
            if (failure == null) {
                quorum.settle(next.given().attempt(), this);
            }
            synchronized (this) {
                pending.remove();
                if (failure != null) {
                    // At the end: one lock whose key is spoilt must not hold up the others.
                    pending.add(next);
                }
                if (!pending.isEmpty()) {
                    quorum.later(failure == null ? 0 : PAUSE_NANOS, () -> releaseNext(quorum));
                }
            }
        });
    }

    /** Closes the store when nothing is to be done there any more; waits only for a node that answers. */
    void close(Quorum quorum) {
        long end = System.nanoTime() + quorum.commandTimeout.toNanos();
        while (quorum.attempts.values().stream().anyMatch(attempt -> attempt.duties.contains(this))
                && !silent
                && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(LOOK_NANOS);
        }
        store.close();
    }
}
