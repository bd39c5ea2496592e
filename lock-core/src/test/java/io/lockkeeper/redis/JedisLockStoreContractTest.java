/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;

class JedisLockStoreContractTest extends RedisContracts {

    JedisLockStoreContractTest() {
        super(RedisServer.start(), server -> Connections.JEDIS.to(server.port()));
    }
}
