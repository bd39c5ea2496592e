/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

/**
 * Work that runs while a lock is held and returns nothing.
 *
 * @param <X> the checked exception that the work may throw; inferred as {@link RuntimeException} where there is none
 */
@FunctionalInterface
public interface LockedTask<X extends Throwable> {

    /**
     * Runs the work.
     *
     * @param lease the lease under which the work runs; it is released for the work when it ends
     * @throws X whatever the work throws; it reaches the caller unchanged
     */
    void run(LockLease lease) throws X;
}
