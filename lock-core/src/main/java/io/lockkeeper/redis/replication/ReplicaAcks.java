/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.replication;

import java.time.Duration;
import java.util.Locale;

/**
 * How many replicas must have a hold before it counts.
 *
 * <p>Internal: public for the package of the store alone, and may change in any release.
 */
public record ReplicaAcks(int least, boolean all, Duration timeout) {

    private static final int MOST_DIGITS = 4;

    /** Reads a number, or the word all. */
    public static ReplicaAcks of(String acks, Duration timeout) {
        String wanted = acks.strip().toLowerCase(Locale.ROOT);
        if (wanted.equals("all")) {
            return new ReplicaAcks(1, true, timeout);
        }
        if (!wanted.matches("\\d{1," + MOST_DIGITS + "}")) {
            throw new IllegalArgumentException(
                    "The replica acks must be a number of replicas or 'all', but are '" + acks + "'");
        }
        return new ReplicaAcks(Integer.parseInt(wanted), false, timeout);
    }

    /** Returns whether anything must be waited for. */
    public boolean isWanted() {
        return least > 0;
    }
}
