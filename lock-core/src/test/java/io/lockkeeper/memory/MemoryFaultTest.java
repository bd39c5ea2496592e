/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.contract.ExecutorFaultContract;
import io.lockkeeper.contract.FaultContract;
import io.lockkeeper.store.LockStore;
import org.junit.jupiter.api.Nested;

/** Errors in the middle of everything, over the store in memory. */
class MemoryFaultTest {

    @Nested
    class Errors extends FaultContract {

        private final MemoryLockStore store = new MemoryLockStore();

        @Override
        protected LockStore store() {
            return store.peer();
        }
    }

    @Nested
    class Executors extends ExecutorFaultContract {

        private final MemoryLockStore store = new MemoryLockStore();

        @Override
        protected LockStore store() {
            return store.peer();
        }
    }
}
