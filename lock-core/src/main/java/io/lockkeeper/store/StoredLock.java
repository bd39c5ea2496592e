package io.lockkeeper.store;

/**
 * What a store knows of a lock that somebody holds.
 *
 * @param name the lock's name
 * @param mode how it is held
 * @param owner the id of the attempt that holds it
 * @param token the highest fencing token that was given out or reserved
 * @param remainingMillis how long the hold lasts without a renewal
 */
public record StoredLock(String name, ClaimMode mode, String owner, long token, long remainingMillis) {}
