/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import org.jspecify.annotations.Nullable;

/**
 * Work that runs while a lock is held and returns a value.
 *
 * @param <T> the type of the value, which may be null
 * @param <X> the checked exception that the work may throw; inferred as {@link RuntimeException} where there is none
 */
@FunctionalInterface
public interface LockedAction<T extends @Nullable Object, X extends Throwable> {

    /** Runs the work under a lease, which is released when it ends; what it throws reaches the caller unchanged. */
    T run(LockLease lease) throws X;
}
