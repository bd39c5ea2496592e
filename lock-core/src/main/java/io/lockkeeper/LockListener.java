/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Hears what happens to the locks of a {@link LockTemplate}: for metrics, logs and tests. A method may be called on any
 * thread, must not block, and an exception from it is logged and has no other effect.
 */
public interface LockListener {

    /**
     * A caller asks for a lock that it does not hold; called on its thread. Exactly one of {@link #onAcquired},
     * {@link #onNotAcquired} and {@link #onGivenUp} follows, with the same number. Not called when a thread enters a lock
     * that it holds.
     *
     * @param event what is asked for
     */
    default void onAsked(Asked event) {}

    /**
     * A lock was acquired. Not called when a thread enters a lock that it holds. The hold ends with the first of
     * {@link #onReleased} and {@link #onLost} that follows with the same number.
     *
     * @param event what was acquired
     */
    default void onAcquired(Acquired event) {}

    /**
     * A request ended without a lock.
     *
     * @param event what was asked for, and why it failed
     */
    default void onNotAcquired(NotAcquired event) {}

    /**
     * An asynchronous caller gave up before it was answered: it cancelled or completed the future itself.
     *
     * @param event what was asked for
     */
    default void onGivenUp(GivenUp event) {}

    /**
     * A body begins to run under a lock that was acquired for it, on the thread of the call.
     *
     * @param event under what it runs
     */
    default void onBodyBegins(Body event) {}

    /**
     * A body has ended, before its lock is released; on the thread on which it began, always.
     *
     * @param event under what it ran
     */
    default void onBodyEnds(Body event) {}

    /**
     * An exclusive hold goes on as that of a reader.
     *
     * @param event what it was, and what it is now
     */
    default void onDowngraded(Downgraded event) {}

    /**
     * A lease was released, for the first time; also where it had been lost before.
     *
     * @param event what was released, and with what result
     */
    default void onReleased(Released event) {}

    /**
     * A lease was lost. Once for each lease whose release, if there is one, has the result LOST.
     *
     * @param event what was lost
     */
    default void onLost(Lost event) {}

    /**
     * A lease was renewed.
     *
     * @param event what was renewed
     */
    default void onRenewed(Renewed event) {}

    /**
     * A renewal failed and will be tried again while the lease lasts.
     *
     * @param event what was to be renewed, and why it failed
     */
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

    /**
     * A caller asks for a lock.
     *
     * @param acquisition a number that all events of this acquisition have, and no other in this process
     * @param request the request, with the template's defaults filled in
     */
    record Asked(long acquisition, LockRequest request) {}

    /**
     * A lock was acquired.
     *
     * @param acquisition the number of the acquisition
     * @param request the request, with the template's defaults filled in
     * @param fencingToken the token of the first name
     * @param waited the time from the call to the grant
     * @param attempts how often was tried: 1 unless the request allowed retries
     * @param way how the caller came to the lock
     */
    record Acquired(long acquisition, LockRequest request, long fencingToken, Duration waited, int attempts, Way way) {}

    /**
     * A request ended without a lock.
     *
     * @param acquisition the number of the acquisition
     * @param request the request, with the template's defaults filled in
     * @param waited the time from the call to its end
     * @param reason why: not acquired, interrupted, or the store failed
     */
    record NotAcquired(long acquisition, LockRequest request, Duration waited, LockException reason) {}

    /**
     * A caller gave up.
     *
     * @param acquisition the number of the acquisition
     * @param request the request, with the template's defaults filled in
     * @param waited the time from the call to its end
     */
    record GivenUp(long acquisition, LockRequest request, Duration waited) {}

    /**
     * A body runs under a lock.
     *
     * @param acquisition the number of the acquisition
     */
    record Body(long acquisition) {}

    /**
     * An exclusive hold goes on as that of a reader.
     *
     * @param acquisition the number of the acquisition
     * @param before the request that led to it
     * @param after the same request, for reading
     * @param held the time from the grant until now
     */
    record Downgraded(long acquisition, LockRequest before, LockRequest after, Duration held) {}

    /**
     * A lease was released.
     *
     * @param acquisition the number of the acquisition
     * @param request the request that led to it
     * @param fencingToken the token of the first name
     * @param held the time from the grant to the release
     * @param result what came of the release
     */
    record Released(long acquisition, LockRequest request, long fencingToken, Duration held, ReleaseResult result) {}

    /**
     * A lease was lost.
     *
     * @param acquisition the number of the acquisition
     * @param request the request that led to it
     * @param loss what was lost, and why
     */
    record Lost(long acquisition, LockRequest request, LockLostException loss) {}

    /**
     * A lease was renewed, for all who share it.
     *
     * @param names the names that are held together
     * @param mode how they are held
     * @param label the label of one who holds them; null: it has none, or nobody is left
     * @param remaining the time to the new local deadline
     */
    record Renewed(
            List<String> names, LockMode mode, @Nullable String label, Duration remaining) {}

    /**
     * A renewal failed.
     *
     * @param names the names that are held together
     * @param mode how they are held
     * @param label the label of one who holds them; null: it has none, or nobody is left
     * @param remaining the time left until the lease counts as lost
     * @param cause what the store or its driver threw
     */
    record RenewalFailed(
            List<String> names, LockMode mode, @Nullable String label, Duration remaining, Throwable cause) {}
}
