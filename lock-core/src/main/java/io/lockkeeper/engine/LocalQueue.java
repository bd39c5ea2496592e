/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/** The local callers who wait for one lock, first in, first out; those who have left do not count. Guarded by the cohort. */
final class LocalQueue {

    /** Most locks that are held have nobody waiting: they keep no list of their own. */
    private static final Queue<Waiter> NONE = new ArrayDeque<>(0);

    private Queue<Waiter> waiters = NONE;

    void add(Waiter waiter) {
        if (waiters == NONE) {
            waiters = new ArrayDeque<>(2);
        }
        waiters.add(waiter);
    }

    void remove(Waiter waiter) {
        waiters.remove(waiter);
    }

    boolean contains(Waiter waiter) {
        return waiters.contains(waiter);
    }

    boolean isEmpty() {
        while (!waiters.isEmpty() && waiters.peek().isGone()) {
            waiters.poll();
        }
        dropEmpty();
        return waiters == NONE;
    }

    /** Takes out the first caller; null: nobody is there. */
    @Nullable
    Waiter next() {
        Waiter first = isEmpty() ? null : waiters.poll();
        dropEmpty();
        return first;
    }

    private void dropEmpty() {
        if (waiters.isEmpty()) {
            waiters = NONE;
        }
    }

    /** Returns whether anybody wants to wait where the lock is held. */
    boolean anyWaits() {
        return waiters.stream().anyMatch(waiter -> waiter.waits);
    }

    /** Takes out those who want an answer at once. */
    List<Waiter> takeImpatient() {
        List<Waiter> impatient =
                waiters.stream().filter(waiter -> !waiter.waits).toList();
        waiters.removeAll(impatient);
        return impatient;
    }

    List<Waiter> takeAll() {
        List<Waiter> all = List.copyOf(waiters);
        waiters = NONE;
        return all;
    }
}
