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
 * Runs every task exactly once, whatever its executor throws: a forgotten task is a lease that is never released, or a
 * loss that is never told. Where no thread can be had, tasks wait for the timer.
 */
final class RetryingExecutor implements Executor, AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(RetryingExecutor.class);
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Executor executor;
    private final @Nullable Executor fallback;
    private final Scheduler scheduler;
    private final Set<Task> waiting = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    /** Creates an executor; what it refuses, a fallback runs; where there is none, as tasks never block, the timer. */
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
                log.warn("No thread can be had for a task, which waits for the timer: {}", refusal.toString());
            } catch (Throwable unsaid) {
                // The task waits all the same.
            }
        }
    }

    /** Returns why no executor runs a task; null: one does, or has. */
    private @Nullable Throwable refusal(Task task) {
        Throwable refusal = refusal(executor, task);
        return refusal == null || fallback == null ? refusal : refusal(fallback, task);
    }

    private static @Nullable Throwable refusal(Executor executor, Task task) {
        try {
            executor.execute(task);
            return null;
        } catch (Throwable refusal) {
            // Tasks throw nothing: where it has begun, this is about something else.
            return task.get() ? null : refusal;
        }
    }

    private void await(Task task) {
        waiting.add(task);
        try {
            scheduler.schedule(() -> takeUp(task), fallback == null ? 0 : RETRY_NANOS);
        } catch (Throwable failure) {
            // The caller hears of it, and may give the task again.
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

    /** The timer has stopped: what waits for it, and what comes after this, runs on the thread at hand if need be. */
    @Override
    public void close() {
        closed = true;
        waiting.removeIf(task -> {
            task.run();
            return true;
        });
    }

    /** Something to run once, also where several executors have taken it; true when it has begun. */
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
                // A thread that ends with this may be the last one that can be had.
                log.error("A task failed", failure);
            }
        }
    }
}
