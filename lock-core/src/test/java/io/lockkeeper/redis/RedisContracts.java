/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.contract.ContentionContract;
import io.lockkeeper.contract.InspectionContract;
import io.lockkeeper.contract.LockContract;
import io.lockkeeper.contract.ReadWriteContract;
import io.lockkeeper.contract.RequestContract;
import io.lockkeeper.contract.RequestedViewContract;
import io.lockkeeper.contract.SeveralNamesContract;
import io.lockkeeper.contract.StageContract;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.Connections;
import java.time.Duration;
import java.util.function.Function;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** What every store must do, done by the Redis store over one driver. */
@TestInstance(Lifecycle.PER_CLASS)
public abstract class RedisContracts {

    /**
     * For a slow machine, which answers late: what comes by a message comes long before a poll, and what is free long
     * before the grant to somebody who is gone has ended.
     */
    static final RedisLockStore.Options PATIENT = RedisLockStore.Options.defaults()
            .withCommandTimeout(Duration.ofSeconds(5))
            .withGrantTime(Duration.ofSeconds(15))
            .withPollInterval(Duration.ofSeconds(25));

    private final AutoCloseable servers;
    private final RedisConnectionFactory connections;
    private final RedisLockStore.Options options;

    /**
     * Begins to use servers.
     *
     * @param servers closed at the end
     * @param connect makes connections to them
     */
    protected <S extends AutoCloseable> RedisContracts(S servers, Function<S, RedisConnectionFactory> connect) {
        this(servers, connect, PATIENT);
    }

    /**
     * Begins to use servers with other options.
     *
     * @param servers closed at the end
     * @param connect makes connections to them
     * @param options of all stores
     */
    protected <S extends AutoCloseable> RedisContracts(
            S servers, Function<S, RedisConnectionFactory> connect, RedisLockStore.Options options) {
        this.servers = servers;
        this.connections = connect.apply(servers);
        this.options = options;
    }

    @AfterAll
    void stop() throws Exception {
        Connections.close(connections);
        servers.close();
    }

    private LockStore newStore() {
        return new RedisLockStore(connections, options);
    }

    private LockStore newStoreOfBriefLeases() {
        return new RedisLockStore(connections, RedisLockStore.Options.defaults());
    }

    @Nested
    class Locks extends LockContract {
        @Override
        protected LockStore store() {
            return newStore();
        }

        @Override
        protected LockStore storeOfBriefLeases() {
            return newStoreOfBriefLeases();
        }
    }

    @Nested
    class ReadersAndWriters extends ReadWriteContract {
        @Override
        protected LockStore store() {
            return newStore();
        }

        @Override
        protected LockStore storeOfBriefLeases() {
            return newStoreOfBriefLeases();
        }
    }

    @Nested
    class SeveralNames extends SeveralNamesContract {
        @Override
        protected LockStore store() {
            return newStore();
        }

        @Override
        protected LockStore storeOfBriefLeases() {
            return newStoreOfBriefLeases();
        }
    }

    @Nested
    class RequestedViews extends RequestedViewContract {
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
    class Requests extends RequestContract {
        @Override
        protected LockStore store() {
            return newStore();
        }

        @Override
        protected LockStore storeOfBriefLeases() {
            return newStoreOfBriefLeases();
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
