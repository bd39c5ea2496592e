/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockEngine;
import io.lockkeeper.store.LockStore;

/** Makes engines for {@link io.lockkeeper.LockTemplate}. */
public final class CohortLockEngineFactory implements LockEngine.Factory {

    @Override
    public LockEngine create(LockStore store, LockEngine.Settings settings) {
        return CohortLockEngine.open(store, settings, TimeSource.SYSTEM);
    }
}
