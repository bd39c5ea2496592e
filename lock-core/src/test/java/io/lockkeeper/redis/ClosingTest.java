/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.LockRecord;
import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/** How long a template takes to close when Redis does not let it release what it has. */
@Timeout(60)
class ClosingTest {

    private static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(2);

    private static final Duration LONG_TIMEOUT = Duration.ofSeconds(10);

    /** What operations.md says of the end, and what a busy machine needs beside. */
    private static final Duration MOST = COMMAND_TIMEOUT.multipliedBy(4).plusMillis(1_800);

    private RedisServer server;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        server.command("ACL SETUSER locks on >secret ~* &* +@all".split(" "));
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private static LockTemplate template(RedisConnectionFactory connections) {
        return LockTemplate.builder(new RedisLockStore(
                        connections, RedisLockStore.Options.defaults().withCommandTimeout(COMMAND_TIMEOUT)))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    private Duration closing(Connections driver, Runnable fault) {
        RedisConnectionFactory connections = driver.to(server.port(), "locks", "secret");
        try {
            LockTemplate template = template(connections);
            template.acquire("held");
            template.acquireAsync(LockRequest.of("held").withWaitTime(Duration.ofMinutes(1)));
            template.acquire(LockRequest.of("other").withLeaseTime(Duration.ofSeconds(20)));
            template.acquireAsync(LockRequest.of("other").withWaitTime(Duration.ofMinutes(1)));
            Awaitility.await().until(() -> server.waiting("lockkeeper:lock:other") == 1);
            fault.run();
            template.acquireAsync(LockRequest.of("under way"));
            long begin = System.nanoTime();
            template.close();
            return Duration.ofNanos(System.nanoTime() - begin);
        } finally {
            server.resume();
            Connections.close(connections);
        }
    }

    @ParameterizedTest
    @EnumSource
    void takesFourCommandTimeoutsAtMostWhileRedisHangs(Connections driver) {
        assertThat(closing(driver, server::pause)).isLessThan(MOST);
    }

    private Duration closingAfter(RedisConnectionFactory connections, Runnable fault) {
        try {
            LockTemplate template = template(connections);
            template.acquire("held");
            fault.run();
            long begin = System.nanoTime();
            template.close();
            return Duration.ofNanos(System.nanoTime() - begin);
        } finally {
            Connections.close(connections);
        }
    }

    /** A store that has told nothing for so long is not asked again and again. */
    @ParameterizedTest
    @EnumSource
    void takesOneCommandTimeoutWhereNoNodeOfAClusterIsLeft(Connections driver) {
        try (RedisCluster cluster = RedisCluster.start()) {
            assertThat(closingAfter(driver.toCluster(cluster.ports()), () -> cluster.masters()
                            .forEach(RedisServer::kill)))
                    .isLessThan(COMMAND_TIMEOUT.multipliedBy(2));
        }
    }

    @ParameterizedTest
    @EnumSource
    void takesOneCommandTimeoutWhereRedisHangs(Connections driver) {
        try {
            assertThat(closingAfter(driver.to(server.port()), server::pause))
                    .isLessThan(COMMAND_TIMEOUT.multipliedBy(2));
        } finally {
            server.resume();
        }
        // What had reached the server all the same has ended the hold.
        Awaitility.await()
                .until(() ->
                        LockRecord.of(server, "lockkeeper:lock:held").owner().isEmpty());
    }

    /** A client that waits longer than the command timeout, by its own settings. */
    @Test
    void leavesNoQuestionWithoutAnEnd() {
        JedisClientConfiguration patient = JedisClientConfiguration.builder()
                .readTimeout(LONG_TIMEOUT)
                .usePooling()
                .build();
        JedisConnectionFactory connections =
                new JedisConnectionFactory(new RedisStandaloneConfiguration(server.host(), server.port()), patient) {};
        connections.afterPropertiesSet();
        connections.start();
        LockTemplate template = LockTemplate.builder(new RedisLockStore(
                        connections, RedisLockStore.Options.defaults().withCommandTimeout(COMMAND_TIMEOUT)))
                .build();
        AtomicBoolean closed = new AtomicBoolean();
        server.pause();
        CompletableFuture<Duration> longest = CompletableFuture.supplyAsync(() -> {
            Duration most = Duration.ZERO;
            while (!closed.get()) {
                long begin = System.nanoTime();
                assertThatExceptionOfType(LockStoreException.class)
                        .isThrownBy(() -> template.inspector().status("stock"));
                Duration time = Duration.ofNanos(System.nanoTime() - begin);
                most = time.compareTo(most) > 0 ? time : most;
            }
            return most;
        });
        template.close();
        closed.set(true);

        assertThat(longest).succeedsWithin(Duration.ofSeconds(30)).satisfies(most -> assertThat(most)
                .isLessThan(LONG_TIMEOUT.dividedBy(2)));
        server.resume();
        Connections.close(connections);
    }

    /** What was not sent needs no release. */
    @ParameterizedTest
    @EnumSource
    void doesNotWaitWhereThereIsNoConnection(Connections driver) {
        server.kill();
        RedisConnectionFactory connections = driver.to(server.port());
        try {
            RedisLockStore.Options options = RedisLockStore.Options.defaults().withCommandTimeout(LONG_TIMEOUT);
            LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, options))
                    .build();
            assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> template.tryAcquire("stock"));
            long begin = System.nanoTime();
            template.close();
            assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(LONG_TIMEOUT.dividedBy(2));
        } finally {
            Connections.close(connections);
        }
    }

    @ParameterizedTest
    @EnumSource
    void takesFourCommandTimeoutsAtMostWhereARightIsMissing(Connections driver) {
        assertThat(closing(driver, () -> server.command("ACL SETUSER locks -hset".split(" "))))
                .isLessThan(MOST);
    }

    @Test
    void aWorkerOpensAndClosesAStoreAlsoWhereItsPoolHasNoThreadLeft() {
        ForkJoinPool full = new ForkJoinPool(
                1, ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, false, 1, 1, 1, null, 1, TimeUnit.SECONDS);
        RedisConnectionFactory connections = Connections.JEDIS.to(server.port());
        try {
            CompletableFuture<Boolean> locked = CompletableFuture.supplyAsync(
                    () -> {
                        try (LockTemplate template = LockTemplate.builder(
                                        new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                                .build()) {
                            return template.tryRun("stock", lease -> {});
                        }
                    },
                    full);
            assertThat(locked).succeedsWithin(Duration.ofSeconds(20)).isEqualTo(true);
        } finally {
            full.shutdownNow();
            Connections.close(connections);
        }
    }
}
