/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

/**
 * Work that runs while a lock is held and returns nothing.
 *
 * @param <X> the checked exception that the work may throw; inferred as {@link RuntimeException} where there is none
 */
@FunctionalInterface
public interface LockedTask<X extends Throwable> {

    /** Runs the work under a lease, which is released when it ends; what it throws reaches the caller unchanged. */
    void run(LockLease lease) throws X;
}
