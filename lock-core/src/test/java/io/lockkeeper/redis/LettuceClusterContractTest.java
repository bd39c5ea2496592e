/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisCluster;

class LettuceClusterContractTest extends RedisContracts {

    LettuceClusterContractTest() {
        super(RedisCluster.start(), cluster -> Connections.LETTUCE.toCluster(cluster.ports()));
    }
}
