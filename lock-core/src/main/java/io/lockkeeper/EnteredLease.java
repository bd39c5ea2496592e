/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.concurrent.CompletableFuture;

/** What a body is inside of: a level of one hold, or of several. */
sealed interface EnteredLease extends LockLease permits NestedLease, CompositeLevel {

    /**
     * Puts an owner inside: it enters the names again as if it had acquired them, until the result is called.
     *
     * @return takes the owner out again
     */
    Runnable enter(ReentrantHolds.Owner owner);

    /** Puts this thread inside, as {@link #enter}; the result is called on the same thread. */
    Runnable enterThread();

    /** Returns the number of the acquisition that was made for this level; 0: the owner held the lock before. */
    long acquisition();

    /** Ends the level as {@link #close()}, but without waiting for the store where it ends a hold. */
    CompletableFuture<?> closeAsync();
}
