/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

/** The two clocks by which leases are judged; replaced in tests. */
interface Clock {

    /** The clocks of the machine. */
    Clock SYSTEM = new Clock() {
        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public long currentTimeMillis() {
            return System.currentTimeMillis();
        }
    };

    /** Returns a time that never goes back, but may stop while the machine is suspended. */
    long nanoTime();

    /** Returns the wall clock, which may jump, but goes on while the machine is suspended. */
    long currentTimeMillis();

    /** Reads both clocks. */
    default ClockReading now() {
        return new ClockReading(nanoTime(), currentTimeMillis());
    }
}
