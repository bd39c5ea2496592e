/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.board;

import io.lockkeeper.LockListener;
import io.lockkeeper.sample.board.InstanceReport.HandOver;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.springframework.stereotype.Component;

/** Counts how locks come to this instance: from another one, or from a caller of its own. */
@Component
class HandOvers implements LockListener {

    private static final int MOST_NAMES = 20;
    private static final Duration WINDOW = Duration.ofSeconds(2);

    private final LongAdder fromOthers = new LongAdder();
    private final LongAdder withinInstance = new LongAdder();
    private final Map<String, HandOver> last = new ConcurrentHashMap<>();
    private final Deque<Count> counts = new ArrayDeque<>();

    @Override
    public void onAcquired(Acquired event) {
        switch (event.way()) {
            case GRANT, POLL -> {
                fromOthers.increment();
                remember(event);
            }
            case PASS -> withinInstance.increment();
            case ANSWER -> {}
        }
    }

    /** Returns the hand-overs a second since about two seconds ago, as long as this is called every now and then. */
    synchronized Rates rates() {
        Count now = new Count(System.nanoTime(), fromOthers.sum(), withinInstance.sum());
        counts.addLast(now);
        while (counts.size() > 2 && now.nanos - counts.getFirst().nanos > WINDOW.toNanos()) {
            counts.removeFirst();
        }
        Count then = counts.getFirst();
        double seconds = (now.nanos - then.nanos) / 1e9;
        return seconds == 0
                ? new Rates(0, 0)
                : new Rates(
                        perSecond(now.fromOthers - then.fromOthers, seconds),
                        perSecond(now.withinInstance - then.withinInstance, seconds));
    }

    /** Returns for each lock the last time that it came from another instance. */
    List<HandOver> last() {
        return List.copyOf(last.values());
    }

    private void remember(Acquired event) {
        String lock = event.request().names().get(0);
        if (last.size() < MOST_NAMES || last.containsKey(lock)) {
            last.put(
                    lock,
                    new HandOver(lock, event.fencingToken(), event.waited().toMillis(), System.currentTimeMillis()));
        }
    }

    private static double perSecond(long count, double seconds) {
        return Math.round(count / seconds * 10) / 10.0;
    }

    /** Hand-overs a second. */
    record Rates(double fromOthers, double withinInstance) {}

    private record Count(long nanos, long fromOthers, long withinInstance) {}
}
