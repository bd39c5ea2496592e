/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A server that wants a password, which nobody has set: it takes no long text, and says why only to a short one. */
@Timeout(60)
class PasswordTest {

    @ParameterizedTest
    @EnumSource
    void aForgottenPasswordIsNamed(Connections driver) {
        try (RedisServer server = RedisServer.start()) {
            server.command("CONFIG", "SET", "requirepass", "secret");
            RedisConnectionFactory connections = driver.to(server.port());
            try (LockTemplate template = LockTemplate.builder(
                            new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                    .build()) {
                // Lettuce says now and then "RedisHandshakeHandler not registered" of a connection that was refused;
                // each
                // call connects anew.
                Awaitility.await().untilAsserted(() -> assertThatExceptionOfType(LockStoreException.class)
                        .isThrownBy(() -> template.acquire("name"))
                        .withMessageContaining("NOAUTH"));
            } finally {
                Connections.close(connections);
            }
        }
    }

    /** The connection that was refused is not kept. */
    @ParameterizedTest
    @EnumSource
    void aPasswordThatIsSetLaterIsUsed(Connections driver) {
        try (RedisServer server = RedisServer.start()) {
            RedisConnectionFactory connections = driver.to(server.port());
            try (RespConnection operator = server.connect();
                    LockTemplate template = LockTemplate.builder(
                                    new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                            .build()) {
                template.run("name", lease -> {});
                operator.command("CONFIG", "SET", "requirepass", "secret");
                operator.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
                assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> template.acquire("name"));
                Connections.restart(connections, "secret");
                Awaitility.await()
                        .ignoreExceptionsInstanceOf(LockStoreException.class)
                        .until(() -> template.tryRun("name", lease -> {}));
                // Over each of the connections.
                for (int i = 0; i < 20; i++) {
                    template.run("name " + i, lease -> {});
                }
            } finally {
                Connections.close(connections);
            }
        }
    }

    /** A key that may not be read is not one that holds something else. */
    @ParameterizedTest
    @CsvSource({"JEDIS, 6.2", "JEDIS, 7.0", "LETTUCE, 7.0"})
    void aRightThatIsMissingIsNotTakenForAForeignKey(Connections driver, String version) {
        withoutRight("hmget", driver, version, (server, template) -> assertThatExceptionOfType(LockStoreException.class)
                .isThrownBy(() -> template.inspector().status("name"))
                .withMessageContaining("can't run this command")
                .withMessageNotContaining("another version"));
    }

    @ParameterizedTest
    @CsvSource({"JEDIS, 6.2, evalsha", "JEDIS, 7.0, hset", "LETTUCE, 6.2, hset", "LETTUCE, 7.0, evalsha"})
    void whoLacksARightIsToldAllThatAreNeeded(Connections driver, String version, String right) {
        withoutRight(right, driver, version, (server, template) -> Awaitility.await()
                .untilAsserted(() -> assertThatExceptionOfType(LockStoreException.class)
                        .isThrownBy(() -> template.acquire("name"))
                        .withMessageContaining("Give its user all rights that are needed: ")
                        .withMessageContaining("+evalsha")
                        .withMessageContaining("+hset")));
    }

    private static void withoutRight(
            String command, Connections driver, String version, BiConsumer<RedisServer, LockTemplate> test) {
        try (RedisServer server = RedisServer.startVersion(version)) {
            server.command(("ACL SETUSER locks on >secret ~* &* +@all -" + command).split(" "));
            RedisConnectionFactory connections = driver.to(server.port(), "locks", "secret");
            try (LockTemplate template = LockTemplate.builder(
                            new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                    .build()) {
                test.accept(server, template);
            } finally {
                Connections.close(connections);
            }
        }
    }

    /** What could not be given an end would stay for ever. */
    @ParameterizedTest
    @CsvSource({
        "JEDIS, 6.2, pexpire",
        "JEDIS, 7.0, pexpire",
        "LETTUCE, 7.0, pexpire",
        "JEDIS, 6.2, @keyspace +exists",
        "JEDIS, 7.0, @keyspace +exists"
    })
    void whoMayGiveKeysNoEndLeavesNone(Connections driver, String version, String right) {
        withoutRight(right, driver, version, (server, template) -> {
            for (LockRequest request : List.of(
                    LockRequest.of("plain"),
                    LockRequest.of("fixed").withLeaseTime(Duration.ofSeconds(20)),
                    LockRequest.of("read").withMode(LockMode.READ),
                    LockRequest.of("one", "other"))) {
                Awaitility.await().untilAsserted(() -> assertThatExceptionOfType(LockStoreException.class)
                        .isThrownBy(() -> template.tryAcquire(request))
                        .withMessageContaining("can't run this command"));
            }
            template.close();
            assertThat(server.command("KEYS", "lockkeeper:lock:*")).isEqualTo(List.of());
        });
    }

    /** What docs/operations.md lists, and no more than a client needs to connect. */
    @ParameterizedTest
    @EnumSource
    void whoHasTheRightsThatAreListedCanLock(Connections driver) {
        try (RedisServer server = RedisServer.start()) {
            server.command(
                    ("ACL SETUSER locks on >secret resetchannels ~lockkeeper:* &lockkeeper:grants:* +eval +evalsha"
                                    + " +script|load +time +exists +hget +hmget +hkeys +hset +hdel +unlink +pexpire +pttl +scan +publish +subscribe +unsubscribe"
                                    + " +setex +mget +del +info +hello +client")
                            .split(" "));
            RedisConnectionFactory connections = driver.to(server.port(), "locks", "secret");
            try (LockTemplate template = LockTemplate.builder(
                            new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                    .build()) {
                // On a busy machine the first connection may take longer than a command may.
                Awaitility.await()
                        .ignoreExceptionsInstanceOf(LockStoreException.class)
                        .until(() -> template.tryRun("name", lease -> {}));
                assertThat(server.command("ACL", "LOG"))
                        .as("what was refused, on the way too")
                        .isEqualTo(List.of());
            } finally {
                Connections.close(connections);
            }
        }
    }
}
