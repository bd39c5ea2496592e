/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockManager;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the attempts of a local lock ask the store for, besides the names; plain requests share one object.
 *
 * @param mode how the locks are shared
 * @param leaseMillis how long the store keeps a hold: the time until the local deadline, and a margin
 * @param fixed whether the hold ends by itself instead of being renewed
 * @param maxPasses how often a hold may pass to another local caller while others wait in the store; 0: never
 */
record AcquireSpec(ClaimMode mode, long leaseMillis, boolean fixed, int maxPasses) {

    /** Returns what is asked for by one request, which shares its local lock with no other. */
    static AcquireSpec single(LockRequest request, long leaseMillis) {
        ClaimMode mode = ClaimMode.valueOf(request.mode().name());
        Duration lease = request.leaseTime();
        return lease == null
                ? renewed(mode, leaseMillis)
                : fixed(mode, LockManager.bounded(lease).toMillis());
    }

    static AcquireSpec renewed(ClaimMode mode, long leaseMillis) {
        return new AcquireSpec(mode, leaseMillis, false, 0);
    }

    static AcquireSpec fixed(ClaimMode mode, long believedMillis) {
        return new AcquireSpec(mode, believedMillis + marginMillis(believedMillis), true, 0);
    }

    /** Every instance takes several locks in this order, that of their UTF-8 bytes: no two wait for each other. */
    static List<String> inGlobalOrder(List<String> names) {
        return names.size() == 1
                ? names
                : names.stream()
                        .sorted(Comparator.comparing(
                                name -> name.getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned))
                        .toList();
    }

    /** Returns how long a holder stops believing before the store: for clocks that drift and threads that are late. */
    static long marginMillis(long leaseMillis) {
        return Math.max(100, leaseMillis / 100);
    }

    /**
     * The id of an attempt. Its text is made on demand, because a hold keeps the id for long and seldom needs the
     * text.
     *
     * @param client the id of the client
     * @param number the number of the attempt
     */
    record AttemptId(String client, long number) {

        private static final int RADIX = Character.MAX_RADIX;
        private static final int DIGITS = 8;
        private static final long ZERO = Long.parseLong("1" + "0".repeat(DIGITS), RADIX);

        /** Returns the id that a text stands for; null: the text is none. */
        static @Nullable AttemptId parse(String text) {
            int end = text.length() - DIGITS;
            try {
                return end < 0
                        ? null
                        : new AttemptId(text.substring(0, end), Long.parseLong(text, end, end + DIGITS, RADIX));
            } catch (NumberFormatException strange) {
                return null;
            }
        }

        /** Returns the id of the client, followed by eight digits or letters for the number. */
        @Override
        public String toString() {
            return client.concat(Long.toString(ZERO + number, RADIX).substring(1));
        }
    }

    /** Returns whether callers of this JVM hold the lock together. */
    boolean isShared() {
        return mode == ClaimMode.READ;
    }

    LockMode lockMode() {
        return LockMode.valueOf(mode.name());
    }

    /** Returns how often a hold may pass to another local caller while the store's queue is empty. */
    int maxPassesUncontended() {
        return maxPasses == 0 ? 0 : AcquireCommand.MOST_TOKENS - 1;
    }

    /** Returns the question of an attempt whose hold may pass so often: each local holder needs a fencing token. */
    AcquireCommand command(List<String> names, AttemptId attempt, boolean queue, int passes, long waitNanos) {
        return new AcquireCommand(names, attempt.toString(), mode, leaseMillis, queue, passes + 1, waitNanos);
    }
}
