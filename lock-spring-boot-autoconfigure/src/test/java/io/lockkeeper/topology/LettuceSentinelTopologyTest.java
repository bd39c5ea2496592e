/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.topology;

import io.lockkeeper.redis.RedisContracts;
import io.lockkeeper.topology.Topology.Driver;
import org.junit.jupiter.api.Tag;

@Tag("topology")
class LettuceSentinelTopologyTest extends RedisContracts {

    LettuceSentinelTopologyTest() {
        super(Topology.sentinel(Driver.LETTUCE), Topology::connections);
    }
}
