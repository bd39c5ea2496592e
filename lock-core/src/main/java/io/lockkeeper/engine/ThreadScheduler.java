package io.lockkeeper.engine;

import io.lockkeeper.store.DaemonThreads;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A scheduler with one daemon thread. */
final class ThreadScheduler implements Scheduler, AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(ThreadScheduler.class);

    private final ScheduledThreadPoolExecutor thread;

    ThreadScheduler(String name) {
        thread = new ScheduledThreadPoolExecutor(1, DaemonThreads.factory(name));
        thread.setRemoveOnCancelPolicy(true);
        thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
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
        } catch (RuntimeException | Error failure) {
            log.error("A timer task failed", failure);
        }
    }
}
