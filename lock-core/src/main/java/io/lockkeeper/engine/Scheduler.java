/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.store.DaemonThreads;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
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

    /** Runs a short task after a delay, until it ends without throwing anything. The task must not block. */
    Timeout schedule(Runnable task, long delayNanos);

    /** Returns a future that completes when another one has ended in any way, or a time is over. */
    default CompletableFuture<?> atMost(long nanos, CompletableFuture<?> awaited) {
        CompletableFuture<@Nullable Void> told = new CompletableFuture<>();
        Timeout timeout = awaited.isDone() ? () -> {} : schedule(() -> told.complete(null), Math.max(0, nanos));
        awaited.whenComplete((result, failure) -> {
            told.complete(null);
            timeout.cancel();
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
        private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

        private final ScheduledThreadPoolExecutor thread;

        OnThread(String name) {
            prepare();
            ThreadFactory threads = DaemonThreads.factory(name);
            thread = new ScheduledThreadPoolExecutor(
                    1, worker -> threads.newThread(() -> work(worker)), new ThreadPoolExecutor.DiscardPolicy());
            thread.setRemoveOnCancelPolicy(true);
            thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
            // Started at once, since it is needed when no other thread is available.
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
            ScheduledFuture<?> pending = thread.schedule(new Task(task), delayNanos, TimeUnit.NANOSECONDS);
            return () -> pending.cancel(false);
        }

        @Override
        public void close() {
            thread.shutdownNow();
        }

        private void work(Runnable worker) {
            try {
                worker.run();
            } finally {
                // Without memory for its queue the thread ends, and may not be replaced.
                insist(null);
            }
        }

        /** Schedules a task, or starts the thread; tries again while there is no memory. */
        private void insist(@Nullable Task task) {
            while (!thread.isShutdown()) {
                try {
                    if (task == null) {
                        thread.prestartCoreThread();
                    } else {
                        thread.schedule(task, PAUSE_NANOS, TimeUnit.NANOSECONDS);
                    }
                    return;
                } catch (Throwable full) {
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
        }

        /** Links the classes that error handlers need, for which there may be no memory later. */
        private static void prepare() {
            try {
                throw new IllegalStateException("only here");
            } catch (Throwable linked) {
                LockSupport.parkNanos(0);
            }
        }

        private final class Task implements Runnable {

            private final Runnable work;
            private boolean failed;

            private Task(Runnable work) {
                this.work = work;
            }

            @Override
            public void run() {
                try {
                    work.run();
                } catch (Throwable failure) {
                    // Before the log, for which there may be no memory.
                    insist(this);
                    if (!failed) {
                        failed = true;
                        log.error("A timer task failed, and is repeated", failure);
                    }
                }
            }
        }
    }
}
