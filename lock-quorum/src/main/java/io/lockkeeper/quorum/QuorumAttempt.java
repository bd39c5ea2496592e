/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.ReleaseCommand;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** One attempt of which some node may still take a lock, or has yet to be told the end. */
final class QuorumAttempt {

    final String id;

    /** How many commands of it some node has not settled; guarded by the map of the quorum. */
    int duties;

    private final AtomicReference<@Nullable Ending> ending = new AtomicReference<>();

    QuorumAttempt(String id) {
        this.id = id;
    }

    /**
     * How an attempt ends, at every node sooner or later.
     *
     * @param names the locks
     * @param attempt the attempt
     * @param keptUntil until when the locks stay taken, on the monotonic clock
     * @param until when nothing of the attempt can be left at any node, on the monotonic clock
     */
    record Ending(List<String> names, String attempt, long keptUntil, long until) {

        boolean isOver() {
            return System.nanoTime() - until >= 0;
        }

        /**
         * Returns the release for a node that is told now. It keeps all tokens: which of them were used is known only for
         * the first of several locks, and a token that is never given out does no harm.
         */
        ReleaseCommand command() {
            long keep = TimeUnit.NANOSECONDS.toMillis(Math.max(0, keptUntil - System.nanoTime()));
            return new ReleaseCommand(names, attempt, 0, keep);
        }
    }

    /** Ends the attempt for good; false: it had ended before. */
    boolean end(Ending how) {
        return ending.compareAndSet(null, how);
    }

    /** Returns how it ended; null while it goes on. */
    @Nullable
    Ending ending() {
        return ending.get();
    }
}
