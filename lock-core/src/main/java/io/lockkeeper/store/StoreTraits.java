/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.time.Duration;

/**
 * What a store says of itself when it is opened.
 *
 * @param commandTimeout within which every command is answered or fails
 * @param pollInterval how often a waiting attempt asks again
 * @param grantTime how long a granted attempt holds the lock before it must have renewed it
 * @param queues whether attempts can wait in the store, and hold locks together; false: it knows only exclusive holds,
 *     and one who waits asks again and again
 * @param claims whether a granted attempt asks once more before it believes, because the grant itself may be lost
 */
public record StoreTraits(
        Duration commandTimeout, Duration pollInterval, Duration grantTime, boolean queues, boolean claims) {

    /** Creates the traits of a store whose grants may be believed. */
    public StoreTraits(Duration commandTimeout, Duration pollInterval, Duration grantTime, boolean queues) {
        this(commandTimeout, pollInterval, grantTime, queues, false);
    }

    /** Returns how long an attempt that waits keeps what it has without asking again: it is taken for dead then. */
    public long aliveMillis() {
        return 4 * pollInterval.toMillis();
    }
}
