/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

/** Where a {@link Cohort} stands. */
enum Phase {
    /** Nobody wants the lock. */
    IDLE,

    /** An attempt has asked, and the store has not answered. */
    ASKING,

    /** An attempt waits in the store, or for the time to ask again. */
    QUEUED,

    /** One of the callers holds the lock, or several readers. */
    HELD,

    /** Over: callers need another cohort. */
    RETIRED
}
