/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

/** The two clocks by which leases are judged, and the one timer of an engine; replaced in tests. */
interface Scheduler {

    /** Returns a time that never goes back, but may stop while the machine is suspended. */
    long nanoTime();

    /** Returns the wall clock, which may jump, but goes on while the machine is suspended. */
    long currentTimeMillis();

    /** Reads both clocks. */
    default ClockReading now() {
        return new ClockReading(nanoTime(), currentTimeMillis());
    }

    /** Runs a short task once, after a delay. The task must not block. */
    Timeout schedule(Runnable task, long delayNanos);

    /** A task that waits for its time. */
    interface Timeout {

        /** Takes the task back, if it has not run yet. */
        void cancel();
    }
}
