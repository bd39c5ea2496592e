/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

/** What the store says to a {@link ReleaseCommand}. */
public enum ReleaseReply {
    /** The attempt held the lock, and has released it. */
    RELEASED,
    /** The attempt waited, and has left the queue. */
    LEFT_QUEUE,
    /** The attempt had ended before, by a release that the store remembers. */
    ALREADY_RELEASED,
    /** The store knows nothing of the attempt: its lease ran out, or it never had anything. */
    NOT_HELD
}
