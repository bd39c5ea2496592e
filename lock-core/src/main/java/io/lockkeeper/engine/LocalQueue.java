/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.ArrayDeque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The local callers who wait for one lock, first in, first out; those who have left do not count. Guarded by the cohort. */
final class LocalQueue {

    private final ArrayDeque<Waiter> waiters = new ArrayDeque<>(2);

    void add(Waiter waiter) {
        waiters.add(waiter);
    }

    void remove(Waiter waiter) {
        waiters.remove(waiter);
    }

    boolean isEmpty() {
        while (!waiters.isEmpty() && waiters.peek().isGone()) {
            waiters.poll();
        }
        return waiters.isEmpty();
    }

    /** Takes out the first caller; null: nobody is there. */
    @Nullable
    Waiter next() {
        return isEmpty() ? null : waiters.poll();
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
        waiters.clear();
        return all;
    }
}
