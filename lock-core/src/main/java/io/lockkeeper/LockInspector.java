/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import io.lockkeeper.store.GrantChannel;
import java.util.List;
import java.util.Optional;

/** Looks at locks, and ends a hold by force, for operators. */
public interface LockInspector {

    /**
     * Returns an inspector for applications that run {@linkplain LockOperations#withoutLocking() without locking}: it
     * knows no lock.
     */
    static LockInspector withoutLocking() {
        return new UnlockedManager();
    }

    /**
     * Returns the state of one lock; empty where the store knows nothing of it.
     *
     * @throws LockStoreException if the store failed or did not answer
     */
    Optional<LockStatus> status(String name);

    /** Returns this instance as others see it; empty where locking is switched off. Without asking the store. */
    default Optional<LockInstance> here() {
        return Optional.empty();
    }

    /** Returns the locks that this instance holds now, without asking the store. */
    List<LockStatus> heldHere();

    /** Returns the callers of this instance who asked for locks and have no answer yet, without asking the store. */
    default List<LockWait> waitingHere() {
        return List.of();
    }

    /** Returns whether grants reach this instance, without asking the store. */
    default GrantChannel grantChannel() {
        return GrantChannel.NONE;
    }

    /**
     * Finds locks by name, in no order. Looks at 100,000 names that match, or at as many as the limit, where that is
     * more. What is no lock, or one of another version, is left out and logged.
     *
     * @param namePattern a glob in the syntax of Redis: {@code *}, {@code ?}, {@code [a-c]}
     * @param limit the largest number of locks to return, 1 or more
     * @throws LockStoreException if the store failed or did not answer
     */
    List<LockStatus> find(String namePattern, int limit);

    /**
     * Takes a lock away from its holders, and returns whether it was held. Breaks mutual exclusion until the holder
     * hears of it: within a second while its channel is up, else at its next renewal.
     *
     * @throws LockStoreException if the store failed or did not answer
     */
    boolean forceRelease(String name);
}
