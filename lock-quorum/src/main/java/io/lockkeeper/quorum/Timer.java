/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.DaemonThreads;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Runs short tasks later, on one thread. */
final class Timer implements AutoCloseable {

    private final ScheduledThreadPoolExecutor thread =
            new ScheduledThreadPoolExecutor(1, DaemonThreads.factory("lockkeeper-quorum-timer"));

    Timer() {
        thread.setRemoveOnCancelPolicy(true);
    }

    /**
     * Runs a task after a delay; never where the timer is closed before.
     *
     * @return takes the task back
     */
    Runnable after(long nanos, Runnable task) {
        try {
            var pending = thread.schedule(task, nanos, TimeUnit.NANOSECONDS);
            return () -> pending.cancel(false);
        } catch (RejectedExecutionException closed) {
            return () -> {};
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }
}
