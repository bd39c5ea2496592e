/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Lets the fair local locks of one name ask one at a time, in the order in which they came. */
final class FifoGate {

    private final Map<String, ArrayDeque<LocalLock>> queues = new ConcurrentHashMap<>();

    /** Queues a lock; returns whether it is the first, and may pass. */
    boolean enter(LocalLock lock) {
        LocalLock[] first = {lock};
        queues.compute(lock.name(), (name, known) -> {
            ArrayDeque<LocalLock> queue = known == null ? new ArrayDeque<>(2) : known;
            queue.add(lock);
            first[0] = queue.element();
            return queue;
        });
        return first[0] == lock;
    }

    /** Takes a lock out, if it is there; returns the one that may pass now because of that, null: none. */
    @Nullable
    LocalLock leave(LocalLock lock) {
        LocalLock[] next = {lock};
        queues.computeIfPresent(lock.name(), (name, queue) -> {
            boolean wasFirst = queue.peek() == lock;
            queue.removeIf(lock::equals);
            next[0] = wasFirst && !queue.isEmpty() ? queue.element() : lock;
            return queue.isEmpty() ? null : queue;
        });
        return next[0] == lock ? null : next[0];
    }

    int size() {
        return queues.size();
    }
}
