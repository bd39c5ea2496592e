/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/**
 * A lock that is held from its grant until release, loss or expiry. Bound to no thread: any thread may use and release
 * it. All methods are safe to call at any time and from any thread.
 *
 * <p>A lease cannot protect work that was paused past its end (a garbage collection, a suspended machine) and then goes
 * on. A resource that must never accept such work stores the highest {@link #fencingToken()} it has seen and refuses
 * smaller ones; see Martin Kleppmann, "How to do distributed locking" (2016).
 */
public interface LockLease extends AutoCloseable {

    /** Returns the first of the {@link #names()}. */
    default String name() {
        return names().get(0);
    }

    /** Returns the names of the locks that are held together, in the order of the request. */
    List<String> names();

    /** Returns how the lock is shared. */
    LockMode mode();

    /**
     * Returns the fencing token of {@link #name()}: greater than that of every earlier holder of the name, and fixed
     * for this lease, also where a thread enters the lock again.
     */
    default long fencingToken() {
        return fencingToken(name());
    }

    /**
     * Returns the fencing token of one of the {@link #names()}.
     *
     * @throws IllegalArgumentException if the lease does not hold that name
     */
    long fencingToken(String name);

    /**
     * Returns whether the lock is held, without asking the store: false from the local deadline on, after a release and
     * after a loss, and never true again after it was false. The deadline lies before the moment at which the store
     * itself ends the lease.
     */
    boolean isHeld();

    /** Returns the time until the local deadline, as it stands without a further renewal; zero when not held. */
    Duration remaining();

    /**
     * Does nothing while the lock is held.
     *
     * @throws LockLostException if it is not held any more, also after its release
     */
    void ensureHeld();

    /**
     * Asks the store whether this lease still holds the lock. An answer of no makes the lease lost.
     *
     * @throws LockStoreException if the store failed or did not answer
     */
    boolean verify();

    /**
     * Gives the lease a fixed end, counted from now, and stops its automatic renewal. An end that is nearer than the
     * present one is kept by this process, which releases the lock then: the store keeps the later end, up to which the
     * lock stays taken if the process crashes.
     *
     * @param leaseTime how long the lock stays held from now on; at least 100 ms
     * @return whether the lock is held until then; false: it was lost, or released before
     * @throws IllegalArgumentException if the time is shorter than 100 ms
     * @throws LockStoreException if the store failed or did not answer; the lease then has the earlier of both ends,
     *     and is renewed as before
     */
    boolean extend(Duration leaseTime);

    /**
     * Gives the lease a fixed end as {@link #extend(Duration)} does, and a new minimum hold time, both counted from
     * now.
     *
     * @param minHoldTime how long the lock stays taken from now on, also after a release; it replaces the minimum that
     *     the lease had, unless the extension fails; zero: none. A crash does not keep the lock beyond the latest end
     *     that the lease had.
     * @throws IllegalArgumentException if the lease time is shorter than 100 ms, the minimum is negative, or one of them
     *     is longer than the lease time of the template on a quorum
     */
    boolean extend(Duration leaseTime, Duration minHoldTime);

    /**
     * Registers work for the case that the lock is lost: called once, on a thread of the template's executor, within
     * 100 ms of the loss, or at once if the lock was lost before. Not called after a release, unless it is the release
     * of a lease of {@code acquire} that finds the lock lost: a body that has ended is told no more. An exception from
     * it is logged.
     */
    void onLost(Consumer<LockLostException> callback);

    /**
     * Ends the lease, and returns what came of it. Only the first call has an effect. Blocks at most for the store's
     * command timeout and never throws.
     */
    ReleaseResult release();

    /** Releases the lease and logs a warning where the result is neither released nor already released. */
    @Override
    void close();
}
