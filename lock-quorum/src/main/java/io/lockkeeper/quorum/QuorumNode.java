/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.quorum.Quorum.Ending;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreNotReadyException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
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

    /** All nodes, this one among them; guards the servers of each. */
    private final List<QuorumNode> nodes;

    private Set<String> servers = Set.of();

    /** What is completed when the servers were compared with those of the other nodes; null: they were not yet. */
    private final AtomicReference<@Nullable CompletableFuture<?>> compared = new AtomicReference<>();

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

    /**
     * Compares the servers behind the store with those of the other nodes, if they are known.
     *
     * @throws IllegalArgumentException if one is behind another node, too
     */
    void compare() {
        Set<String> ids = store.serverIds().join();
        if (!ids.isEmpty()) {
            String twin = twin(ids);
            if (twin != null) {
                throw new IllegalArgumentException(twin);
            }
            compared.set(CompletableFuture.completedFuture(null));
        }
    }

    /** Returns what is wrong with servers of this node; null: none is behind another node. */
    private @Nullable String twin(Set<String> ids) {
        synchronized (nodes) {
            servers = ids;
            return nodes.stream()
                    .filter(other -> other != this && !Collections.disjoint(other.servers, ids))
                    .findFirst()
                    .map(other -> "The masters of a quorum must be different servers, but master "
                            + Math.min(number, other.number) + " (" + (number < other.number ? this : other).store
                            + ") and master " + Math.max(number, other.number) + " ("
                            + (number < other.number ? other : this).store + ") are the same one")
                    .orElse(null);
        }
    }

    /** A node that was not reached at the start is compared before its first answer counts; a twin has no vote. */
    private <T> CompletableFuture<T> onceCompared(CompletableFuture<T> answer) {
        CompletableFuture<?> known = compared.get();
        return known != null && known.isDone() && !known.isCompletedExceptionally()
                ? answer
                : answer.thenCompose(reply -> comparison().thenApply(same -> reply));
    }

    private CompletableFuture<?> comparison() {
        CompletableFuture<Object> mine = new CompletableFuture<>();
        CompletableFuture<?> first = compared.compareAndExchange(null, mine);
        if (first != null) {
            return first;
        }
        store.serverIds().whenComplete((ids, failure) -> {
            String twin = ids == null || ids.isEmpty() ? null : twin(ids);
            if (twin == null) {
                mine.complete(true);
            } else {
                log.log(System.Logger.Level.ERROR, twin + ". Master " + number + " has no vote.");
                mine.completeExceptionally(new StoreException(twin, null));
            }
        });
        return mine;
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
        return "master " + number + ": " + (failure instanceof StoreException ? failure.getMessage() : failure);
    }

    /** Takes over a release that failed, and says when the node has heard of it, or need not. */
    void releaseLater(Ending ending, Runnable settled, Quorum quorum) {
        boolean first;
        synchronized (this) {
            first = pending.isEmpty();
            pending.add(new Pending(ending, settled));
        }
        if (first) {
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
            boolean more;
            synchronized (this) {
                pending.remove();
                if (failure != null) {
                    // At the end: one lock whose key is spoilt must not hold up the others.
                    pending.add(next);
                }
                more = !pending.isEmpty();
            }
            if (failure == null) {
                next.settled.run();
            }
            if (more) {
                quorum.later(failure == null ? 0 : PAUSE_NANOS, () -> releaseNext(quorum));
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
