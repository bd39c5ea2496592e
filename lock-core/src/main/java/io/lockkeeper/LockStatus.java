/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.List;

/**
 * The state of one lock at the moment when the store was asked.
 *
 * @param name the lock's name
 * @param mode how it is held
 * @param holders the instances that hold it: none, one, or several readers
 * @param fencingToken the highest token given out or reserved for the name, which may be above that of the holder's
 *     lease ({@link LockInstance#fencingToken()}); among the locks that are held here, that of the lease
 * @param remaining how long the hold lasts without a further renewal; zero where the lock is free
 * @param waiters the instances that wait, in the order in which they will be served; the first hundred
 * @param waiting the number of callers or instances that wait in the store; some may have died since they last asked
 */
public record LockStatus(
        String name,
        LockMode mode,
        List<LockInstance> holders,
        long fencingToken,
        Duration remaining,
        List<LockInstance> waiters,
        int waiting) {

    /** Creates the state of a lock with all who wait for it. */
    public LockStatus(
            String name,
            LockMode mode,
            List<LockInstance> holders,
            long fencingToken,
            Duration remaining,
            List<LockInstance> waiters) {
        this(name, mode, holders, fencingToken, remaining, waiters, waiters.size());
    }

    /** Keeps unmodifiable copies of the lists. */
    public LockStatus {
        holders = List.copyOf(holders);
        waiters = List.copyOf(waiters);
    }
}
