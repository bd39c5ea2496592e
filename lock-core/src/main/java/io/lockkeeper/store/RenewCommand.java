/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

/**
 * Gives a hold a new end, counted from the moment at which the store runs the command. Refused once the hold has ended.
 *
 * @param name the lock's name
 * @param attempt the attempt that holds the lock
 * @param leaseMillis how long the hold lasts from now on
 * @param exact whether it lasts exactly that long; false: a later end stays, because a renewal may arrive after an
 *     extension
 * @param leastToken what the lock's highest fencing token becomes if it is lower; 0: it stays as it is
 */
public record RenewCommand(String name, String attempt, long leaseMillis, boolean exact, long leastToken) {}
