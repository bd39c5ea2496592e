/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Lets the local locks of one name through one at a time, in the order in which they came. */
final class FifoGate {

    private final Map<String, ArrayDeque<LocalLock>> queues = new ConcurrentHashMap<>();

    /** Queues a lock; returns whether it is the first, and may pass. */
    boolean enter(LocalLock lock) {
        LocalLock[] first = {lock};
        queues.compute(lock.spec.name(), (name, known) -> {
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
        AtomicReference<@Nullable LocalLock> next = new AtomicReference<>();
        queues.computeIfPresent(lock.spec.name(), (name, queue) -> {
            boolean wasFirst = queue.peek() == lock;
            queue.remove(lock);
            next.set(wasFirst ? queue.peek() : null);
            return queue.isEmpty() ? null : queue;
        });
        return next.get();
    }

    int size() {
        return queues.size();
    }
}
