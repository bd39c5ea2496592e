package io.lockkeeper.redis;

import io.lockkeeper.testing.Connections;

class LettuceLockStoreContractTest extends RedisContracts {

    LettuceLockStoreContractTest() {
        super(Connections.LETTUCE);
    }
}
