package io.lockkeeper.store;

/**
 * Asks for a lock on behalf of one attempt. Repeating the command is harmless: an attempt that holds the lock has its
 * lease refreshed, one that waits is kept in its place.
 *
 * @param name the lock's name
 * @param attempt the id of the attempt: the store's {@linkplain LockStore#clientId() client id} and a number
 * @param mode how the attempt wants to hold the lock
 * @param leaseMillis how long a hold lasts
 * @param queue whether the attempt waits in the store's queue where the lock is held
 * @param tokens how many fencing tokens a hold reserves
 */
public record AcquireCommand(
        String name, String attempt, ClaimMode mode, long leaseMillis, boolean queue, int tokens) {}
