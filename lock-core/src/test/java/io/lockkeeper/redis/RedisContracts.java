package io.lockkeeper.redis;

import io.lockkeeper.contract.ContentionContract;
import io.lockkeeper.contract.InspectionContract;
import io.lockkeeper.contract.LockContract;
import io.lockkeeper.contract.ReadWriteContract;
import io.lockkeeper.contract.SeveralNamesContract;
import io.lockkeeper.contract.StageContract;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** What every store must do, done by the Redis store over one driver. */
@TestInstance(Lifecycle.PER_CLASS)
abstract class RedisContracts {

    private final RedisServer server = RedisServer.start();
    private final RedisConnectionFactory connections;

    RedisContracts(Connections driver) {
        this.connections = driver.to(server.port());
    }

    @AfterAll
    void stop() {
        Connections.close(connections);
        server.close();
    }

    private LockStore newStore() {
        return new RedisLockStore(connections, RedisLockStore.Options.defaults());
    }

    @Nested
    class Locks extends LockContract {
        @Override
        protected LockStore store() {
            return newStore();
        }
    }

    @Nested
    class ReadersAndWriters extends ReadWriteContract {
        @Override
        protected LockStore store() {
            return newStore();
        }
    }

    @Nested
    class SeveralNames extends SeveralNamesContract {
        @Override
        protected LockStore store() {
            return newStore();
        }
    }

    @Nested
    class Stages extends StageContract {
        @Override
        protected LockStore store() {
            return newStore();
        }
    }

    @Nested
    class Inspection extends InspectionContract {
        @Override
        protected LockStore store() {
            return newStore();
        }
    }

    @Nested
    class Contention extends ContentionContract {
        @Override
        protected LockStore store() {
            return newStore();
        }
    }
}
