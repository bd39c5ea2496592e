/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.servers;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what other processes do, of which nothing tells but asking again. */
final class Patience {

    private static final long PAUSE = TimeUnit.MILLISECONDS.toNanos(100);

    private Patience() {}

    /** Returns whether the condition came true within the limit. */
    static boolean holdsWithin(Duration limit, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - start > limit.toNanos()) {
                return false;
            }
            pause();
        }
        return true;
    }

    static void pause() {
        LockSupport.parkNanos(PAUSE);
    }
}
