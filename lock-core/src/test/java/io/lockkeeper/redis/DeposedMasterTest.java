/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.api.StatefulConnection;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.FixedSentinel;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.Replication;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettucePoolingClientConfiguration;

/** A failover in place: the address leads to another master, and connections to the former one survive. */
@Timeout(60)
class DeposedMasterTest {

    private static final int THREADS = 6;

    /** Clients, and the ways in which they keep connections. */
    enum Client {
        JEDIS,
        JEDIS_CUSTOMIZED,
        JEDIS_ACKS,
        LETTUCE,
        LETTUCE_POOLED,
        LETTUCE_ACKS;

        RedisConnectionFactory to(int port) {
            RedisStandaloneConfiguration server = new RedisStandaloneConfiguration("127.0.0.1", port);
            if (this == JEDIS_CUSTOMIZED) {
                JedisClientConfiguration customized = JedisClientConfiguration.builder()
                        .customizeClient(client -> {})
                        .usePooling()
                        .build();
                JedisConnectionFactory factory = new JedisConnectionFactory(server, customized);
                factory.afterPropertiesSet();
                factory.start();
                return factory;
            }
            if (this == LETTUCE_POOLED) {
                return pooled(port, LettucePoolingClientConfiguration.builder().build());
            }
            return (name().startsWith("JEDIS") ? Connections.JEDIS : Connections.LETTUCE).to(port);
        }

        RedisLockStore.Options options() {
            RedisLockStore.Options options = RedisLockStore.Options.defaults();
            return name().endsWith("ACKS") ? options.withReplicaAcks("1", Duration.ofMillis(500)) : options;
        }
    }

    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    private RedisServer master;
    private RedisServer follower;
    private FaultProxy address;

    @BeforeEach
    void start() {
        master = RedisServer.start("--repl-diskless-sync-delay", "0");
        follower = RedisServer.start("--repl-diskless-sync-delay", "0");
        address = FaultProxy.inFrontOf(master);
        follower.command("REPLICAOF", master.host(), "" + master.port());
        Replication.await(master, 1);
    }

    @AfterEach
    void stop() {
        threads.shutdownNow();
        address.close();
        follower.close();
        master.close();
    }

    private void failOver() {
        follower.command("REPLICAOF", "NO", "ONE");
        address.moveTo(follower);
        master.command("REPLICAOF", follower.host(), "" + follower.port());
        Replication.await(follower, 1);
    }

    private LockTemplate template(RedisConnectionFactory connections, Client client) {
        return LockTemplate.builder(new RedisLockStore(connections, client.options()))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    /** Locks with all threads at once, and returns what failed. */
    private List<String> lockTogether(LockTemplate template, String name) {
        List<CompletableFuture<List<String>>> all = IntStream.range(0, THREADS)
                .mapToObj(thread -> CompletableFuture.supplyAsync(
                        () -> {
                            List<String> failures = new ArrayList<>();
                            for (int i = 0; i < 20; i++) {
                                try {
                                    template.run(name + thread + "-" + i, lease -> {});
                                } catch (RuntimeException failure) {
                                    failures.add(String.valueOf(failure.getMessage()));
                                }
                            }
                            return failures;
                        },
                        threads))
                .toList();
        return all.stream().flatMap(each -> each.join().stream()).toList();
    }

    private long clients(RedisServer server) {
        return Stream.of(String.valueOf(server.command("CLIENT", "LIST")).split("\n"))
                .filter(line -> line.contains("cmd=evalsha"))
                .count();
    }

    @ParameterizedTest
    @EnumSource
    void noCallFailsAfterTheFailover(Client client) {
        RedisConnectionFactory connections = client.to(address.port());
        try (LockTemplate template = template(connections, client)) {
            Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> {
                lockTogether(template, "before");
                return clients(master) > 1
                        || client == Client.LETTUCE
                        || client.name().endsWith("ACKS");
            });
            LockLease held = template.acquire("stock");
            Replication.await(master, 1);
            failOver();
            assertThat(lockTogether(template, "after")).isEmpty();
            assertThat(held.verify()).isTrue();
            assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
        } finally {
            Connections.close(connections);
        }
    }

    /**
     * What refused the first copy of the release has not run it: the second one tells the truth. Lettuce without acks
     * does not know what became of the first one, because it sends again by itself.
     */
    @ParameterizedTest
    @EnumSource(names = {"JEDIS", "JEDIS_CUSTOMIZED", "JEDIS_ACKS", "LETTUCE_ACKS"})
    void aHoldThatTheNextMasterDoesNotKnowIsLost(Client client) {
        RedisConnectionFactory connections = client.to(address.port());
        try (LockTemplate template = template(connections, client)) {
            Awaitility.await().until(() -> lockTogether(template, "before").isEmpty());
            LockLease held = template.acquire("stock");
            Replication.await(master, 1);
            failOver();
            follower.command("DEL", "lockkeeper:lock:stock");
            assertThat(held.release()).isEqualTo(ReleaseResult.LOST);
        } finally {
            Connections.close(connections);
        }
    }

    /** Here the pool gives what was idle for longest: each connection once before any of them again. */
    @Test
    void noCallFailsAfterTheFailoverOverManyIdleConnectionsOfLettuce() {
        GenericObjectPoolConfig<StatefulConnection<?, ?>> pool = new GenericObjectPoolConfig<>();
        pool.setLifo(false);
        LettuceConnectionFactory connections = pooled(
                address.port(),
                LettucePoolingClientConfiguration.builder().poolConfig(pool).build());
        try (LockTemplate template = template(connections, Client.LETTUCE_POOLED)) {
            keepIdle(connections);
            failOver();
            template.run("stock", lease -> {});
        } finally {
            Connections.close(connections);
        }
    }

    private static LettuceConnectionFactory pooled(int port, LettuceClientConfiguration pool) {
        LettuceConnectionFactory factory =
                new LettuceConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", port), pool);
        factory.setShareNativeConnection(false);
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    private static void keepIdle(RedisConnectionFactory connections) {
        List<RedisConnection> idle =
                Stream.generate(connections::getConnection).limit(6).toList();
        idle.forEach(RedisConnection::ping);
        idle.forEach(RedisConnection::close);
    }

    /** What was idle in the pool leads to the former master, too: one call goes through as much of it as it meets. */
    @Test
    void noCallFailsAfterTheFailoverOverAPoolOfSentinel() {
        try (FixedSentinel sentinel = FixedSentinel.naming(address.port())) {
            RedisConnectionFactory connections = Connections.JEDIS.toSentinel(List.of(sentinel.port()));
            try (LockTemplate template = template(connections, Client.JEDIS)) {
                keepIdle(connections);
                failOver();
                template.run("stock", lease -> {});
                assertThat(lockTogether(template, "after")).isEmpty();
            } finally {
                Connections.close(connections);
            }
        }
    }
}
