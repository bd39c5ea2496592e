/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.contract.DistributedLockContract;
import io.lockkeeper.contract.DistributedLockWaitContract;
import io.lockkeeper.store.LockStore;
import org.junit.jupiter.api.Nested;

/** The views of locks over the store in memory. */
class MemoryDistributedLockTest {

    @Nested
    class Owning extends DistributedLockContract {

        private final MemoryLockStore first = new MemoryLockStore();

        @Override
        protected LockStore store() {
            return first.peer();
        }
    }

    @Nested
    class Waiting extends DistributedLockWaitContract {

        private final MemoryLockStore first = new MemoryLockStore();

        @Override
        protected LockStore store() {
            return first.peer();
        }
    }
}
