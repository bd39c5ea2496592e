/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockEngine;
import java.util.concurrent.CompletableFuture;

/** What a body is inside of: a level of one hold, or of several. */
sealed interface EnteredLevel extends LockEngine.Level permits LevelLease, JointLease {

    /** Returns the number of the acquisition that was made for this level; 0: the thread held the lock before. */
    long acquisition();

    /** As {@link #close()}, but without waiting for the store where it ends a hold. */
    CompletableFuture<?> closeAsync();
}
