/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Lets time pass while something is wrong. */
final class Waiting {

    private Waiting() {}

    static void forSo(Duration time) {
        long end = System.nanoTime() + time.toNanos();
        for (long left = time.toNanos(); left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
