package io.lockkeeper.redis;

import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisCluster;

class LettuceClusterContractTest extends RedisContracts {

    LettuceClusterContractTest() {
        this(RedisCluster.start(0));
    }

    private LettuceClusterContractTest(RedisCluster cluster) {
        super(cluster, Connections.LETTUCE.toCluster(cluster.ports()));
    }
}
