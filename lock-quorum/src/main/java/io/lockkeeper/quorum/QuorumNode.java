/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** One of the independent stores: asks it, and notes whether it answers and how much is still to be done there. */
final class QuorumNode {

    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final int number;
    final LockStore store;
    private volatile long lastAnswer = System.nanoTime();

    /** Whether the last that was heard of it is a failure. */
    volatile boolean silent;

    /** Whether it has ever answered. */
    volatile boolean reached;

    /** What must have ended before the store may be closed; guarded by this. */
    private int duties;

    QuorumNode(int number, LockStore store) {
        this.number = number;
        this.store = store;
    }

    List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        long sent = System.nanoTime();
        List<CompletableFuture<Boolean>> answers;
        try {
            answers = store.renew(commands);
        } catch (RuntimeException failure) {
            answers = Collections.nCopies(commands.size(), CompletableFuture.failedFuture(failure));
        }
        return answers.stream().map(answer -> noted(answer, sent)).toList();
    }

    /** Asks the store, on a thread that does not wait: the nodes are asked at the same time. */
    <T> CompletableFuture<T> ask(Function<LockStore, CompletableFuture<T>> command) {
        long sent = System.nanoTime();
        CompletableFuture<T> answer;
        try {
            answer = command.apply(store);
        } catch (RuntimeException failure) {
            // One node that throws must not keep the others from being asked.
            answer = CompletableFuture.failedFuture(failure);
        }
        return noted(answer, sent);
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
