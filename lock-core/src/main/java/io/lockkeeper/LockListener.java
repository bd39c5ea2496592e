package io.lockkeeper;

import java.time.Duration;
import java.util.List;

/**
 * Hears what happens to the locks of a {@link LockTemplate}: for metrics, logs and tests. A method may be called on any
 * thread, must not block, and an exception from it is logged and has no other effect.
 */
public interface LockListener {

    /**
     * A lock was acquired. Not called when a thread enters a lock that it holds.
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
     * A lease was released, for the first time; also where it had been lost before.
     *
     * @param event what was released, and with what result
     */
    default void onReleased(Released event) {}

    /**
     * A lease was lost.
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

    /**
     * A lock was acquired.
     *
     * @param request the request, with the template's defaults filled in
     * @param fencingToken the token of the first name
     * @param waited the time from the call to the grant
     * @param attempts how often was tried: 1 unless the request allowed retries
     */
    record Acquired(LockRequest request, long fencingToken, Duration waited, int attempts) {}

    /**
     * A request ended without a lock.
     *
     * @param request the request, with the template's defaults filled in
     * @param waited the time from the call to its end
     * @param reason why: not acquired, interrupted, or the store failed
     */
    record NotAcquired(LockRequest request, Duration waited, LockException reason) {}

    /**
     * A lease was released.
     *
     * @param request the request that led to it
     * @param fencingToken the token of the first name
     * @param held the time from the grant to the release
     * @param result what came of the release
     */
    record Released(LockRequest request, long fencingToken, Duration held, ReleaseResult result) {}

    /**
     * A lease was lost.
     *
     * @param request the request that led to it
     * @param loss what was lost, and why
     */
    record Lost(LockRequest request, LockLostException loss) {}

    /**
     * A lease was renewed.
     *
     * @param names the names that are held together
     * @param remaining the time to the new local deadline
     */
    record Renewed(List<String> names, Duration remaining) {}

    /**
     * A renewal failed.
     *
     * @param names the names that are held together
     * @param remaining the time left until the lease counts as lost
     * @param cause what the store or its driver threw
     */
    record RenewalFailed(List<String> names, Duration remaining, Throwable cause) {}
}
