/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.PriorityQueue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The one queue of everything that happens in a simulation, in the order of its virtual time. */
final class VirtualTime {

    private final PriorityQueue<Event> queue = new PriorityQueue<>();
    private long now;
    private long numbers;
    private long ran;

    /** Something that will happen. */
    static final class Event implements Comparable<Event> {

        private final long at;
        private final long number;
        private final Consumer<Runnable> where;
        private @Nullable Runnable work;

        private Event(long at, long number, Runnable work, Consumer<Runnable> where) {
            this.at = at;
            this.number = number;
            this.work = work;
            this.where = where;
        }

        @Override
        public int compareTo(Event other) {
            return at == other.at ? Long.compare(number, other.number) : Long.compare(at, other.at);
        }

        /** Takes it back; harmless when it has happened. */
        void cancel() {
            work = null;
        }
    }

    /** Returns the time since the beginning. */
    long now() {
        return now;
    }

    /** Returns how many events have happened. */
    long ran() {
        return ran;
    }

    /** Lets something happen at a given time, or now where that has passed. */
    Event at(long time, Runnable work) {
        return at(time, work, Runnable::run);
    }

    /** Lets something happen where it does not run by itself. */
    Event at(long time, Runnable work, Consumer<Runnable> where) {
        Event event = new Event(Math.max(now, time), numbers++, work, where);
        queue.add(event);
        return event;
    }

    /** Lets something happen after a while. */
    Event after(long nanos, Runnable work) {
        return at(now + Math.max(0, nanos), work);
    }

    /** Lets the next event happen, if it is due until a given time; false: there is none. */
    boolean step(long until) {
        Event next = queue.peek();
        while (next != null && next.work == null) {
            queue.remove();
            next = queue.peek();
        }
        if (next == null || next.at > until) {
            return false;
        }
        queue.remove();
        now = next.at;
        ran++;
        Runnable work = next.work;
        next.work = null;
        if (work != null) {
            next.where.accept(work);
        }
        return true;
    }

    /** Lets time pass to a given moment, up to which nothing is left to happen. */
    void moveTo(long time) {
        now = Math.max(now, time);
    }

    /** Returns whether nothing is left to happen. */
    boolean isOver() {
        return queue.stream().allMatch(event -> event.work == null);
    }
}
