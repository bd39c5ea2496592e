/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

/**
 * A thread that reads under a lock asked for another mode of the same name. It would wait for itself, so it is refused
 * at once. Release the read lock first, or take the write lock from the beginning.
 */
public final class LockUpgradeException extends LockException {

    private static final long serialVersionUID = 1L;

    /** Creates the exception for a name that is held for reading, and the mode that was asked for. */
    public LockUpgradeException(String name, LockMode requested) {
        super(
                "Lock '" + name + "' is held for reading by this thread, which asked for " + requested
                        + ": release the read lock first, or take the write lock from the beginning",
                null);
    }
}
