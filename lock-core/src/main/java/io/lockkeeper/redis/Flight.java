/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What is on its way, and whose thread reads the replies; null: the helper's. */
record Flight(
        List<PendingCommand> commands,
        @Nullable PendingCommand own,
        @Nullable Thread leader,
        long begun) {

    private static final long SOON_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

    boolean isOlderThan(long nanos) {
        return System.nanoTime() - begun > nanos;
    }

    /** Returns whether the server takes so long that the connection should be cut. */
    boolean isStuck(long limitNanos) {
        if (own == null || leader == null) {
            return isOlderThan(limitNanos);
        }
        return isOlderThan(SOON_NANOS) && (leader.isInterrupted() || own.callerNanos() <= 0);
    }
}
