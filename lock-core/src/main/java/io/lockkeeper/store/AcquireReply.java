package io.lockkeeper.store;

/** What the store says to an {@link AcquireCommand}. */
public sealed interface AcquireReply {

    /**
     * The attempt holds the lock, for the lease that it asked for.
     *
     * @param firstToken the first of the reserved fencing tokens
     */
    record Acquired(long firstToken) implements AcquireReply {}

    /**
     * The attempt waits in the store's queue. It will be told through {@link StoreListener#granted}.
     *
     * @param holder the id of the attempt that holds the lock
     * @param remainingMillis how long that hold lasts without a renewal
     * @param storeMillis the store's clock when it answered
     */
    record Queued(String holder, long remainingMillis, long storeMillis) implements AcquireReply {}

    /**
     * Another attempt holds the lock, or is before this one, and this one does not wait.
     *
     * @param holder the id of the attempt that holds the lock
     */
    record Busy(String holder) implements AcquireReply {}
}
