/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisCluster;

class JedisClusterContractTest extends RedisContracts {

    JedisClusterContractTest() {
        super(RedisCluster.start(), cluster -> Connections.JEDIS.toCluster(cluster.ports()));
    }
}
