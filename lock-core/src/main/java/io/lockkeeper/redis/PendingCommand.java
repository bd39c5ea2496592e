/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A command that somebody waits for. Whoever reads the answer leaves it here; the caller's own thread completes the
 * future where it waits for that, another thread where it does not.
 */
final class PendingCommand {

    private static final Object NOTHING = new Object();
    private static final int MAX_SENDS = 3;

    final CompletableFuture<@Nullable Object> result = new CompletableFuture<>();
    private final Duration limit;
    private final long deadline;

    /** When the caller goes on without the answer. */
    private final long leaves;

    private final AtomicReference<@Nullable Object> outcome = new AtomicReference<>();
    private final AtomicReference<@Nullable Thread> caller = new AtomicReference<>();

    /** What is sent; like the number of times that it was sent, changed only by who sends it. */
    private Request request;

    private int sends;

    /** Whether an earlier send of it may have run. */
    private boolean mayHaveRun;

    /**
     * Creates a command.
     *
     * @param request what is sent
     * @param limit after which the answer has failed
     * @param caller the thread that waits for the answer and may do what is needed for it; null: there is none
     */
    PendingCommand(Request request, Duration limit, @Nullable Thread caller) {
        this(request, limit, caller, Long.MAX_VALUE);
    }

    /**
     * Creates a command whose caller may go on before it is over.
     *
     * @param stays how long the caller waits for the answer, in ns
     */
    PendingCommand(Request request, Duration limit, @Nullable Thread caller, long stays) {
        this.request = request;
        this.limit = limit;
        long now = System.nanoTime();
        this.deadline = now + limit.toNanos();
        this.leaves = now + Math.min(stays, limit.toNanos());
        this.caller.set(caller);
    }

    /** Returns what is to be sent now. */
    Request send() {
        mayHaveRun |= sends > 0;
        sends++;
        return request;
    }

    /** Sends the text of the script next time, of which the server knows no hash; false: that is no help. */
    boolean toText() {
        Request text = request.asText();
        if (text == null) {
            return false;
        }
        request = text;
        sends = 0;
        return true;
    }

    /** Returns whether it was sent before without an answer, and may have run then. */
    boolean mayHaveRun() {
        return mayHaveRun;
    }

    /** Returns whether it may go out once more: commands may arrive twice, but not for ever. */
    boolean maySend() {
        return sends < MAX_SENDS && !isOver() && remainingNanos() > 0;
    }

    /** Takes back that it was sent: the answer was not waited for. */
    void notAwaited() {
        sends--;
    }

    long remainingNanos() {
        return deadline - System.nanoTime();
    }

    /** Returns how long the caller still waits: no longer than the command. */
    long callerNanos() {
        return leaves - System.nanoTime();
    }

    @Nullable
    Thread caller() {
        return caller.get();
    }

    boolean isOver() {
        return outcome.get() != null;
    }

    /** The caller goes on without the answer: another thread completes the future. */
    void leave() {
        caller.set(null);
    }

    /** Fails the command if its time is up; returns whether it is over. */
    boolean expire(Executor answers) {
        if (remainingNanos() <= 0) {
            answer(
                    new StoreException(
                            "Redis did not answer to " + request.what() + " within " + limit.toMillis() + " ms", null),
                    answers);
        }
        return isOver();
    }

    /** Fails the command. */
    void fail(Throwable failure, Executor answers) {
        answer(
                failure instanceof StoreException
                        ? failure
                        : new StoreException(
                                "Redis failed at " + request.what() + ": " + Failures.rootMessage(failure), failure),
                answers);
    }

    /**
     * Takes the answer; only the first one counts.
     *
     * @param reply what the server said, or a {@link StoreException}
     * @param answers completes the future if the caller does not wait
     */
    void answer(@Nullable Object reply, Executor answers) {
        if (!outcome.compareAndSet(null, reply == null ? NOTHING : reply)) {
            return;
        }
        Thread waiting = caller.getAndSet(null);
        if (waiting == null) {
            answers.execute(this::complete);
        } else if (waiting != Thread.currentThread()) {
            LockSupport.unpark(waiting);
        }
    }

    /** Completes the future with the answer, if it is there. */
    void complete() {
        Object answer = outcome.get();
        if (answer instanceof StoreException failure) {
            result.completeExceptionally(failure);
        } else if (answer != null) {
            result.complete(answer == NOTHING ? null : answer);
        }
    }
}
