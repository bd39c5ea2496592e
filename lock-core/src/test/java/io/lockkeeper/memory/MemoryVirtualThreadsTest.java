/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.contract.VirtualThreadsContract;
import io.lockkeeper.store.LockStore;

/** Virtual threads over the store in memory. */
class MemoryVirtualThreadsTest extends VirtualThreadsContract {

    private final MemoryLockStore first = new MemoryLockStore();

    @Override
    protected LockStore store() {
        return first.peer();
    }
}
