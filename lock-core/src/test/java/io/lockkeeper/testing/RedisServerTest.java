/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RedisServerTest {

    private RedisServer server;

    @BeforeEach
    void start() {
        server = RedisServer.start();
    }

    @AfterEach
    void close() {
        server.close();
    }

    @Test
    void repliesAreParsedByTheirType() {
        assertThat(server.command("SET", "name", "Übergröße\r\n")).isEqualTo("OK");
        assertThat(server.command("GET", "name")).isEqualTo("Übergröße\r\n");
        assertThat(server.command("GET", "missing")).isNull();
        assertThat(server.command("INCR", "count")).isEqualTo(1L);
        assertThat(server.command("EVAL", "return {1, 'two', {}, redis.error_reply('FAULT three')}", "0"))
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .hasSize(4)
                .startsWith(1L, "two", List.of())
                .last()
                .isInstanceOf(RespConnection.ErrorReply.class);
    }

    @Test
    void anErrorReplyIsThrown() {
        assertThatThrownBy(() -> server.command("EVALSHA", "0".repeat(40), "0"))
                .isInstanceOf(RespConnection.ErrorReply.class)
                .hasMessageStartingWith("NOSCRIPT");
    }

    @Test
    void mapsAndPushesOfResp3AreUnderstood() {
        try (RespConnection connection = server.connect()) {
            assertThat(connection.command("HELLO", "3"))
                    .asInstanceOf(InstanceOfAssertFactories.LIST)
                    .startsWith("server", "redis");
            assertThat(connection.command("GET", "missing")).isNull();
            assertThat(connection.command("SUBSCRIBE", "news")).isEqualTo(List.of("subscribe", "news", 1L));
            server.command("PUBLISH", "news", "hello");
            assertThat(connection.receive()).isEqualTo(List.of("message", "news", "hello"));
        }
    }

    @Test
    void callsAreCountedPerCommandUntilReset() {
        server.command("EVAL", "redis.call('SET', KEYS[1], 1) return redis.call('GET', KEYS[1])", "1", "a");
        server.command("GET", "a");
        assertThat(server.calls("get")).isEqualTo(2);
        assertThat(server.calls("EVAL")).isEqualTo(1);
        assertThat(server.calls("del")).isZero();

        server.resetStatistics();
        assertThat(server.calls("get")).isZero();
    }

    @Test
    void aPausedServerAnswersOnlyAfterItIsResumed() {
        server.pause();
        try (RespConnection impatient = new RespConnection(server.host(), server.port(), Duration.ofMillis(100))) {
            assertThatThrownBy(() -> impatient.command("PING")).isInstanceOf(UncheckedIOException.class);
        }
        assertThat(server.isRunning()).isTrue();

        server.resume();
        assertThat(server.command("PING")).isEqualTo("PONG");
    }

    @Test
    void aKilledServerComesBackEmptyOnItsPort() {
        int port = server.port();
        server.command("SET", "a", "1");
        server.kill();
        assertThat(server.isRunning()).isFalse();
        assertThatThrownBy(() -> server.command("PING")).isInstanceOf(UncheckedIOException.class);

        server.restart();
        assertThat(server.port()).isEqualTo(port);
        assertThat(server.command("GET", "a")).isNull();
    }

    @Test
    void extraArgumentsWinOverTheDefaults() {
        try (RedisServer durable = RedisServer.start("--appendonly", "yes", "--appendfsync", "always")) {
            durable.command("SET", "a", "1");
            durable.restart();
            assertThat(durable.command("GET", "a")).isEqualTo("1");
        }
    }

    @Test
    void aServerThatCannotStartSaysWhy() {
        assertThatThrownBy(() -> RedisServer.start("--no-such-option", "1"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no-such-option");
    }

    @Test
    void closingEndsOnlyItsOwnProcessAndDeletesItsFolder() {
        try (RedisServer other = RedisServer.start()) {
            Path folder = Path.of(String.valueOf(((List<?>) server.command("CONFIG", "GET", "dir")).get(1)));
            assertThat(folder).isDirectory();

            server.close();
            assertThat(server.isRunning()).isFalse();
            assertThat(Files.exists(folder)).isFalse();
            assertThat(other.command("PING")).isEqualTo("PONG");
        }
    }
}
