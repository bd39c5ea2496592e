/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.util.List;

/** What the store says to an {@link AcquireCommand}. */
public sealed interface AcquireReply {

    /**
     * The attempt holds all locks that it asked for.
     *
     * @param leaseMillis how long it holds them without a renewal; shorter than asked for where the store cannot tell
     *     the command from a late copy of an old one
     * @param firstTokens the first of the reserved fencing tokens of each lock, in the order of the names
     */
    record Acquired(long leaseMillis, List<Long> firstTokens) implements AcquireReply {}

    /**
     * The attempt waits in the store's queue. It will be told through {@link StoreListener#granted}.
     *
     * @param holder the id of an attempt that holds the lock for which this one waits
     * @param remainingMillis how long that hold lasts without a renewal
     * @param storeMillis the store's clock when it answered
     */
    record Queued(String holder, long remainingMillis, long storeMillis) implements AcquireReply {}

    /**
     * Another attempt holds the lock, or is before this one, and this one does not wait, or cannot.
     *
     * @param holder the id of the attempt that holds the lock; empty where that is unknown
     */
    record Busy(String holder) implements AcquireReply {}

    /** The attempt held the lock: it released it, or was made to. Only a new attempt can get it. */
    record Ended() implements AcquireReply {}
}
