/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

/**
 * Ends the hold of one attempt and asks for the lock again for the next one of the same client. Repeating the command
 * is harmless.
 *
 * @param attempt the attempt that holds the lock
 * @param lastToken the last of its reserved fencing tokens that was really used
 * @param next what the next attempt asks for, of the same lock and no other, and how long the calling thread waits
 * @param ahead whether the next attempt, a reader, comes before those who wait; false: they come first, and the next
 *     attempt holds the lock at once only where there are none
 */
public record HandOverCommand(String attempt, long lastToken, AcquireCommand next, boolean ahead) {}
