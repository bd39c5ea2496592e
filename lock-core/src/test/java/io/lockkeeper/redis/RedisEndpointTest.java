/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Where locks are said to be, and what is said where Redis is not there or refuses. */
@Timeout(60)
class RedisEndpointTest {

    private static final String LINE =
            "ACL SETUSER <user> resetkeys ~lockkeeper:* resetchannels &lockkeeper:grants:* +eval +evalsha +script|load"
                    + " +time +exists +hget +hmget +hkeys +hset +hdel +unlink +pexpire +pttl +scan +publish +subscribe +unsubscribe +setex +mget +del +info +hello"
                    + " +client (without the two resets the user keeps other keys and channels)";

    @Test
    void aStoreSaysWhereItsLocksAre() {
        RedisStandaloneConfiguration one = new RedisStandaloneConfiguration("redis.example", 6380);
        assertThat(store(new JedisConnectionFactory(one)))
                .hasToString("Redis at redis.example:6380, key prefix 'lockkeeper'");
        assertThat(store(new LettuceConnectionFactory(one) {}))
                .hasToString("Redis at redis.example:6380, key prefix 'lockkeeper'");
        RedisClusterConfiguration cluster = new RedisClusterConfiguration(List.of("b:1", "a:2"));
        assertThat(store(new JedisConnectionFactory(cluster))).asString().startsWith("Redis at cluster a:2, b:1,");
        assertThat(store(new LettuceConnectionFactory(cluster))).asString().startsWith("Redis at cluster a:2, b:1,");
        RedisSentinelConfiguration sentinels =
                new RedisSentinelConfiguration().master("m").sentinel("s", 26379);
        assertThat(store(new LettuceConnectionFactory(sentinels))).asString().startsWith("Redis at sentinels s:26379,");
        assertThat(new MemoryLockStore()).hasToString("the memory of this process");
    }

    @Test
    void aTemplateTellsItsStore() {
        MemoryLockStore store = new MemoryLockStore();
        try (LockTemplate template = LockTemplate.builder(store).build()) {
            assertThat(template.store()).containsSame(store);
        }
        assertThat(LockTemplate.withoutLocking().store()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void whereRedisWasLookedForAndWhatToSetIsSaid(Connections driver) {
        int port;
        try (RedisServer server = RedisServer.start()) {
            port = server.port();
        }
        assertThat(failureOf(driver.to(port)))
                .endsWith("It was looked for at 127.0.0.1:" + port
                        + ": start it there, or set spring.data.redis.host and spring.data.redis.port")
                .doesNotContain("..");
    }

    @ParameterizedTest
    @EnumSource
    void aWrongPasswordIsAnsweredWithItsProperties(Connections driver) {
        try (RedisServer server = RedisServer.start()) {
            server.command("CONFIG", "SET", "requirepass", "secret");
            assertThat(failureOf(driver.to(server.port())))
                    .contains("NOAUTH")
                    .endsWith("Set spring.data.redis.username and spring.data.redis.password for 127.0.0.1:"
                            + server.port());
        }
    }

    @ParameterizedTest
    @EnumSource
    void aDatabaseThatIsNotThereIsAnsweredWithItsProperty(Connections driver) {
        try (RedisServer server = RedisServer.start()) {
            RedisStandaloneConfiguration wrong = new RedisStandaloneConfiguration("127.0.0.1", server.port());
            wrong.setDatabase(99);
            String place = " for 127.0.0.1:" + server.port();
            assertThat(failureOf(driver.to(wrong)))
                    .contains("DB index")
                    .endsWith("Set spring.data.redis.database" + place);
            assertThat(failureOf(driver.to(wrong), "spring.data.redis.url"))
                    .endsWith("Set spring.data.redis.url" + place);
            assertThat(failureOf(driver.to(wrong), "the bean 'locks'"))
                    .endsWith("Set another database in the bean 'locks'" + place);
        }
    }

    @Test
    void aMessageOfSeveralLinesBecomesOneSentence() {
        assertThat(Failures.rootMessage(
                        new IllegalStateException("Cannot retrieve [a:1]\n\nDetails:\n\ta:1: refused.\n")))
                .isEqualTo("Cannot retrieve [a:1]; a:1: refused");
    }

    /** A quorum has its own property, and none of spring-data-redis. */
    @Test
    void aMasterOfAQuorumIsAnsweredWithTheirProperty() {
        RedisLockStore.Options ofQuorum = RedisLockStore.Options.defaults().withRestartGuard(true);
        int port;
        try (RedisServer server = RedisServer.start()) {
            port = server.port();
            server.command("CONFIG", "SET", "requirepass", "secret");
            assertThat(failureOf(Connections.JEDIS.to(port), ofQuorum))
                    .endsWith("Set lockkeeper.redis.quorum.nodes for 127.0.0.1:" + port);
        }
        assertThat(failureOf(Connections.JEDIS.to(port), ofQuorum))
                .endsWith("start it there, or set lockkeeper.redis.quorum.nodes");
    }

    @ParameterizedTest
    @EnumSource
    void aUserWithoutRightsIsAnsweredWithTheWholeLine(Connections driver) {
        try (RedisServer server = RedisServer.start()) {
            server.command("ACL SETUSER locks on >secret resetchannels +hello +client +ping".split(" "));
            assertThat(failureOf(driver.to(server.port(), "locks", "secret")))
                    .contains("NOPERM")
                    .endsWith("Give its user all rights that are needed: " + LINE);
        }
    }

    private static String failureOf(RedisConnectionFactory connections) {
        return failureOf(connections, RedisLockStore.Options.defaults());
    }

    private static String failureOf(RedisConnectionFactory connections, RedisLockStore.Options options) {
        return failureOf(connections, new RedisLockStore(connections, options));
    }

    private static String failureOf(RedisConnectionFactory connections, String source) {
        return failureOf(connections, new RedisLockStore(connections, RedisLockStore.Options.defaults(), source));
    }

    private static String failureOf(RedisConnectionFactory connections, RedisLockStore store) {
        try (LockTemplate template = LockTemplate.builder(store).build()) {
            String[] message = {""};
            assertThatExceptionOfType(LockStoreException.class)
                    .isThrownBy(() -> template.tryAcquire("name"))
                    .satisfies(failure -> message[0] = failure.getMessage());
            return message[0];
        } finally {
            Connections.close(connections);
        }
    }

    private static RedisLockStore store(RedisConnectionFactory connections) {
        return new RedisLockStore(connections, RedisLockStore.Options.defaults());
    }
}
