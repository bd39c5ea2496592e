/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import org.jspecify.annotations.Nullable;

/** What a {@link LocalLock} has decided, as data. The {@link ActionExecutor} does it, in order, outside the lock. */
sealed interface LockAction {

    /** Gives a command to the store. */
    sealed interface Command extends LockAction {}

    /** Asks the store; the answer comes by {@link LocalLock#replied} or {@link LocalLock#failed}. */
    record Ask(AcquireAttempt attempt) implements Command {}

    /** The attempt has ended, and has nothing in the store. */
    record Forget(AcquireAttempt attempt) implements LockAction {}

    /**
     * Ends whatever an attempt, which has ended, may have in the store, for as long as a command of it may still
     * arrive. The lock stays taken for a while all the same, after a hold of the attempt.
     */
    record Cancel(AcquireAttempt attempt, long keepMillis) implements Command {}

    /** Ends a hold in the store, with the last token used (0: all that are reserved); the lock may stay taken. */
    record Release(StoreHold hold, long lastToken, long keepMillis) implements Command {}

    /** Ends a hold and asks for the next attempt in one command. */
    record HandOver(StoreHold hold, long lastToken, AcquireAttempt next) implements Command {}

    record Watch(StoreHold hold) implements LockAction {}

    /** Gives the lock to a caller, with its fencing token of the hold's first name, and says how it came. */
    record Grant(PendingRequest waiter, StoreHold hold, long token, LockListener.Way path) implements LockAction {}

    /**
     * Tells a caller that an attempt holds the lock (null: an unknown one). If its place was given up just before, the
     * caller is told when the place is gone, unless that takes long.
     */
    record Refuse(PendingRequest waiter, @Nullable String holder) implements LockAction {}

    record Fail(PendingRequest waiter, RuntimeException failure) implements LockAction {}

    /** The local lock is empty: callers need another one. */
    record Retire() implements LockAction {}
}
