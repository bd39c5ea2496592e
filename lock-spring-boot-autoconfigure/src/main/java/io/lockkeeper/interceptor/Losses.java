/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.ReleaseResult;
import org.jspecify.annotations.Nullable;

/** Whether a body has lost its lock, and what that does to its failure. */
final class Losses {

    private static final int MAX_CAUSES = 32;

    private Losses() {}

    /** Returns the loss of a lease; null where it is held, or was released by the body itself. */
    static @Nullable LockLostException of(LockLease lease) {
        if (lease.isHeld()) {
            return null;
        }
        try {
            lease.ensureHeld();
            return null;
        } catch (LockLostException notHeld) {
            // A body that has released its lease itself has not lost it.
            return lease.release() == ReleaseResult.LOST ? notHeld : null;
        }
    }

    /** Adds a loss to what a body threw, unless that is the loss itself. */
    static void addTo(Throwable failure, @Nullable LockLostException lost) {
        if (lost != null && !isIn(lost, failure)) {
            failure.addSuppressed(lost);
        }
    }

    /** Returns whether a failure tells of a loss: each look at a lost lease makes an exception of its own. */
    static boolean isIn(LockLostException lost, Throwable failure) {
        Throwable cause = failure;
        for (int i = 0; cause != null && i < MAX_CAUSES; i++) {
            if (cause instanceof LockLostException known
                    && known.fencingToken() == lost.fencingToken()
                    && known.name().equals(lost.name())) {
                return true;
            }
            cause = cause.getCause();
        }
        return false;
    }
}
