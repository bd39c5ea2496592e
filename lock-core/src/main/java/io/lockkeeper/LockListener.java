/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Hears what happens to the locks of a {@link LockTemplate}: for metrics, logs and tests. A method may be called on any
 * thread, must not block, and an exception from it is logged and has no other effect.
 *
 * <p>In the events, {@code acquisition} is a number that all events of one acquisition have, and no other in this
 * process; {@code request} has the template's defaults filled in; {@code waited} is the time from the call to its end,
 * {@code held} that from the grant; {@code fencingToken} is that of the first name. Those of a renewal are for all who
 * share it: {@code label} is that of one who holds the names, null where it has none or no holder is left.
 */
public interface LockListener {

    /**
     * A caller asks for a lock that it does not hold; called on its thread. Exactly one of {@link #onAcquired},
     * {@link #onNotAcquired} and {@link #onGivenUp} follows, with the same number. Not called when a thread enters a
     * lock that it holds.
     */
    default void onAsked(Asked event) {}

    /**
     * A lock was acquired. Not called when a thread enters a lock that it holds. The hold ends with the first of
     * {@link #onReleased} and {@link #onLost} that follows with the same number.
     */
    default void onAcquired(Acquired event) {}

    /** A request ended without a lock. */
    default void onNotAcquired(NotAcquired event) {}

    /** An asynchronous caller gave up before it was answered: it cancelled or completed the future itself. */
    default void onGivenUp(GivenUp event) {}

    /** A body begins to run under a lock that was acquired for it, on the thread of the call. */
    default void onBodyBegins(Body event) {}

    /** A body has ended, before its lock is released; on the thread on which it began, always. */
    default void onBodyEnds(Body event) {}

    /** An exclusive hold goes on as that of a reader. */
    default void onDowngraded(Downgraded event) {}

    /** A lease was released, for the first time; also where it had been lost before. */
    default void onReleased(Released event) {}

    /** A lease was lost. Once for each lease whose release, if there is one, has the result LOST. */
    default void onLost(Lost event) {}

    /** A lease was renewed. */
    default void onRenewed(Renewed event) {}

    /** A renewal failed and will be tried again while the lease lasts. */
    default void onRenewalFailed(RenewalFailed event) {}

    /** How a caller came to its lock. */
    enum Way {

        /** By the store's answer to its question, or by joining readers of this instance. */
        ANSWER,

        /** Passed on by another caller of this instance, without the store. */
        PASS,

        /** By the store's message that it is this instance's turn. */
        GRANT,

        /** By asking again although no message had come: it was lost, or the holder crashed and let none be sent. */
        POLL
    }

    /** A caller asks for a lock. */
    record Asked(long acquisition, LockRequest request) {}

    /**
     * A lock was acquired.
     *
     * @param attempts how often was tried: 1 unless the request allowed retries
     * @param way how the caller came to the lock
     */
    record Acquired(long acquisition, LockRequest request, long fencingToken, Duration waited, int attempts, Way way) {}

    /** A request ended without a lock: not acquired, interrupted, or the store failed. */
    record NotAcquired(long acquisition, LockRequest request, Duration waited, LockException reason) {}

    /** A caller gave up. */
    record GivenUp(long acquisition, LockRequest request, Duration waited) {}

    /** A body runs under a lock. */
    record Body(long acquisition) {}

    /** An exclusive hold goes on as that of a reader: the request that led to it, and the same for reading. */
    record Downgraded(long acquisition, LockRequest before, LockRequest after, Duration held) {}

    /** A lease was released, and what came of that. */
    record Released(long acquisition, LockRequest request, long fencingToken, Duration held, ReleaseResult result) {}

    /** A lease was lost, and why. */
    record Lost(long acquisition, LockRequest request, LockLostException loss) {}

    /** A lease was renewed; remaining is the time to the new local deadline. */
    record Renewed(
            List<String> names, LockMode mode, @Nullable String label, Duration remaining) {}

    /** A renewal failed; remaining is the time until the lease counts as lost, cause what the store or driver threw. */
    record RenewalFailed(
            List<String> names, LockMode mode, @Nullable String label, Duration remaining, Throwable cause) {}
}
