/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import io.lockkeeper.LockListener;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Knows which acquisitions of an application hold which names. */
final class HeldHere implements LockListener {

    private final Map<Long, List<String>> holds = new HashMap<>();

    @Override
    public synchronized void onAcquired(Acquired event) {
        holds.put(event.acquisition(), event.request().names());
    }

    @Override
    public void onReleased(Released event) {
        end(event.acquisition());
    }

    @Override
    public void onLost(Lost event) {
        end(event.acquisition());
    }

    private synchronized void end(long acquisition) {
        holds.remove(acquisition);
        notifyAll();
    }

    /** Returns the numbers of the acquisitions that hold a name. */
    synchronized List<Long> holdersOf(String name) {
        return holds.entrySet().stream()
                .filter(hold -> hold.getValue().contains(name))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Waits until none of some acquisitions holds anything. */
    synchronized void awaitEnd(String name, List<Long> acquisitions, Duration patience) {
        long deadline = System.nanoTime() + patience.toNanos();
        try {
            while (acquisitions.stream().anyMatch(holds::containsKey)) {
                long left = (deadline - System.nanoTime()) / 1_000_000;
                if (left <= 0) {
                    throw new IllegalStateException("The holders of lock '" + name + "' have not heard within "
                            + patience + " that it is lost");
                }
                wait(left);
            }
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("Interrupted while lock '" + name + "' was taken away", interrupt);
        }
    }
}
