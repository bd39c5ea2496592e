/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs every task exactly once, whatever its executor throws: a forgotten task would be a lease that is never released,
 * or a loss that is never reported. While no thread is available, tasks wait for the timer.
 */
final class RetryingExecutor implements Executor, AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(RetryingExecutor.class);
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Executor executor;
    private final @Nullable Executor fallback;
    private final Scheduler scheduler;
    private final Set<Task> waiting = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    /** Creates an executor. A refused task runs on the fallback; without one, on the timer, as it must not block. */
    RetryingExecutor(Executor executor, @Nullable Executor fallback, Scheduler scheduler) {
        this.executor = executor;
        this.fallback = fallback;
        this.scheduler = scheduler;
    }

    @Override
    public void execute(Runnable work) {
        Task task = new Task(work);
        Throwable refusal = refusal(task);
        if (refusal != null) {
            await(task);
            try {
                log.warn("No thread is available for a task, which waits for the timer: {}", refusal.toString());
            } catch (Throwable unsaid) {
                // There is no memory for the line; the task waits nevertheless.
            }
        }
    }

    /** Returns why no executor accepts a task; null: one has accepted it. */
    private @Nullable Throwable refusal(Task task) {
        Throwable refusal = refusal(executor, task);
        return refusal == null || fallback == null ? refusal : refusal(fallback, task);
    }

    private static @Nullable Throwable refusal(Executor executor, Task task) {
        try {
            executor.execute(task);
            return null;
        } catch (Throwable refusal) {
            // Tasks throw nothing: if the task has begun, the exception is about something else.
            return task.get() ? null : refusal;
        }
    }

    private void await(Task task) {
        waiting.add(task);
        try {
            scheduler.schedule(() -> takeUp(task), fallback == null ? 0 : RETRY_NANOS);
        } catch (Throwable failure) {
            // The caller gets the exception, and may submit the task again.
            waiting.remove(task);
            throw failure;
        }
        if (closed) {
            close();
        }
    }

    private void takeUp(Task task) {
        waiting.remove(task);
        if (fallback == null) {
            task.run();
        } else if (refusal(task) != null) {
            await(task);
        }
    }

    /** The timer has stopped: tasks that wait for it, or come later without a thread, run on the calling thread. */
    @Override
    public void close() {
        closed = true;
        waiting.removeIf(task -> {
            task.run();
            return true;
        });
    }

    /** A task that runs once, even if several executors have accepted it; true when it has begun. */
    @SuppressWarnings("serial") // It is never written anywhere.
    private static final class Task extends AtomicBoolean implements Runnable {

        private final transient Runnable work;

        private Task(Runnable work) {
            this.work = work;
        }

        @Override
        public void run() {
            if (!compareAndSet(false, true)) {
                return;
            }
            try {
                work.run();
            } catch (Throwable failure) {
                // Caught, because a thread that ends might not be replaced.
                log.error("A task failed", failure);
            }
        }
    }
}
