/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Lets the fair local locks of one name ask the store one at a time, in the order of their arrival. */
final class FifoGate {

    private final Map<String, ArrayDeque<LocalLock>> queues = new HashMap<>();

    /** Queues a lock; returns whether it is the first, and may pass. */
    synchronized boolean enter(LocalLock lock) {
        ArrayDeque<LocalLock> queue = queues.computeIfAbsent(lock.name(), name -> new ArrayDeque<>(2));
        queue.add(lock);
        return queue.element() == lock;
    }

    /** Removes a lock; returns the one that may pass because of that, null: there is none. */
    @Nullable
    synchronized LocalLock leave(LocalLock lock) {
        ArrayDeque<LocalLock> queue = queues.getOrDefault(lock.name(), new ArrayDeque<>(0));
        boolean wasFirst = queue.peek() == lock;
        queue.removeIf(lock::equals);
        if (queue.isEmpty()) {
            queues.remove(lock.name());
        }
        return wasFirst ? queue.peek() : null;
    }

    synchronized int size() {
        return queues.size();
    }
}
