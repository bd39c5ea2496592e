package io.lockkeeper.store;

/** What a store tells the engine. Called on threads of the store; must not block. */
public interface StoreListener {

    /**
     * A waiting attempt holds the lock now. May come late, twice, or for an attempt that has ended.
     *
     * @param grant what was granted
     */
    void granted(Grant grant);

    /** Grants may have been missed, and flow again: every waiting attempt should ask once. */
    void channelRestored();
}
