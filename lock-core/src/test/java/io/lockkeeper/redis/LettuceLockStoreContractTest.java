package io.lockkeeper.redis;

import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;

class LettuceLockStoreContractTest extends RedisContracts {

    LettuceLockStoreContractTest() {
        this(RedisServer.start());
    }

    private LettuceLockStoreContractTest(RedisServer server) {
        super(server, Connections.LETTUCE.to(server.port()));
    }
}
