package io.lockkeeper.store;

import java.time.Duration;

/**
 * The times that a store works with.
 *
 * @param commandTimeout within which every command is answered or fails
 * @param pollInterval how often a waiting attempt asks again
 * @param grantTime how long a granted attempt holds the lock before it must have renewed it
 */
public record StoreTimes(Duration commandTimeout, Duration pollInterval, Duration grantTime) {}
