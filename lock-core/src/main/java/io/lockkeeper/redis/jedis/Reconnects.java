/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * What all pipelines to one server know of their connections: how often one was of no use, and when the next may be
 * made. After one that failed at once there is a pause, so that callers who ask again and again do not storm a server
 * that refuses them. It is short: a call that comes meanwhile waits for the next try, and no longer.
 */
final class Reconnects {

    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** How often a connection was found to be useless, with which all connections of its age are useless. */
    final AtomicInteger found = new AtomicInteger();

    private long pauseNanos;
    private volatile long nextNanos = System.nanoTime();

    /** Records that a connection could not be made, or ended before it gave a reply. */
    synchronized void failed() {
        pauseNanos = Math.min(LONGEST_PAUSE_NANOS, Math.max(FIRST_PAUSE_NANOS, 2 * pauseNanos));
        // Clients that lost the server together must not come back together.
        nextNanos = System.nanoTime() + ThreadLocalRandom.current().nextLong(pauseNanos / 2, pauseNanos);
    }

    /** Records that a connection has given a reply. */
    synchronized void worked() {
        pauseNanos = 0;
        nextNanos = System.nanoTime();
    }

    /** Waits until the next connection may be made, or is not wanted any more. */
    void await(BooleanSupplier isUnwanted) {
        long left = nextNanos - System.nanoTime();
        while (left > 0 && !isUnwanted.getAsBoolean()) {
            LockSupport.parkNanos(this, left);
            left = nextNanos - System.nanoTime();
        }
    }
}
