/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.topology;

import io.lockkeeper.redis.RedisContracts;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.topology.Topology.Driver;
import java.time.Duration;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The contracts where each hold counts only when all replicas have it. */
@Tag("topology")
class ReplicaAcksTopologyTest {

    private static RedisLockStore.Options acks() {
        return RedisLockStore.Options.defaults().withReplicaAcks("all", Duration.ofMillis(250));
    }

    @Nested
    class JedisSentinel extends RedisContracts {
        JedisSentinel() {
            super(Topology.sentinel(Driver.JEDIS), Topology::connections, acks());
        }
    }

    @Nested
    class LettuceSentinel extends RedisContracts {
        LettuceSentinel() {
            super(Topology.sentinel(Driver.LETTUCE), Topology::connections, acks());
        }
    }

    @Nested
    class JedisCluster extends RedisContracts {
        JedisCluster() {
            super(Topology.cluster(Driver.JEDIS), Topology::connections, acks());
        }
    }

    @Nested
    class LettuceCluster extends RedisContracts {
        LettuceCluster() {
            super(Topology.cluster(Driver.LETTUCE), Topology::connections, acks());
        }
    }
}
