package io.lockkeeper.memory;

import io.lockkeeper.contract.ContentionContract;
import io.lockkeeper.contract.LockContract;
import io.lockkeeper.contract.RequestContract;
import io.lockkeeper.store.LockStore;
import org.junit.jupiter.api.Nested;

class MemoryLockStoreContractTest {

    @Nested
    class Locks extends LockContract {

        private final MemoryLockStore first = new MemoryLockStore();

        @Override
        protected LockStore store() {
            return first.peer();
        }
    }

    @Nested
    class Requests extends RequestContract {

        private final MemoryLockStore first = new MemoryLockStore();

        @Override
        protected LockStore store() {
            return first.peer();
        }
    }

    @Nested
    class Contention extends ContentionContract {

        private final MemoryLockStore first = new MemoryLockStore();

        @Override
        protected LockStore store() {
            return first.peer();
        }
    }
}
