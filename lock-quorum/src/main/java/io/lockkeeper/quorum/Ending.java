/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.ReleaseCommand;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * How an attempt ends, at every master sooner or later.
 *
 * @param names the locks
 * @param attempt the attempt
 * @param keptUntil until when the locks stay taken, on the monotonic clock
 * @param until when nothing of the attempt can be left at any master, on the monotonic clock
 */
record Ending(List<String> names, String attempt, long keptUntil, long until) {

    boolean isOver() {
        return System.nanoTime() - until >= 0;
    }

    /**
     * Returns the release for a master that is told now. It keeps all tokens: which of them were used is known only for
     * the first of several locks, and a token that is never given out does no harm.
     */
    ReleaseCommand command() {
        long keep = TimeUnit.NANOSECONDS.toMillis(Math.max(0, keptUntil - System.nanoTime()));
        return new ReleaseCommand(names, attempt, 0, keep);
    }
}
