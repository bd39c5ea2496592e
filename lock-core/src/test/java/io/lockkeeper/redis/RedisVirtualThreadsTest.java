/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.contract.VirtualThreadsContract;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import org.junit.jupiter.api.AfterEach;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Virtual threads over Redis. */
class RedisVirtualThreadsTest extends VirtualThreadsContract {

    private final RedisServer server = RedisServer.start();
    private final RedisConnectionFactory connections = Connections.JEDIS.to(server.port());

    @Override
    protected LockStore store() {
        return new RedisLockStore(connections, RedisContracts.PATIENT);
    }

    @AfterEach
    void stop() {
        Connections.close(connections);
        server.close();
    }
}
