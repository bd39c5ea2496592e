/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The commands that are under way together, and the caller that reads their replies; null: the helper does. */
final class Batch {

    private static final int LARGEST = 128;
    private static final long SOON_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

    private final List<PipelinedCommand> commands = new ArrayList<>(1);
    private final @Nullable PipelinedCommand own;
    private final Thread leader = Thread.currentThread();
    private int answered;

    /** Since when the commands are under way; 0: they are still being gathered, by one thread. */
    private volatile long begun;

    Batch(@Nullable PipelinedCommand own) {
        this.own = own;
    }

    /** Takes out of a queue what may go out together; each command is in one of the two at any moment. */
    void takeFrom(Queue<PipelinedCommand> waiting, Executor answers) {
        Iterator<PipelinedCommand> queue = waiting.iterator();
        while (queue.hasNext() && commands.size() < LARGEST) {
            PipelinedCommand next = queue.next();
            if (!next.expire(answers)) {
                commands.add(next);
            }
            queue.remove();
        }
    }

    List<PipelinedCommand> commands() {
        return commands;
    }

    /** From now on other threads may look. */
    void begin() {
        begun = System.nanoTime();
    }

    boolean hasBegun() {
        return begun != 0;
    }

    /** Returns the command to which the next reply belongs; null: all have theirs. */
    @Nullable
    PipelinedCommand next() {
        return answered < commands.size() ? commands.get(answered) : null;
    }

    void nextIsAnswered() {
        answered++;
    }

    /** Returns whether its leader ended it because its own time was up: the server may be well. */
    boolean wasAbandoned() {
        return own != null && own.callerNanos() <= 0;
    }

    /** Returns whether the server takes so long that the connection should be cut. */
    boolean isStuck(long limitNanos) {
        long age = System.nanoTime() - begun;
        return own == null ? age > limitNanos : age > SOON_NANOS && (leader.isInterrupted() || wasAbandoned());
    }
}
