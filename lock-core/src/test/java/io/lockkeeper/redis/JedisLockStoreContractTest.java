package io.lockkeeper.redis;

import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;

class JedisLockStoreContractTest extends RedisContracts {

    JedisLockStoreContractTest() {
        this(RedisServer.start());
    }

    private JedisLockStoreContractTest(RedisServer server) {
        super(server, Connections.JEDIS.to(server.port()));
    }
}
