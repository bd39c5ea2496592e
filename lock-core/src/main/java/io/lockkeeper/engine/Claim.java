package io.lockkeeper.engine;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import java.time.Duration;

/**
 * What the attempts of a cohort ask the store for.
 *
 * @param name the lock's name
 * @param mode how the lock is shared
 * @param leaseMillis how long the store keeps a hold: the time for which holders believe, and a margin
 * @param fixed whether the hold ends by itself instead of being renewed
 * @param maxPasses how often a hold may pass to another local caller
 */
record Claim(String name, ClaimMode mode, long leaseMillis, boolean fixed, int maxPasses) {

    private static final Duration LONGEST = Duration.ofDays(36_500);

    /** Returns a time that fits into every unit and clock: nobody can tell a longer one from it. */
    static Duration measurable(Duration time) {
        return time.compareTo(LONGEST) > 0 ? LONGEST : time;
    }

    /** A holder stops believing so long before the store does: for clocks that drift and threads that are late. */
    static long marginMillis(long leaseMillis) {
        return Math.max(100, leaseMillis / 100);
    }

    static Claim renewed(String name, ClaimMode mode, long leaseMillis, int maxPasses) {
        return new Claim(name, mode, leaseMillis, false, maxPasses);
    }

    static Claim fixed(String name, ClaimMode mode, long believedMillis) {
        return new Claim(name, mode, believedMillis + marginMillis(believedMillis), true, 0);
    }

    /** Returns how many fencing tokens a hold needs: one for each local holder. */
    int tokens() {
        return maxPasses + 1;
    }

    AcquireCommand command(String attempt, boolean queue) {
        return new AcquireCommand(name, attempt, mode, leaseMillis, queue, tokens());
    }
}
