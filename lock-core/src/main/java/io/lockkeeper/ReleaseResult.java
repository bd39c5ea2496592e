/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

/** What a release came to. {@link LockLease#release()} reports it and never throws. */
public enum ReleaseResult {
    /** The lock was held to the end and is free now, or passed on to the next waiter. */
    RELEASED,
    /** This lease had been released before; nothing was done. */
    ALREADY_RELEASED,
    /** The lease had ended before its release: another may have held the lock meanwhile. */
    LOST,
    /**
     * The store did not answer. The lease is over for this process and is no longer renewed; the release is repeated in
     * the background until the lease would have ended by itself.
     */
    UNKNOWN
}
