/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockListener;
import io.lockkeeper.ReleaseResult;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Checks that the events of every acquisition are pairs: asked and answered, acquired and ended, a body that begins and
 * ends.
 */
final class EventLedger implements LockListener {

    private record Entry(String event, Thread thread) {}

    private final Map<Long, List<Entry>> events = new ConcurrentHashMap<>();

    private void write(long acquisition, String event) {
        events.computeIfAbsent(acquisition, number -> new CopyOnWriteArrayList<>())
                .add(new Entry(event, Thread.currentThread()));
    }

    /** Called when all is over. */
    void assertBalanced() {
        assertThat(events).isNotEmpty();
        events.values().forEach(EventLedger::assertBalanced);
    }

    private static void assertBalanced(List<Entry> entries) {
        List<String> names = entries.stream().map(Entry::event).toList();
        assertThat(names).startsWith("asked");
        assertThat(names.stream().filter(List.of("acquired", "not acquired", "given up")::contains))
                .as(names.toString())
                .hasSize(1);
        boolean acquired = names.contains("acquired");
        assertThat(names.stream().filter(List.of("released", "lost")::contains))
                .as(names.toString())
                .hasSize(acquired ? 1 : 0);
        assertThat(names).doesNotHaveDuplicates();
        List<Thread> bodies = entries.stream()
                .filter(entry -> entry.event().startsWith("body"))
                .map(Entry::thread)
                .toList();
        assertThat(bodies).as(names.toString()).hasSizeLessThanOrEqualTo(acquired ? 2 : 0);
        if (!bodies.isEmpty()) {
            assertThat(bodies).as(names.toString()).hasSize(2).containsOnly(bodies.get(0));
            assertThat(names).containsSubsequence("acquired", "body begins", "body ends");
        }
    }

    @Override
    public void onAsked(Asked event) {
        write(event.acquisition(), "asked");
    }

    @Override
    public void onAcquired(Acquired event) {
        write(event.acquisition(), "acquired");
    }

    @Override
    public void onNotAcquired(NotAcquired event) {
        write(event.acquisition(), "not acquired");
    }

    @Override
    public void onGivenUp(GivenUp event) {
        write(event.acquisition(), "given up");
    }

    @Override
    public void onBodyBegins(Body event) {
        write(event.acquisition(), "body begins");
    }

    @Override
    public void onBodyEnds(Body event) {
        write(event.acquisition(), "body ends");
    }

    @Override
    public void onReleased(Released event) {
        // A lost lease is told as such, before or after its release.
        if (event.result() != ReleaseResult.LOST) {
            write(event.acquisition(), "released");
        }
    }

    @Override
    public void onLost(Lost event) {
        write(event.acquisition(), "lost");
    }
}
