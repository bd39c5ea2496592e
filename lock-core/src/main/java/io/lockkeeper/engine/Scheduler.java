/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

/** The one timer of an engine; replaced in tests. */
interface Scheduler {

    /**
     * Runs a short task once, after a delay. The task must not block.
     *
     * @param task the task
     * @param delayNanos the delay
     * @return takes the task back; harmless when it has run
     */
    Timeout schedule(Runnable task, long delayNanos);

    /** A task that waits for its time. */
    interface Timeout {

        /** Takes the task back, if it has not run yet. */
        void cancel();
    }
}
