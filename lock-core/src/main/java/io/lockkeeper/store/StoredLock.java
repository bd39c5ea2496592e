/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.util.List;

/**
 * What a store knows of a lock that is held or waited for.
 *
 * @param name the lock's name
 * @param mode how it is held, or was held last
 * @param holders the ids of the attempts that hold it, or keep it taken after their release: none, one, or several
 *     readers
 * @param token the highest fencing token that was given out or reserved
 * @param remainingMillis how long it is held without a renewal
 * @param waiters the ids of the attempts that wait, in the order in which they will be served; not all where there are
 *     many
 * @param waiting how many wait; some of them may have died since they asked last
 */
public record StoredLock(
        String name,
        ClaimMode mode,
        List<String> holders,
        long token,
        long remainingMillis,
        List<String> waiters,
        int waiting) {

    /** Creates what is known of a lock, with all who wait for it. */
    public StoredLock(
            String name, ClaimMode mode, List<String> holders, long token, long remainingMillis, List<String> waiters) {
        this(name, mode, holders, token, remainingMillis, waiters, waiters.size());
    }
}
