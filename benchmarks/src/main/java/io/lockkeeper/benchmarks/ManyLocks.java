/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

/** A library that holds many locks at once, all of them for one thread. */
interface ManyLocks extends AutoCloseable {

    /** Says that a library does not tell. */
    long UNKNOWN = Long.MAX_VALUE;

    /** Makes room for so many locks, so that what is counted afterwards is not the list. */
    void expect(int count);

    void take(int index);

    void release(int index);

    /** Returns whether the lock is held, as its holder and Redis see it. */
    boolean isHeld(int index);

    /** Returns what is left of the lock's lease in ms, without asking Redis. */
    default long remainingMillis(int index) {
        return UNKNOWN;
    }

    static String name(int index) {
        return "order:" + (1_000_000 + index);
    }
}
