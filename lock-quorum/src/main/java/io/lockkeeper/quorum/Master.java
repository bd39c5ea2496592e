/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.CallerThread;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/** One of the independent stores: asks it, and notes whether it answers and what is still to be done there. */
final class Master {

    private final int number;
    private final LockStore store;
    private volatile long lastAnswer = System.nanoTime();
    private volatile boolean silent;

    private volatile boolean reached;

    /** What must have ended before the store may be closed; guarded by this. */
    private int duties;

    Master(int number, LockStore store) {
        this.number = number;
        this.store = store;
    }

    LockStore store() {
        return store;
    }

    /** Returns whether the last that was heard of it is a failure. */
    boolean isSilent() {
        return silent;
    }

    CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return ask(open -> open.acquire(command));
    }

    CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return ask(open -> open.release(command));
    }

    List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        long sent = System.nanoTime();
        List<CompletableFuture<Boolean>> answers;
        try {
            answers = CallerThread.notWaiting(() -> store.renew(commands));
        } catch (RuntimeException failure) {
            answers = Collections.nCopies(commands.size(), CompletableFuture.failedFuture(failure));
        }
        return answers.stream().map(answer -> noted(answer, sent)).toList();
    }

    <T> CompletableFuture<T> ask(Function<LockStore, CompletableFuture<T>> command) {
        long sent = System.nanoTime();
        // The masters are asked at the same time.
        return noted(safely(() -> CallerThread.notWaiting(() -> command.apply(store))), sent);
    }

    private static <T> CompletableFuture<T> safely(Supplier<CompletableFuture<T>> command) {
        try {
            return command.get();
        } catch (RuntimeException failure) {
            // One master that throws must not keep the others from being asked.
            return CompletableFuture.failedFuture(failure);
        }
    }

    private <T> CompletableFuture<T> noted(CompletableFuture<T> answer, long sent) {
        return answer.whenComplete((reply, failure) -> {
            if (failure == null) {
                reached = true;
                lastAnswer = System.nanoTime();
                silent = false;
            } else if (lastAnswer - sent < 0) {
                // A command that was sent before the last answer says nothing about the master as it is now.
                silent = true;
            }
        });
    }

    /** Says what went wrong here, for the person who operates the masters. */
    String describe(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        return "master " + number + ": " + (cause instanceof StoreException ? cause.getMessage() : cause);
    }

    /** Returns whether it has ever answered. */
    boolean wasReached() {
        return reached;
    }

    /** Says that it has not answered. */
    String describeSilence() {
        return "master " + number + ": no answer yet";
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

    /** Closes the store when nothing is to be done there any more; waits only for a master that answers. */
    void close(Duration patience) {
        long end = System.nanoTime() + patience.toNanos();
        try {
            awaitDuties(end);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
        store.close();
    }

    private synchronized void awaitDuties(long end) throws InterruptedException {
        long look = TimeUnit.MILLISECONDS.toNanos(20);
        while (duties > 0 && !silent && System.nanoTime() - end < 0) {
            TimeUnit.NANOSECONDS.timedWait(this, Math.min(look, Math.max(1, end - System.nanoTime())));
        }
    }
}
