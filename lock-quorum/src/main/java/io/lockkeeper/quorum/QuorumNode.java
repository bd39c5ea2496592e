/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.quorum.Quorum.Ending;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreNotReadyException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
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

    /** How much must have ended before the store may be closed. */
    final AtomicInteger duties = new AtomicInteger();

    /**
     * Each is sent until the node answers or the hold has ended there by itself. The first is being sent, or waits for
     * that. Guarded by this.
     */
    private final Deque<Pending> pending = new ArrayDeque<>();

    /** All nodes, this one among them. */
    private final List<QuorumNode> nodes;

    /** Whether the server is no other node's, without which no answer counts; null: they were not compared yet. */
    private final AtomicReference<@Nullable CompletableFuture<?>> comparison = new AtomicReference<>();

    private record Pending(Ending ending, Runnable settled) {}

    QuorumNode(int number, LockStore store, List<QuorumNode> nodes) {
        this.number = number;
        this.store = store;
        this.nodes = nodes;
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
                .map(this::onceCompared)
                .toList();
    }

    private <T> CompletableFuture<T> onceCompared(CompletableFuture<T> answer) {
        return isCompared() ? answer : answer.thenCompose(reply -> compare().thenApply(same -> reply));
    }

    private boolean isCompared() {
        CompletableFuture<?> known = comparison.get();
        return known != null && known.isDone() && !known.isCompletedExceptionally();
    }

    /**
     * Compares the servers behind the store with those of the other nodes; fails with an {@link
     * IllegalArgumentException}, for good, if one is behind another node, too. Otherwise a failure is no result. A
     * restarted server has another id: if this one tells the same before and after the others, it was not.
     */
    private CompletableFuture<?> compare() {
        CompletableFuture<Object> mine = new CompletableFuture<>();
        CompletableFuture<?> first = comparison.compareAndExchange(null, mine);
        if (first != null) {
            return first;
        }
        store.serverIds()
                .thenCompose(own -> others().thenCompose(
                                others -> store.serverIds().thenAccept(again -> judge(own, others, again))))
                .whenComplete((same, failure) -> {
                    if (failure == null) {
                        mine.complete(true);
                        return;
                    }
                    if (!(failure.getCause() instanceof IllegalArgumentException)) {
                        comparison.set(null);
                    }
                    mine.completeExceptionally(failure.getCause());
                });
        return mine;
    }

    /** Compares for the first time, and throws if a server is behind another node, too. */
    void refuseTwin() {
        if (compare().<@Nullable Throwable>handle((same, failure) -> failure).join()
                instanceof IllegalArgumentException twin) {
            throw twin;
        }
    }

    /** Asks the other nodes for their servers. One that does not answer is compared itself before its next answer. */
    private CompletableFuture<Map<QuorumNode, Set<String>>> others() {
        Map<QuorumNode, Set<String>> told = new ConcurrentHashMap<>();
        return CompletableFuture.allOf(nodes.stream()
                        .filter(node -> node != this)
                        .map(node -> (node.silent
                                        ? CompletableFuture.<Set<String>>failedFuture(node.silence())
                                        : node.store.serverIds())
                                .handle((ids, failure) ->
                                        failure == null ? told.put(node, ids) : node.comparison.getAndSet(null)))
                        .toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> told);
    }

    private void judge(Set<String> own, Map<QuorumNode, Set<String>> others, Set<String> again) {
        if (!own.equals(again) || (own.isEmpty() && !reached)) {
            throw new StoreException("it is not known yet whether this is the server of another master, too", null);
        }
        others.forEach((other, ids) -> {
            // Of two that have no vote yet the first one gets it.
            if (!Collections.disjoint(ids, own) && (other.number < number || other.isCompared())) {
                String twin = Stream.of(this, other)
                        .sorted(Comparator.comparing(node -> node.number))
                        .map(node -> "master " + node.number + " (" + node.store + ")")
                        .collect(Collectors.joining(
                                " and ",
                                "The masters of a quorum must be different servers, but ",
                                " are the same one"));
                if (reached) {
                    log.log(System.Logger.Level.ERROR, twin + ". Master " + number + " has no vote.");
                }
                throw new IllegalArgumentException(twin);
            }
        });
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

    /** Says what went wrong here, for the person who operates the nodes. */
    String describe(Throwable failure) {
        return "master " + number + ": "
                + (failure instanceof StoreException || failure instanceof IllegalArgumentException
                        ? failure.getMessage()
                        : failure);
    }

    /** Takes over a release that failed, and says when the node has heard of it, or need not. */
    synchronized void releaseLater(Ending ending, Runnable settled, Quorum quorum) {
        pending.add(new Pending(ending, settled));
        if (pending.size() == 1) {
            quorum.later(PAUSE_NANOS, () -> releaseNext(quorum));
        }
    }

    /** Sends one after the other: a node that is away for long costs one command at a time. */
    private void releaseNext(Quorum quorum) {
        Pending next;
        boolean needless;
        synchronized (this) {
            next = pending.element();
            // Where they are too many, the oldest one ends by itself soonest.
            needless = next.ending.isOver() || pending.size() > MOST_PENDING;
        }
        CompletableFuture<?> told =
                needless ? CompletableFuture.completedFuture(null) : ask(store -> store.release(next.ending.command()));
        told.whenComplete((reply, failure) -> {
            if (failure == null) {
                next.settled.run();
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
    void close(Duration patience) {
        long end = System.nanoTime() + patience.toNanos();
        while (duties.get() > 0 && !silent && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(LOOK_NANOS);
        }
        store.close();
    }
}
