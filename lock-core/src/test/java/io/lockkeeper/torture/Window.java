/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

/**
 * A time in which something was wrong.
 *
 * @param from when it began, on the shared clock
 * @param to when it was over
 * @param worker whom it befell; {@link #ALL}: all
 * @param cause what it was
 */
record Window(long from, long to, String worker, String cause) {

    static final String ALL = "*";

    boolean concerns(String other) {
        return worker.equals(ALL) || worker.equals(other);
    }

    boolean overlaps(long begin, long end) {
        return from < end && begin < to;
    }

    /** How much of another time it covers, in ns. */
    long within(long begin, long end) {
        return Math.max(0, Math.min(to, end) - Math.max(from, begin));
    }
}
