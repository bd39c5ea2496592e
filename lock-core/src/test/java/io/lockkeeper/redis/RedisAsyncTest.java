/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.contract.AsyncContract;
import io.lockkeeper.contract.AsyncCrowdContract;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Futures of locks over Redis. */
class RedisAsyncTest {

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
    class Futures extends AsyncContract {

        @AutoClose("destroy") // After the templates
        private final RedisConnectionFactory connections = Connections.LETTUCE.to(server.port());

        @Override
        protected LockStore store() {
            return new RedisLockStore(connections, RedisContracts.PATIENT);
        }
    }

    @Nested
    class Crowd extends AsyncCrowdContract {

        @AutoClose("destroy") // After the templates
        private final RedisConnectionFactory connections = Connections.JEDIS.to(server.port());

        Crowd() {
            super(Duration.ofMinutes(1), true);
        }

        @Override
        protected LockStore store() {
            return new RedisLockStore(
                    connections,
                    RedisLockStore.Options.defaults()
                            .withPollInterval(POLL_INTERVAL)
                            .withGrantTime(Duration.ofSeconds(20))
                            .withCommandTimeout(Duration.ofSeconds(20)));
        }
    }
}
