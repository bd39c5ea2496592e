package io.lockkeeper.redis;

import io.lockkeeper.testing.Connections;

class JedisLockStoreContractTest extends RedisContracts {

    JedisLockStoreContractTest() {
        super(Connections.JEDIS);
    }
}
