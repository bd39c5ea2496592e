/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

/**
 * How a lock is shared. {@link #EXCLUSIVE}, {@link #FAIR} and {@link #WRITE} of one name exclude each other;
 * {@link #READ} shares with other readers and excludes the rest.
 */
public enum LockMode {
    /**
     * One holder. Instances are served in the order in which they asked; within one instance a released lock may pass
     * to the next local caller a bounded number of times before another instance has its turn. The default.
     */
    EXCLUSIVE,
    /**
     * One holder, and every caller is served in the order of arrival, whatever its instance. Of several names that one
     * request asks for, a caller stands in one queue at a time, in the order of the names: while it waits for one, those
     * who ask for a later one come before it.
     */
    FAIR,
    /** Any number of holders, as long as there is no writer. */
    READ,
    /** One holder, and no reader beside it. */
    WRITE
}
