/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;

/**
 * A lock that was held is not held any more although it was not released: its lease ended before it could be renewed,
 * or the store says that it has another holder or none. Another holder may be at work already.
 */
public final class LockLostException extends LockException {

    private static final long serialVersionUID = 1L;

    private final String name;
    private final long fencingToken;
    private final Duration heldFor;
    private final String reason;

    /** Creates the exception; the reason says in a few words what ended the lease. */
    public LockLostException(String name, long fencingToken, Duration heldFor, String reason) {
        super(
                "Lock '" + name + "' (fencing token " + fencingToken + ") lost after " + heldFor.toMillis() + " ms: "
                        + reason,
                null);
        this.name = name;
        this.fencingToken = fencingToken;
        this.heldFor = heldFor;
        this.reason = reason;
    }

    /** Creates the exception for a caller who meets a loss that is known already, which becomes the cause. */
    public LockLostException(LockLostException loss) {
        super(String.valueOf(loss.getMessage()), loss);
        this.name = loss.name;
        this.fencingToken = loss.fencingToken;
        this.heldFor = loss.heldFor;
        this.reason = loss.reason;
    }

    /** Returns the name of the lost lock. */
    public String name() {
        return name;
    }

    /** Returns the fencing token of the lost lease. */
    public long fencingToken() {
        return fencingToken;
    }

    /** Returns how long the lock was held before it was lost. */
    public Duration heldFor() {
        return heldFor;
    }

    /** Returns what ended the lock, in a few words. */
    public String reason() {
        return reason;
    }
}
