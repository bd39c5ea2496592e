/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.quorum.Quorum.Ending;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** One of the independent stores: asks it, notes whether it answers, and tells it the releases that it missed. */
final class QuorumNode {

    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int MOST_PENDING = 10_000;
    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long MAX_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final int number;
    final LockStore store;
    private volatile long lastAnswer = System.nanoTime();

    /** Whether the last that was heard of it is a failure. */
    volatile boolean silent;

    /** Whether it has ever answered. */
    volatile boolean reached;

    /** What must have ended before the store may be closed; guarded by this. */
    private int duties;

    /** Each is sent until the node answers or the hold has ended there by itself; guarded by this, as what follows. */
    private final Deque<Pending> pending = new ArrayDeque<>();

    private boolean releasing;
    private long pause = MIN_PAUSE_NANOS;

    private record Pending(Ending ending, Runnable settled) {}

    QuorumNode(int number, LockStore store) {
        this.number = number;
        this.store = store;
    }

    List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        long sent = System.nanoTime();
        try {
            return store.renew(commands).stream()
                    .map(answer -> noted(answer, sent))
                    .toList();
        } catch (RuntimeException failure) {
            return Collections.nCopies(commands.size(), noted(CompletableFuture.failedFuture(failure), sent));
        }
    }

    /** Asks the store, on a thread that does not wait: the nodes are asked at the same time. */
    <T> CompletableFuture<T> ask(Function<LockStore, CompletableFuture<T>> command) {
        long sent = System.nanoTime();
        try {
            return noted(command.apply(store), sent);
        } catch (RuntimeException failure) {
            // One node that throws must not keep the others from being asked.
            return noted(CompletableFuture.failedFuture(failure), sent);
        }
    }

    private <T> CompletableFuture<T> noted(CompletableFuture<T> answer, long sent) {
        return answer.whenComplete((reply, failure) -> {
            if (failure == null) {
                reached = true;
                lastAnswer = System.nanoTime();
                silent = false;
            } else if (lastAnswer - sent < 0) {
                // A command that was sent before the last answer says nothing about the node as it is now.
                silent = true;
            }
        });
    }

    /** Says what went wrong here, for the person who operates the nodes; null: nothing but that it has not answered. */
    String describe(@Nullable Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        return "master " + number + ": "
                + (cause == null ? "no answer yet" : cause instanceof StoreException ? cause.getMessage() : cause);
    }

    // ---- releases of which the node has not heard yet ----

    /** Takes over a release that failed, and says when the node has heard of it, or need not. */
    void releaseLater(Ending ending, Runnable settled, Quorum quorum) {
        Pending dropped;
        boolean start;
        synchronized (this) {
            // The oldest one ends by itself soonest.
            dropped = pending.size() >= MOST_PENDING ? pending.poll() : null;
            pending.add(new Pending(ending, settled));
            start = !releasing;
            releasing = true;
        }
        if (dropped != null) {
            dropped.settled.run();
        }
        if (start) {
            quorum.later(MIN_PAUSE_NANOS, () -> releaseNext(quorum));
        }
    }

    /** Sends one after the other: a node that is away for long costs one command at a time. */
    private void releaseNext(Quorum quorum) {
        Pending next = takePending();
        if (next != null) {
            ask(store -> store.release(next.ending.command()))
                    .whenComplete((reply, failure) -> released(next, failure, quorum));
        }
    }

    private @Nullable Pending takePending() {
        while (true) {
            Pending next;
            synchronized (this) {
                next = pending.poll();
                releasing = next != null;
            }
            if (next == null || !next.ending.isOver()) {
                return next;
            }
            next.settled.run();
        }
    }

    private void released(Pending release, @Nullable Throwable failure, Quorum quorum) {
        long delay = 0;
        synchronized (this) {
            if (failure == null) {
                pause = MIN_PAUSE_NANOS;
            } else {
                // At the end: one lock whose key is spoilt must not hold up the others.
                pending.add(release);
                delay = pause;
                pause = Math.min(MAX_PAUSE_NANOS, 2 * pause);
            }
        }
        if (failure == null) {
            release.settled.run();
        }
        quorum.later(delay, () -> releaseNext(quorum));
    }

    // ---- the end ----

    /** Begins something that must not be cut off when the store is closed. */
    synchronized void beginDuty() {
        duties++;
    }

    /** Ends something that was begun. */
    synchronized void endDuty() {
        duties--;
        notifyAll();
    }

    /** Closes the store when nothing is to be done there any more; waits only for a node that answers. */
    void close(Duration patience) {
        try {
            awaitDuties(System.nanoTime() + patience.toNanos());
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
        store.close();
    }

    private synchronized void awaitDuties(long end) throws InterruptedException {
        while (duties > 0 && !silent && System.nanoTime() - end < 0) {
            TimeUnit.NANOSECONDS.timedWait(this, Math.min(LOOK_NANOS, Math.max(1, end - System.nanoTime())));
        }
    }
}
