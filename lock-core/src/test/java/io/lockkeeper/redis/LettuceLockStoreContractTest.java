/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;

class LettuceLockStoreContractTest extends RedisContracts {

    LettuceLockStoreContractTest() {
        super(RedisServer.start(), server -> Connections.LETTUCE.to(server.port()));
    }
}
