/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a {@link LocalLock} has decided, as data. The {@link ActionExecutor} does it, in order, outside the lock. */
sealed interface LockAction {

    /** Ends the caller's wait by {@link LocalLock#timedOut} when so much time has passed. */
    record TimeoutAfter(PendingRequest waiter, long nanos) implements LockAction {}

    /** Asks the store; the answer comes by {@link LocalLock#replied} or {@link LocalLock#failed}. */
    record Ask(AcquireAttempt attempt, boolean queue) implements LockAction {}

    /** Has the store asked again, by {@link LocalLock#pollDue}, after so much time and some jitter. */
    record PollAfter(AcquireAttempt attempt, long millis) implements LockAction {}

    /** The attempt has the lock, and need not ask again. */
    record StopPolling(AcquireAttempt attempt) implements LockAction {}

    /** The attempt has ended, and has nothing in the store. */
    record Forget(AcquireAttempt attempt) implements LockAction {}

    /**
     * Ends whatever an attempt may have in the store, for as long as a command of it may still arrive.
     *
     * @param attempt the attempt, which has ended
     * @param leaver who is told when the store has heard of it; null: no caller
     * @param keepMillis how long the lock stays taken all the same, after a hold of the attempt
     */
    record Cancel(AcquireAttempt attempt, @Nullable PendingRequest leaver, long keepMillis) implements LockAction {

        Cancel(AcquireAttempt attempt, @Nullable PendingRequest leaver) {
            this(attempt, leaver, 0);
        }
    }

    /** The place of a caller who left is gone, or is not its own. */
    record PlaceGone(PendingRequest leaver) implements LockAction {}

    /**
     * Ends a hold in the store.
     *
     * @param hold what has ended
     * @param lastToken the last token that was used; 0: keep all that are reserved
     * @param keepMillis how long the lock stays taken
     * @param leaver who is told when the store has heard of it; null: no caller
     */
    record Release(
            StoreHold hold,
            long lastToken,
            long keepMillis,
            @Nullable PendingRequest leaver) implements LockAction {}

    /** Ends a hold and asks for the next attempt in one command. */
    record HandOver(StoreHold hold, long lastToken, AcquireAttempt next) implements LockAction {}

    /** Renews a hold that has begun. */
    record Watch(StoreHold hold) implements LockAction {}

    /**
     * Gives the lock to a caller.
     *
     * @param waiter the caller
     * @param hold the hold
     * @param tokens its fencing tokens, in the order of the hold's names
     * @param path how it came
     */
    record Grant(PendingRequest waiter, StoreHold hold, List<Long> tokens, LockListener.Way path)
            implements LockAction {}

    /**
     * Tells a caller that the lock is held.
     *
     * @param waiter the caller
     * @param holder the id of an attempt that holds it; null: unknown
     * @param whenPlaceGone whether the caller is told only when its place is gone, unless that takes long
     */
    record Refuse(PendingRequest waiter, @Nullable String holder, boolean whenPlaceGone) implements LockAction {}

    /** Tells a caller that the store failed. */
    record Fail(PendingRequest waiter, RuntimeException failure) implements LockAction {}

    /** The first caller has its place in the store's queue, or needs none: the next one in the gate may ask. */
    record OpenGate() implements LockAction {}

    /** The local lock is empty: callers need another one. */
    record Retire() implements LockAction {}
}
