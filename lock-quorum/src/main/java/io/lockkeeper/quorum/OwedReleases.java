/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The releases that one master has not heard of yet. They are sent one after the other, so that a master that is away for
 * long costs one command at a time, each until the master answers or the hold has ended there by itself.
 */
final class OwedReleases {

    private static final int MOST = 10_000;
    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long MAX_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Master master;
    private final Timer timer;
    private final Deque<Owed> queue = new ArrayDeque<>();
    private boolean running;
    private long pause = MIN_PAUSE_NANOS;

    private record Owed(Ending ending, Runnable settled) {}

    OwedReleases(Master master, Timer timer) {
        this.master = master;
        this.timer = timer;
    }

    /** Takes over a release that failed, and says when the master has heard of it, or need not. */
    void add(Ending ending, Runnable settled) {
        Owed dropped = null;
        boolean start;
        synchronized (this) {
            if (queue.size() >= MOST) {
                // The oldest one ends by itself soonest.
                dropped = queue.poll();
            }
            queue.add(new Owed(ending, settled));
            start = !running;
            running = true;
        }
        if (dropped != null) {
            dropped.settled.run();
        }
        if (start) {
            timer.after(MIN_PAUSE_NANOS, this::sendNext);
        }
    }

    private void sendNext() {
        Owed next = takeNext();
        if (next != null) {
            master.release(next.ending.command()).whenComplete((reply, failure) -> sent(next, failure));
        }
    }

    private @Nullable Owed takeNext() {
        while (true) {
            Owed next;
            synchronized (this) {
                next = queue.poll();
                running = next != null;
            }
            if (next == null || !next.ending.isOver()) {
                return next;
            }
            next.settled.run();
        }
    }

    private void sent(Owed owed, @Nullable Throwable failure) {
        long delay;
        synchronized (this) {
            if (failure == null) {
                pause = MIN_PAUSE_NANOS;
                delay = 0;
            } else {
                // At the end: one lock whose key is spoilt must not hold up the others.
                queue.add(owed);
                delay = pause;
                pause = Math.min(MAX_PAUSE_NANOS, 2 * pause);
            }
        }
        if (failure == null) {
            owed.settled.run();
        }
        timer.after(delay, this::sendNext);
    }
}
