/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettucePoolingClientConfiguration;

/** More templates than the application's pool has connections. */
@Timeout(60)
class SharedPoolTest {

    private static final int TEMPLATES = 10;
    private static final int POOL = 8;

    /** Clients with a pool. */
    enum Pooled {
        JEDIS {
            @Override
            RedisConnectionFactory to(RedisStandaloneConfiguration server) {
                GenericObjectPoolConfig<Object> pool = new GenericObjectPoolConfig<>();
                pool.setMaxTotal(POOL);
                JedisClientConfiguration client = JedisClientConfiguration.builder()
                        .usePooling()
                        .poolConfig(pool)
                        .build();
                JedisConnectionFactory factory = new JedisConnectionFactory(server, client);
                factory.afterPropertiesSet();
                factory.start();
                return factory;
            }
        },
        LETTUCE {
            @Override
            RedisConnectionFactory to(RedisStandaloneConfiguration server) {
                GenericObjectPoolConfig<io.lettuce.core.api.StatefulConnection<?, ?>> pool =
                        new GenericObjectPoolConfig<>();
                pool.setMaxTotal(POOL);
                LettuceConnectionFactory factory = new LettuceConnectionFactory(
                        server,
                        LettucePoolingClientConfiguration.builder()
                                .poolConfig(pool)
                                .build());
                factory.afterPropertiesSet();
                factory.start();
                return factory;
            }
        };

        abstract RedisConnectionFactory to(RedisStandaloneConfiguration server);
    }

    @ParameterizedTest
    @EnumSource
    void allTemplatesLockAndListenAndTheApplicationHasItsPool(Pooled client) throws Exception {
        List<RedisLockStore> stores = new ArrayList<>();
        List<LockTemplate> templates = new ArrayList<>();
        RedisServer server = RedisServer.start();
        RedisConnectionFactory connections = client.to(new RedisStandaloneConfiguration(server.host(), server.port()));
        try {
            RedisLockStore.Options options = RedisLockStore.Options.defaults().withPollInterval(Duration.ofSeconds(15));
            for (int i = 0; i < TEMPLATES; i++) {
                stores.add(new RedisLockStore(connections, options));
                templates.add(LockTemplate.builder(stores.get(i))
                        .shutdownWait(Duration.ZERO)
                        .build());
            }
            Awaitility.await()
                    .atMost(Duration.ofSeconds(20))
                    .until(() -> server.command("PUBSUB", "CHANNELS") instanceof List<?> channels
                            && channels.size() == TEMPLATES);
            List<RedisConnection> taken = new ArrayList<>();
            for (int i = 0; i < POOL; i++) {
                taken.add(connections.getConnection());
                assertThat(taken.get(i).ping()).isEqualTo("PONG");
            }
            LockLease held = templates.get(0).acquire("stock");
            // Scripts have a connection of their own, those that look for locks as well.
            assertThat(stores.get(0).find("*", 10).get(10, TimeUnit.SECONDS)).containsExactly("stock");
            taken.forEach(RedisConnection::close);
            List<CompletableFuture<LockLease>> waiting = new ArrayList<>();
            for (LockTemplate template : templates.subList(1, TEMPLATES)) {
                waiting.add(template.acquireAsync(LockRequest.of("stock").withWaitTime(Duration.ofSeconds(30))));
            }
            Awaitility.await().until(() -> server.waiting("lockkeeper:lock:stock") == TEMPLATES - 1);
            held.close();
            waiting.forEach(next -> next.thenAccept(LockLease::close));
            // Sooner than a poll: each of them heard of its grant.
            CompletableFuture.allOf(waiting.toArray(CompletableFuture[]::new)).get(12, TimeUnit.SECONDS);
        } finally {
            templates.forEach(LockTemplate::close);
            ((DisposableBean) connections).destroy();
            server.close();
        }
    }

    @Test
    void aPoolOfOneConnectionThatTheSubscriptionWouldTakeIsRefused() {
        GenericObjectPoolConfig<Object> pool = new GenericObjectPoolConfig<>();
        pool.setMaxTotal(1);
        JedisClientConfiguration client =
                JedisClientConfiguration.builder().usePooling().poolConfig(pool).build();
        RedisStandaloneConfiguration server = new RedisStandaloneConfiguration("127.0.0.1", 1);
        RedisLockStore.Options options = RedisLockStore.Options.defaults();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RedisLockStore(new JedisConnectionFactory(server, client) {}, options))
                .withMessageContaining("spring.data.redis.jedis.pool.max-active")
                .withMessageContaining("3 or more");
        // This one is asked for its settings only, and the subscription connects as they say, outside of the pool.
        assertThatCode(() -> new RedisLockStore(new JedisConnectionFactory(server, client), options))
                .doesNotThrowAnyException();
        pool.setMaxTotal(3);
        assertThatCode(() -> new RedisLockStore(new JedisConnectionFactory(server, client) {}, options))
                .doesNotThrowAnyException();
    }
}
