/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

/**
 * Tells a waiting attempt that it holds the lock now.
 *
 * @param attempt the attempt
 * @param name the lock's name
 * @param firstToken the first of the reserved fencing tokens
 * @param untilStoreMillis the end of the hold on the store's clock, unless it is renewed before
 */
public record Grant(String attempt, String name, long firstToken, long untilStoreMillis) {}
