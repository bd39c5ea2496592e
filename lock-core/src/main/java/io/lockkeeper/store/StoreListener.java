/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

/**
 * What a store tells the engine. Called on threads of the store; must not block. Without a queue in the store, only
 * revocations matter.
 */
public interface StoreListener {

    /** A waiting attempt holds the lock now. May come late, twice, or for an attempt that has ended. */
    default void granted(Grant grant) {}

    /** The hold of an attempt was taken away by force. May come twice, and before the news of the hold. */
    void revoked(String attempt);

    /**
     * The hold for which an attempt waits ends sooner than the attempt was told, perhaps without a grant.
     *
     * @param attempt the attempt that waits
     * @param remainingMillis how long the hold lasts without a renewal
     */
    default void freeIn(String attempt, long remainingMillis) {}

    /**
     * Others wait now for a lock that an attempt holds, for which none waited when the attempt took it with
     * {@link AcquireCommand#MOST_TOKENS}. May be lost, and come before the news that the attempt holds the lock.
     */
    default void awaited(String attempt) {}

    /** Grants may have been missed, and flow again: every waiting attempt should ask once. */
    default void channelRestored() {}
}
