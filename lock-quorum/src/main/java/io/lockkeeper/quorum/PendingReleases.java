/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.quorum.Quorum.Ending;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The releases that one node has not heard of yet. They are sent one after the other, so that a node that is away for long
 * costs one command at a time, each until the node answers or the hold has ended there by itself.
 */
final class PendingReleases {

    private static final int MOST = 10_000;
    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long MAX_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final QuorumNode node;
    private final Quorum quorum;
    private final Deque<Pending> queue = new ArrayDeque<>();
    private boolean running;
    private long pause = MIN_PAUSE_NANOS;

    private record Pending(Ending ending, Runnable settled) {}

    PendingReleases(QuorumNode node, Quorum quorum) {
        this.node = node;
        this.quorum = quorum;
    }

    /** Takes over a release that failed, and says when the node has heard of it, or need not. */
    void add(Ending ending, Runnable settled) {
        Pending dropped;
        boolean start;
        synchronized (this) {
            // The oldest one ends by itself soonest.
            dropped = queue.size() >= MOST ? queue.poll() : null;
            queue.add(new Pending(ending, settled));
            start = !running;
            running = true;
        }
        if (dropped != null) {
            dropped.settled.run();
        }
        if (start) {
            quorum.later(MIN_PAUSE_NANOS, this::sendNext);
        }
    }

    private void sendNext() {
        Pending next = takeNext();
        if (next != null) {
            node.ask(store -> store.release(next.ending.command()))
                    .whenComplete((reply, failure) -> sent(next, failure));
        }
    }

    private @Nullable Pending takeNext() {
        while (true) {
            Pending next;
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

    private void sent(Pending pending, @Nullable Throwable failure) {
        long delay = 0;
        synchronized (this) {
            if (failure == null) {
                pause = MIN_PAUSE_NANOS;
            } else {
                // At the end: one lock whose key is spoilt must not hold up the others.
                queue.add(pending);
                delay = pause;
                pause = Math.min(MAX_PAUSE_NANOS, 2 * pause);
            }
        }
        if (failure == null) {
            pending.settled.run();
        }
        quorum.later(delay, this::sendNext);
    }
}
