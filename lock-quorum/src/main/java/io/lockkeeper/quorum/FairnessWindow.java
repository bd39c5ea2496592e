/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How long this instance has handed locks over to itself. Other instances have no place in any queue: they ask every 50 to
 * 80 ms, and would find a lock that never rests taken for ever.
 */
final class FairnessWindow {

    private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final LongSupplier nanoTime;
    private final Map<String, Long> begins = new ConcurrentHashMap<>();

    FairnessWindow(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** Returns whether a lock may go on to the next caller of this instance; false: other instances come first. */
    boolean mayGoOn(String name) {
        long now = nanoTime.getAsLong();
        if (now - begins.computeIfAbsent(name, key -> now) < LONGEST_NANOS) {
            return true;
        }
        ended(name);
        return false;
    }

    /** Ends the window: the lock is not this instance's any more. */
    void ended(String name) {
        begins.remove(name);
    }

    int size() {
        return begins.size();
    }
}
