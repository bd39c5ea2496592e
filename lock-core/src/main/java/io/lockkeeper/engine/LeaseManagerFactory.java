/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockManager;
import io.lockkeeper.store.LockStore;

/** Makes managers for {@link io.lockkeeper.LockTemplate}. */
public final class LeaseManagerFactory implements LockManager.Factory {

    @Override
    public LockManager create(LockStore store, LockManager.Settings settings) {
        return LeaseManager.open(store, settings, Clock.SYSTEM);
    }
}
