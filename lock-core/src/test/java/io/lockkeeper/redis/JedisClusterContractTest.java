package io.lockkeeper.redis;

import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisCluster;

class JedisClusterContractTest extends RedisContracts {

    JedisClusterContractTest() {
        this(RedisCluster.start(0));
    }

    private JedisClusterContractTest(RedisCluster cluster) {
        super(cluster, Connections.JEDIS.toCluster(cluster.ports()));
    }
}
