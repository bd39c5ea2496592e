/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.util.List;

/**
 * Asks for one lock, or for several, on behalf of one attempt. Repeating the command is harmless: an attempt that holds
 * a lock has its lease refreshed, one that waits is kept in its place.
 *
 * <p>Several locks are taken in the order of the names. An attempt that waits for one of them holds those before it,
 * and none behind it; one that does not wait gets all of them or none.
 *
 * @param names the locks' names, at least one, in the order that all callers keep
 * @param attempt the id of the attempt: the {@linkplain LockStore#open client id} and a number
 * @param mode how the attempt wants to hold the locks
 * @param leaseMillis how long a hold lasts
 * @param queue whether the attempt waits in the store's queue where a lock is held
 * @param tokens how many fencing tokens a hold reserves of each lock
 * @param waitNanos how long the calling thread waits for the answer: the store may do input and output on it for that
 *     time; 0: not at all
 */
public record AcquireCommand(
        List<String> names,
        String attempt,
        ClaimMode mode,
        long leaseMillis,
        boolean queue,
        int tokens,
        long waitNanos) {

    /**
     * The most tokens that a hold can reserve. With as many, a client may pass the lock among its callers for long, and
     * {@linkplain StoreListener#awaited is told} of the first attempt of another client that waits.
     */
    public static final int MOST_TOKENS = 10_000;

    /** Asks for locks on a thread that does not wait. */
    public AcquireCommand(
            List<String> names, String attempt, ClaimMode mode, long leaseMillis, boolean queue, int tokens) {
        this(names, attempt, mode, leaseMillis, queue, tokens, 0);
    }

    /** Returns this command for a thread that waits for so long. */
    public AcquireCommand awaited(long nanos) {
        return new AcquireCommand(names, attempt, mode, leaseMillis, queue, tokens, nanos);
    }

    /** Returns the first name, the only one of most commands. */
    public String name() {
        return names.get(0);
    }
}
