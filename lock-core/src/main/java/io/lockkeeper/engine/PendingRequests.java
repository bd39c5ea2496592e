/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** The callers of this JVM who have asked for a lock and have no answer yet, each with the local lock that it has entered. */
final class PendingRequests {

    /** A listener may hear several engines, so numbers are unique in the process. */
    private static final AtomicLong NUMBERS = new AtomicLong();

    private final Map<PendingRequest, LocalLock> locks = new ConcurrentHashMap<>();

    static long nextNumber() {
        return NUMBERS.incrementAndGet();
    }

    /** A caller enters a lock, or is about to. */
    void put(PendingRequest request, LocalLock lock) {
        locks.put(request, lock);
    }

    /** Returns the lock that a caller has entered last; null: it has its answer. */
    @Nullable
    LocalLock lockOf(PendingRequest request) {
        return locks.get(request);
    }

    /** A caller has its answer. */
    void remove(PendingRequest request) {
        locks.remove(request);
    }

    /** Does something with all callers and the locks that they have entered, in the order in which they came. */
    void forEach(BiConsumer<PendingRequest, LocalLock> action) {
        locks.entrySet().stream()
                .sorted(Comparator.comparingLong(entry -> entry.getKey().number))
                .forEach(entry -> action.accept(entry.getKey(), entry.getValue()));
    }

    int size() {
        return locks.size();
    }

    List<PendingRequest> all() {
        return List.copyOf(locks.keySet());
    }

    /** Returns who has waited longest at a local lock; empty: no caller. */
    Optional<PendingRequest> firstAt(@Nullable LocalLock lock) {
        return locks.entrySet().stream()
                .filter(entry -> entry.getValue() == lock)
                .map(Map.Entry::getKey)
                .min(Comparator.comparingLong(caller -> caller.number));
    }
}
