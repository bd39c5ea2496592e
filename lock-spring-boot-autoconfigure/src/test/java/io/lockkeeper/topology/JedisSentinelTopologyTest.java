/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.topology;

import io.lockkeeper.redis.RedisContracts;
import io.lockkeeper.topology.Topology.Driver;
import org.junit.jupiter.api.Tag;

@Tag("topology")
class JedisSentinelTopologyTest extends RedisContracts {

    JedisSentinelTopologyTest() {
        super(Topology.sentinel(Driver.JEDIS), Topology::connections);
    }
}
