/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import org.jspecify.annotations.Nullable;

/** A decision of a {@link LocalLock}, as data. The {@link ActionExecutor} executes it, in order, outside the lock. */
sealed interface LockAction {

    /** Sends a command to the store. */
    sealed interface Command extends LockAction {}

    /** Asks the store; the answer comes by {@link LocalLock#replied} or {@link LocalLock#failed}. */
    record Ask(AcquireAttempt attempt) implements Command {}

    /** The attempt has ended, and has nothing in the store. */
    record Forget(AcquireAttempt attempt) implements LockAction {}

    /**
     * Releases whatever an ended attempt may have in the store, until none of its commands can arrive any more. If it
     * had a hold, the lock stays taken for the rest of a minimum hold time.
     */
    record Cancel(AcquireAttempt attempt, long keepMillis) implements Command {}

    /** Releases a hold, with the last token used (0: all that are reserved); the lock may stay taken for a while. */
    record Release(StoreHold hold, long lastToken, long keepMillis) implements Command {}

    /** Releases a hold and asks for the next attempt, in one command. */
    record HandOver(StoreHold hold, long lastToken, AcquireAttempt next) implements Command {}

    record Watch(StoreHold hold) implements LockAction {}

    /** Gives the lock to a caller, with the fencing token of the hold's first name. */
    record Grant(PendingRequest waiter, StoreHold hold, long token, LockListener.Way path) implements LockAction {}

    /**
     * Refuses a caller because an attempt holds the lock (null: an unknown one). If its place was given up just before,
     * the refusal waits until the place is removed, unless that takes long.
     */
    record Refuse(PendingRequest waiter, @Nullable String holder) implements LockAction {}

    record Fail(PendingRequest waiter, RuntimeException failure) implements LockAction {}

    /** The local lock accepts no callers any more, who need another one. */
    record Retire() implements LockAction {}
}
