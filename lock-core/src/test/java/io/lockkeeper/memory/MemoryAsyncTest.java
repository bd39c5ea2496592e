/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.contract.AsyncContract;
import io.lockkeeper.contract.AsyncCrowdContract;
import io.lockkeeper.store.LockStore;
import org.junit.jupiter.api.Nested;

/** Futures of locks over the store in memory. */
class MemoryAsyncTest {

    @Nested
    class Futures extends AsyncContract {

        private final MemoryLockStore first = new MemoryLockStore();

        @Override
        protected LockStore store() {
            return first.peer();
        }
    }

    @Nested
    class Crowd extends AsyncCrowdContract {

        private final MemoryLockStore first = new MemoryLockStore();

        Crowd() {
            super(POLL_INTERVAL.multipliedBy(2), false);
        }

        @Override
        protected LockStore store() {
            return first.peer();
        }
    }
}
