/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.LockMode;
import io.lockkeeper.contract.ContentionContract;
import io.lockkeeper.contract.LockContract;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.Connections;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;

class QuorumLockStoreContractTest {

    private static Masters masters;

    @BeforeAll
    static void startMasters() {
        masters = Masters.start(3);
    }

    @AfterAll
    static void stopMasters() {
        masters.close();
    }

    @Nested
    class Locks extends LockContract {

        @Override
        protected LockStore store() {
            return masters.store(Connections.JEDIS);
        }

        @Override
        protected List<LockMode> modes() {
            return List.of(LockMode.EXCLUSIVE);
        }
    }

    @Nested
    class Contention extends ContentionContract {

        @Override
        protected LockStore store() {
            return masters.store(Connections.JEDIS);
        }

        @Override
        protected List<LockMode> modes() {
            return List.of(LockMode.EXCLUSIVE);
        }
    }
}
