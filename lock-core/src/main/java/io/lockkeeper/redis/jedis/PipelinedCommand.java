/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import io.lockkeeper.redis.Failures;
import io.lockkeeper.redis.LuaScript;
import io.lockkeeper.redis.ScriptRunner;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A command that waits for its answer. The thread that reads the answer leaves it here; a caller that waits completes the
 * future itself, another thread does it where none waits.
 */
final class PipelinedCommand {

    private static final Object NOTHING = new Object();
    private static final int MAX_SENDS = 3;

    final CompletableFuture<Object> result = new CompletableFuture<>();
    private final String name;
    private final Duration limit;
    private final long deadline;

    /** When the caller goes on without the answer. */
    private final long leaves;

    private final AtomicReference<@Nullable Object> outcome = new AtomicReference<>();
    private final AtomicReference<@Nullable Thread> caller = new AtomicReference<>();

    /** The script whose hash the words name; null: they name none. */
    private @Nullable LuaScript script;

    /** What is sent; like the number of times that it was sent, changed only by the thread that sends it. */
    private byte[][] words;

    private int sends;
    private boolean mayHaveRun;

    /**
     * Creates a command of the present thread.
     *
     * @param limit after which the answer has failed
     * @param waitNanos how long the thread waits, and does input and output; 0: not at all
     * @param name for messages
     * @param words the command and its arguments
     */
    PipelinedCommand(Duration limit, long waitNanos, String name, byte[]... words) {
        this.name = name;
        this.limit = limit;
        this.words = words;
        long now = System.nanoTime();
        this.deadline = now + limit.toNanos();
        this.leaves = now + Math.min(waitNanos, limit.toNanos());
        Thread self = Thread.currentThread();
        caller.set(waitNanos > 0 && !self.isInterrupted() ? self : null);
    }

    PipelinedCommand(Duration limit, long waitNanos, LuaScript script, List<byte[]> keys, List<byte[]> arguments) {
        this(limit, waitNanos, script.name(), ScriptRunner.words(script, keys, arguments));
        this.script = script;
    }

    byte[][] send() {
        mayHaveRun |= sends > 0;
        sends++;
        return words;
    }

    /** Sends the text of the script next time, of which the server knows no hash; false: that is no help. */
    boolean toText() {
        LuaScript unknown = script;
        if (unknown == null) {
            return false;
        }
        script = null;
        words = ScriptRunner.toText(unknown, words);
        sends = 0;
        return true;
    }

    /** Returns whether it was sent before without an answer, and may have run then. */
    boolean mayHaveRun() {
        return mayHaveRun;
    }

    /** Returns whether it may go out once more: commands may arrive twice, but not for ever. */
    boolean maySend() {
        return sends < MAX_SENDS && !isOver() && System.nanoTime() - deadline < 0;
    }

    /** Does not count the last time that it was sent, because the answer was not waited for; but it may have run. */
    void notAwaited() {
        if (sends > 0) {
            mayHaveRun = true;
            sends--;
        }
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
        if (System.nanoTime() - deadline >= 0) {
            answer(Failures.silence(name, limit), answers);
        }
        return isOver();
    }

    void fail(Throwable failure, Executor answers) {
        answer(Failures.at(name, failure), answers);
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

    void complete() {
        Object answer = outcome.get();
        if (answer instanceof StoreException failure) {
            result.completeExceptionally(failure);
        } else if (answer != null) {
            result.complete(answer);
        }
    }
}
