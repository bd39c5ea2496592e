/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockManager;
import io.lockkeeper.store.LockStore;

/** Makes managers for {@link io.lockkeeper.LockTemplate}. */
public final class LeaseManagerFactory {

    private LeaseManagerFactory() {}

    /**
     * Makes a manager over a store, and opens the store, which it closes with itself.
     *
     * @param store where the locks are kept
     * @param settings what the manager works with
     * @return the manager
     */
    public static LockManager create(LockStore store, LockManager.Settings settings) {
        return LeaseManager.open(store, settings);
    }
}
