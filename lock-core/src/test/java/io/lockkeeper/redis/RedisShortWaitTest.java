/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.contract.ShortWaitContract;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Short waits for locks in Redis, with each driver. */
class RedisShortWaitTest {

    private static RedisServer server;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    private abstract static class Waiting extends ShortWaitContract {

        @AutoClose("destroy") // After the templates
        private final RedisConnectionFactory connections;

        Waiting(Connections driver) {
            connections = driver.to(server.port());
        }

        @Override
        protected LockStore store() {
            return new RedisLockStore(connections, RedisLockStore.Options.defaults());
        }
    }

    @Nested
    class OverJedis extends Waiting {
        OverJedis() {
            super(Connections.JEDIS);
        }
    }

    @Nested
    class OverLettuce extends Waiting {
        OverLettuce() {
            super(Connections.LETTUCE);
        }
    }
}
