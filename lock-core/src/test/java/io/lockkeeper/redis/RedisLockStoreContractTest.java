package io.lockkeeper.redis;

import io.lockkeeper.contract.ContentionContract;
import io.lockkeeper.contract.LockContract;
import io.lockkeeper.contract.RequestContract;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.springframework.data.redis.connection.RedisConnectionFactory;

class RedisLockStoreContractTest {

    private static RedisServer server;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    private abstract static class OverRedis extends LockContract {

        private final RedisConnectionFactory connections;

        OverRedis(Connections driver) {
            connections = driver.to(server.port());
        }

        @Override
        protected LockStore store() {
            return new RedisLockStore(connections, RedisLockStore.Options.defaults());
        }

        @AfterEach
        void closeConnections() {
            Connections.close(connections);
        }
    }

    @Nested
    class OverJedis extends OverRedis {
        OverJedis() {
            super(Connections.JEDIS);
        }
    }

    @Nested
    class OverLettuce extends OverRedis {
        OverLettuce() {
            super(Connections.LETTUCE);
        }
    }

    @Nested
    class RequestsOverRedis extends RequestContract {

        private final RedisConnectionFactory connections = Connections.JEDIS.to(server.port());

        @Override
        protected LockStore store() {
            return new RedisLockStore(connections, RedisLockStore.Options.defaults());
        }

        @AfterEach
        void closeConnections() {
            Connections.close(connections);
        }
    }

    private abstract static class ContentionOverRedis extends ContentionContract {

        private final RedisConnectionFactory connections;

        ContentionOverRedis(Connections driver) {
            connections = driver.to(server.port());
        }

        @Override
        protected LockStore store() {
            return new RedisLockStore(connections, RedisLockStore.Options.defaults());
        }

        @AfterEach
        void closeConnections() {
            Connections.close(connections);
        }
    }

    @Nested
    class ContentionOverJedis extends ContentionOverRedis {
        ContentionOverJedis() {
            super(Connections.JEDIS);
        }
    }

    @Nested
    class ContentionOverLettuce extends ContentionOverRedis {
        ContentionOverLettuce() {
            super(Connections.LETTUCE);
        }
    }
}
