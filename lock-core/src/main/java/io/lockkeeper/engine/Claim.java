/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockMode;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import java.time.Duration;
import java.util.List;

/**
 * What the attempts of a cohort ask the store for.
 *
 * @param names the locks' names, in the global order
 * @param mode how the locks are shared
 * @param leaseMillis how long the store keeps a hold: the time for which holders believe, and a margin
 * @param fixed whether the hold ends by itself instead of being renewed
 * @param maxPasses how often a hold may pass to another local caller while others wait in the store; 0: never
 */
record Claim(List<String> names, ClaimMode mode, long leaseMillis, boolean fixed, int maxPasses) {

    private static final Duration LONGEST = Duration.ofDays(36_500);

    /** Returns a time that fits into every unit and clock: nobody can tell a longer one from it. */
    static Duration measurable(Duration time) {
        return time.compareTo(LONGEST) > 0 ? LONGEST : time;
    }

    /** A holder stops believing so long before the store does: for clocks that drift and threads that are late. */
    static long marginMillis(long leaseMillis) {
        return Math.max(100, leaseMillis / 100);
    }

    static Claim renewed(List<String> names, ClaimMode mode, long leaseMillis, int maxPasses) {
        return new Claim(names, mode, leaseMillis, false, maxPasses);
    }

    static Claim fixed(List<String> names, ClaimMode mode, long believedMillis) {
        return new Claim(names, mode, believedMillis + marginMillis(believedMillis), true, 0);
    }

    /** Returns the first name, which stands for all in messages. */
    String name() {
        return names.get(0);
    }

    /** Returns whether callers of this JVM hold the lock together. */
    boolean isShared() {
        return mode == ClaimMode.READ;
    }

    /** Returns the mode as callers name it. */
    LockMode lockMode() {
        return LockMode.valueOf(mode.name());
    }

    /** Returns how often a hold may pass to another local caller while nobody else waits. */
    int maxPassesAlone() {
        return maxPasses == 0 ? 0 : AcquireCommand.MOST_TOKENS - 1;
    }

    /**
     * Returns the question of an attempt.
     *
     * @param queue whether it waits where the lock is held
     * @param passes how often its hold may pass: each local holder needs a fencing token
     */
    AcquireCommand command(String attempt, boolean queue, int passes) {
        return new AcquireCommand(names, attempt, mode, leaseMillis, queue, passes + 1);
    }
}
