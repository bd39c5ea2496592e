/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

/**
 * What the store says to a {@link HandOverCommand}.
 *
 * @param wasHeld whether the first attempt held the lock until then
 * @param next what it says to the next attempt; ended where the first attempt did not hold the lock
 */
public record HandOverReply(boolean wasHeld, AcquireReply next) {}
