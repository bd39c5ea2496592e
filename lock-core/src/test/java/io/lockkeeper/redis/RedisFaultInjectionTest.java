/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.contract.ExecutorFaultContract;
import io.lockkeeper.contract.FaultContract;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Errors in the middle of everything, over Redis. */
class RedisFaultInjectionTest {

    private static RedisServer server;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @Nested
    class OverJedis extends FaultContract {

        @AutoClose("destroy") // After the templates
        private final RedisConnectionFactory connections = Connections.JEDIS.to(server.port());

        @Override
        protected LockStore store() {
            return new RedisLockStore(connections, RedisLockStore.Options.defaults());
        }
    }

    @Nested
    class OverLettuce extends FaultContract {

        @AutoClose("destroy") // After the templates
        private final RedisConnectionFactory connections = Connections.LETTUCE.to(server.port());

        @Override
        protected LockStore store() {
            return new RedisLockStore(connections, RedisLockStore.Options.defaults());
        }
    }

    @Nested
    class Executors extends ExecutorFaultContract {

        @AutoClose("destroy") // After the templates
        private final RedisConnectionFactory connections = Connections.JEDIS.to(server.port());

        @Override
        protected LockStore store() {
            return new RedisLockStore(connections, RedisLockStore.Options.defaults());
        }
    }
}
