/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.store.DaemonThreads;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The two clocks by which leases are judged, and the one timer of an engine; replaced in tests. */
interface Scheduler {

    /** Returns a time that never goes back, but may stop while the machine is suspended. */
    long nanoTime();

    /** Returns the wall clock, which may jump, but goes on while the machine is suspended. */
    long currentTimeMillis();

    default ClockReading now() {
        return new ClockReading(nanoTime(), currentTimeMillis());
    }

    /** Runs a short task once, after a delay. The task must not block. */
    Timeout schedule(Runnable task, long delayNanos);

    /** Returns what is completed when something has ended in any way, or a time is over. */
    default CompletableFuture<?> atMost(long nanos, CompletableFuture<?> awaited) {
        CompletableFuture<@Nullable Void> told = new CompletableFuture<>();
        Timeout timeout = awaited.isDone() ? () -> {} : schedule(() -> told.complete(null), Math.max(0, nanos));
        awaited.whenComplete((result, failure) -> {
            timeout.cancel();
            told.complete(null);
        });
        return told;
    }

    interface Timeout {

        /** Takes the task back, if it has not run yet. */
        void cancel();
    }

    /** The clocks of the machine, and a timer with one daemon thread. */
    final class OnThread implements Scheduler, AutoCloseable {

        private static final Logger log = LoggerFactory.getLogger(Scheduler.class);

        private final ScheduledThreadPoolExecutor thread;

        OnThread(String name) {
            thread = new ScheduledThreadPoolExecutor(1, DaemonThreads.factory(name));
            thread.setRemoveOnCancelPolicy(true);
            thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
            // It must be there where no other thread can be had.
            thread.prestartCoreThread();
        }

        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public long currentTimeMillis() {
            return System.currentTimeMillis();
        }

        @Override
        public Timeout schedule(Runnable task, long delayNanos) {
            try {
                ScheduledFuture<?> pending = thread.schedule(() -> run(task), delayNanos, TimeUnit.NANOSECONDS);
                return () -> pending.cancel(false);
            } catch (RejectedExecutionException closed) {
                return () -> {};
            }
        }

        @Override
        public void close() {
            thread.shutdownNow();
        }

        private static void run(Runnable task) {
            try {
                task.run();
            } catch (Throwable failure) {
                log.error("A timer task failed", failure);
            }
        }
    }
}
