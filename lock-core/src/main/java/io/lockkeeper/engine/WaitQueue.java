/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The local callers who wait for one lock, first in, first out. Guarded by the lock. */
final class WaitQueue {

    /** Most locks that are held have no waiters: they keep no list of their own. */
    private static final Queue<PendingRequest> NONE = new ArrayDeque<>(0);

    private Queue<PendingRequest> waiters = NONE;

    void add(PendingRequest waiter) {
        if (waiters == NONE) {
            waiters = new ArrayDeque<>(2);
        }
        waiters.add(waiter);
        waiter.queued = true;
    }

    /** Takes a caller out, if it is there. */
    void remove(PendingRequest waiter) {
        if (waiter.queued) {
            waiters.remove(waiter);
            taken(waiter);
        }
    }

    boolean isEmpty() {
        return waiters.isEmpty();
    }

    /** Takes out the first caller; null: the queue is empty. */
    @Nullable
    PendingRequest next() {
        PendingRequest first = waiters.poll();
        if (first != null) {
            taken(first);
        }
        return first;
    }

    /** Returns whether any caller wants to wait where the lock is held. */
    boolean anyWaits() {
        return waiters.stream().anyMatch(waiter -> waiter.waits);
    }

    /** Takes out those who want an answer at once. */
    List<PendingRequest> takeImpatient() {
        return take(waiter -> !waiter.waits);
    }

    List<PendingRequest> takeAll() {
        return take(waiter -> true);
    }

    private List<PendingRequest> take(Predicate<PendingRequest> which) {
        if (waiters == NONE) {
            return List.of();
        }
        List<PendingRequest> taken = waiters.stream().filter(which).toList();
        waiters.removeIf(which);
        taken.forEach(this::taken);
        return taken;
    }

    private void taken(PendingRequest waiter) {
        waiter.queued = false;
        if (waiters.isEmpty()) {
            waiters = NONE;
        }
    }
}
