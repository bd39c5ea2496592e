/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Both clocks and the timer of a test: time passes only when the test says so. */
final class ManualTime implements Scheduler {

    private record Task(int number, Runnable work, long due) {}

    private final List<Task> tasks = new ArrayList<>();
    private int scheduled;
    private long nanos = TimeUnit.HOURS.toNanos(1);
    private long wallOffset = TimeUnit.DAYS.toMillis(20_000);

    @Override
    public synchronized long nanoTime() {
        return nanos;
    }

    @Override
    public synchronized long currentTimeMillis() {
        return TimeUnit.NANOSECONDS.toMillis(nanos) + wallOffset;
    }

    @Override
    public synchronized Timeout schedule(Runnable task, long delayNanos) {
        Task added = new Task(scheduled++, task, nanos + Math.max(0, delayNanos));
        tasks.add(added);
        return () -> remove(added);
    }

    /** Lets time pass on both clocks, and runs what becomes due on the way. */
    void pass(Duration time) {
        long end = nanoTime() + time.toNanos();
        for (Optional<Task> next = takeDue(end); next.isPresent(); next = takeDue(end)) {
            next.get().work().run();
        }
        moveTo(end);
    }

    /** Lets time pass on both clocks while no timer runs: a process that was stopped. */
    synchronized void passUnnoticed(Duration time) {
        nanos += time.toNanos();
    }

    /** Lets the wall clock jump. */
    synchronized void jumpWall(Duration time) {
        wallOffset += time.toMillis();
    }

    /** Returns how long the next task has to wait. */
    synchronized Duration nextDelay() {
        long due = tasks.stream().mapToLong(Task::due).min().orElseThrow();
        return Duration.ofNanos(due - nanos);
    }

    synchronized int pending() {
        return tasks.size();
    }

    private synchronized void remove(Task task) {
        tasks.remove(task);
    }

    private synchronized void moveTo(long time) {
        nanos = Math.max(nanos, time);
    }

    private synchronized Optional<Task> takeDue(long end) {
        Optional<Task> next = tasks.stream().filter(task -> task.due() <= end).min(Comparator.comparingLong(Task::due));
        next.ifPresent(task -> {
            moveTo(task.due());
            remove(task);
        });
        return next;
    }
}
