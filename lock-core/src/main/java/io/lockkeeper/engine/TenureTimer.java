/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has tasks run for tenures, each of which has at most one that waits. All that are due at one time share one task of the
 * scheduler, so that a hold costs a place in a list and its release nothing but to take it out (as in the timing wheels of
 * Varghese and Lauck, SOSP 1987).
 */
final class TenureTimer {

    private static final Logger log = LoggerFactory.getLogger(TenureTimer.class);

    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Scheduler scheduler;
    private final TimeSource clock;
    private final Map<Long, Slot> slots = new HashMap<>();

    /** The slot that was the last to lose its last tenure: most locks are released before their time and come again. */
    private @Nullable Slot empty;

    TenureTimer(Scheduler scheduler, TimeSource clock) {
        this.scheduler = scheduler;
        this.clock = clock;
    }

    /**
     * Has a task run for a tenure, instead of the one that waits for it; nothing happens where the tenure is over.
     *
     * @param tenure the tenure
     * @param task what to do, must not block
     * @param nanos when, on the monotonic clock
     */
    synchronized void put(Tenure tenure, Consumer<Tenure> task, long nanos) {
        tenure.leaveSlot();
        if (tenure.isOver()) {
            return;
        }
        slots.computeIfAbsent(nanos, this::open).add(tenure, task);
        // It may have ended between the look and the assignment.
        if (tenure.isOver()) {
            tenure.leaveSlot();
        }
    }

    private Slot open(long nanos) {
        Slot opened = new Slot(nanos);
        opened.timeout = scheduler.schedule(opened::run, nanos - clock.nanoTime());
        return opened;
    }

    /** Tenures that are due at the same time. */
    final class Slot {

        private final long nanos;
        private final List<Tenure> tenures = new ArrayList<>();
        private Scheduler.@Nullable Timeout timeout;

        private Slot(long nanos) {
            this.nanos = nanos;
        }

        private void add(Tenure tenure, Consumer<Tenure> task) {
            tenure.place = tenures.size();
            tenure.task = task;
            tenure.slot = this;
            tenures.add(tenure);
        }

        /** Takes a tenure out, if it is there. */
        void remove(Tenure tenure) {
            synchronized (TenureTimer.this) {
                if (tenure.slot != this) {
                    return;
                }
                tenure.slot = null;
                Tenure last = tenures.remove(tenures.size() - 1);
                if (last != tenure) {
                    tenures.set(tenure.place, last);
                    last.place = tenure.place;
                }
                if (tenures.isEmpty()) {
                    keepEmpty();
                }
            }
        }

        private void keepEmpty() {
            Slot before = empty;
            if (before != null && before != this && before.tenures.isEmpty() && slots.remove(before.nanos, before)) {
                before.cancel();
            }
            empty = this;
        }

        private void cancel() {
            if (timeout != null) {
                timeout.cancel();
            }
        }

        private void run() {
            takeAll().forEach(tenure -> {
                // A task that is put meanwhile runs now, too: all of them look at the clock.
                try {
                    tenure.task.accept(tenure);
                } catch (Throwable failure) {
                    log.error("A timer task failed, and is tried again", failure);
                    put(tenure, tenure.task, clock.nanoTime() + RETRY_NANOS);
                }
            });
        }

        private List<Tenure> takeAll() {
            synchronized (TenureTimer.this) {
                slots.remove(nanos, this);
                List<Tenure> due = List.copyOf(tenures);
                tenures.clear();
                due.forEach(tenure -> tenure.slot = null);
                return due;
            }
        }
    }
}
