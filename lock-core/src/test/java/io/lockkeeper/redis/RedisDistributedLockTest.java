/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.contract.DistributedLockContract;
import io.lockkeeper.contract.DistributedLockWaitContract;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** The views of locks over Redis, with each driver. */
class RedisDistributedLockTest {

    private static RedisServer server;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    private abstract static class Owning extends DistributedLockContract {

        @AutoClose("destroy") // After the templates
        private final RedisConnectionFactory connections;

        Owning(Connections driver) {
            connections = driver.to(server.port());
        }

        @Override
        protected LockStore store() {
            return new RedisLockStore(connections, RedisContracts.PATIENT);
        }
    }

    @Nested
    class OwningOverJedis extends Owning {
        OwningOverJedis() {
            super(Connections.JEDIS);
        }
    }

    @Nested
    class OwningOverLettuce extends Owning {
        OwningOverLettuce() {
            super(Connections.LETTUCE);
        }
    }

    private abstract static class Waiting extends DistributedLockWaitContract {

        @AutoClose("destroy") // After the templates
        private final RedisConnectionFactory connections;

        Waiting(Connections driver) {
            connections = driver.to(server.port());
        }

        @Override
        protected LockStore store() {
            return new RedisLockStore(connections, RedisContracts.PATIENT);
        }
    }

    @Nested
    class WaitingOverJedis extends Waiting {
        WaitingOverJedis() {
            super(Connections.JEDIS);
        }
    }

    @Nested
    class WaitingOverLettuce extends Waiting {
        WaitingOverLettuce() {
            super(Connections.LETTUCE);
        }
    }
}
