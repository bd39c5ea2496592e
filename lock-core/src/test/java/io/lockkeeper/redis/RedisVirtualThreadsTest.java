/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.contract.VirtualThreadsContract;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Virtual threads over Redis. */
class RedisVirtualThreadsTest extends VirtualThreadsContract {

    private final RedisServer server = RedisServer.start();
    private final RedisConnectionFactory connections = Connections.JEDIS.to(server.port());

    @Override
    protected LockStore store() {
        return new RedisLockStore(
                connections, RedisLockStore.Options.defaults().withCommandTimeout(Duration.ofSeconds(5)));
    }

    @AfterEach
    void stop() {
        Connections.close(connections);
        server.close();
    }
}
