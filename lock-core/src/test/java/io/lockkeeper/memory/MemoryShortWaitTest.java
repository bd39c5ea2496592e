/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.contract.ShortWaitContract;
import io.lockkeeper.store.LockStore;

/** Short waits for locks of the store in memory. */
class MemoryShortWaitTest extends ShortWaitContract {

    private final MemoryLockStore first = new MemoryLockStore();

    @Override
    protected LockStore store() {
        return first.peer();
    }
}
