package io.lockkeeper.store;

import java.time.Duration;

/**
 * What a store says of itself when it is opened.
 *
 * @param commandTimeout within which every command is answered or fails
 * @param pollInterval how often a waiting attempt asks again
 * @param grantTime how long a granted attempt holds the lock before it must have renewed it
 * @param queues whether attempts can wait in the store, and hold locks together; false: it knows only exclusive holds, and
 *     one who waits asks again and again
 */
public record StoreTraits(Duration commandTimeout, Duration pollInterval, Duration grantTime, boolean queues) {}
