/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.contract.ContentionContract;
import io.lockkeeper.contract.InspectionContract;
import io.lockkeeper.contract.LockContract;
import io.lockkeeper.contract.ReadWriteContract;
import io.lockkeeper.contract.RequestContract;
import io.lockkeeper.contract.RequestedViewContract;
import io.lockkeeper.contract.SeveralNamesContract;
import io.lockkeeper.contract.StageContract;
import io.lockkeeper.store.LockStore;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

@Execution(ExecutionMode.CONCURRENT)
class MemoryLockStoreContractTest {

    private final MemoryLockStore first = new MemoryLockStore();

    @Nested
    class Locks extends LockContract {
        @Override
        protected LockStore store() {
            return first.peer();
        }
    }

    @Nested
    class ReadersAndWriters extends ReadWriteContract {
        @Override
        protected LockStore store() {
            return first.peer();
        }
    }

    @Nested
    class SeveralNames extends SeveralNamesContract {
        @Override
        protected LockStore store() {
            return first.peer();
        }
    }

    @Nested
    class RequestedViews extends RequestedViewContract {
        @Override
        protected LockStore store() {
            return first.peer();
        }
    }

    @Nested
    class Stages extends StageContract {
        @Override
        protected LockStore store() {
            return first.peer();
        }
    }

    @Nested
    class Inspection extends InspectionContract {
        @Override
        protected LockStore store() {
            return first.peer();
        }
    }

    @Nested
    class Requests extends RequestContract {
        @Override
        protected LockStore store() {
            return first.peer();
        }
    }

    @Nested
    class Contention extends ContentionContract {
        @Override
        protected LockStore store() {
            return first.peer();
        }
    }
}
