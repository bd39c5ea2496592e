/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.LockRecord;
import io.lockkeeper.testing.RedisServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A record of another version is neither taken over nor changed: by the scripts of version 3, and by ours. */
class OtherVersionTest {

    private static final String A1 = "clientAAAAAA00000001";
    private static final String B1 = "clientBBBBBB00000001";
    private static final String C1 = "clientCCCCCC00000001";
    private static final long LEASE = 20_000;
    private static final Map<String, String> CONSTANTS = Map.ofEntries(
            Map.entry("${lease}", "'0000000020000'"),
            Map.entry("${grant}", "'0000000020000'"),
            Map.entry("${tombstone}", "30000"),
            Map.entry("${alive}", "20000"),
            Map.entry("${life}", "'50000'"),
            Map.entry("${longer}", "'70000'"),
            Map.entry("${spare}", "20"),
            Map.entry("${free}", "'3--0000000050000 '"),
            Map.entry("${held}", "'3H-0000000050000 '"),
            Map.entry("${lives}", "'0000000050000 '"),
            Map.entry("${channels}", "'ch:'"));
    private static final LuaScript OLD_ACQUIRE =
            old("clock", "acquire-fast", "key-life", "acquire-usual", "record", "acquire");
    private static final LuaScript OLD_RELEASE =
            old("clock", "release-fast", "grant-next", "release-usual", "record", "release");
    private static final LuaScript OLD_HAND_OVER =
            old("clock", "handover-fast", "grant-next", "key-life", "handover-usual", "record", "handover");
    private static final LuaScript OLD_RENEW = old("clock", "key-life", "renew-fast", "record", "renew");
    private static RedisServer server;
    private static ScriptCalls calls;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
        calls = new ScriptCalls(server, "lockkeeper:lock:stock");
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @BeforeEach
    void clean() {
        server.command("FLUSHALL");
    }

    private static LuaScript old(String... parts) {
        String source = Stream.of(parts).map(OtherVersionTest::read).collect(Collectors.joining("\n"));
        for (Map.Entry<String, String> constant : CONSTANTS.entrySet()) {
            source = source.replace(constant.getKey(), constant.getValue());
        }
        return new LuaScript("version 3", source, "");
    }

    private static String read(String part) {
        try (InputStream script =
                Objects.requireNonNull(OtherVersionTest.class.getResourceAsStream("version-3/" + part + ".lua"))) {
            return new String(script.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static @Nullable Object oldAcquire(String attempt, String mode) {
        return calls.run(OLD_ACQUIRE, ScriptCalls.acquisition(attempt, mode, LEASE, true, 1, calls.micros()));
    }

    private static @Nullable Object oldRelease(String attempt) {
        return calls.run(OLD_RELEASE, ScriptCalls.ending(attempt, 0));
    }

    private static String status(@Nullable Object reply) {
        return ScriptCalls.texts(reply).get(0);
    }

    private static Object content() {
        return Objects.requireNonNull(server.command("HGETALL", calls.key()));
    }

    private static void assertForeignToUs() {
        Object before = content();
        for (String mode : List.of("X", "F", "R", "W")) {
            for (String attempt : List.of(A1, B1)) {
                assertThat(status(calls.acquire(attempt, mode, LEASE, LEASE, LEASE, 1, calls.micros())))
                        .isEqualTo("FOREIGN");
            }
        }
        assertThat(status(calls.release(A1, 0, 0))).isEqualTo("FOREIGN");
        assertThat(status(calls.handOver(A1, 0, B1, LEASE, 1))).isEqualTo("FOREIGN");
        assertThat(status(calls.run(ScriptCalls.scripts(LEASE, LEASE).inspect())))
                .isEqualTo("FOREIGN");
        assertThat(status(calls.run(ScriptCalls.scripts(LEASE, LEASE).revoke(), "request", "9".repeat(16))))
                .isEqualTo("FOREIGN");
        assertThat(ScriptCalls.texts(calls.renew(A1, LEASE, false))).endsWith("0");
        assertThat(content()).isEqualTo(before);
    }

    @ParameterizedTest
    @ValueSource(strings = {"X", "R"})
    void oursLeaveAHoldOfVersion3Alone(String mode) {
        oldAcquire(A1, mode);
        assertForeignToUs();
    }

    @Test
    void oursLeaveAFreeLockOfVersion3Alone() {
        oldAcquire(A1, "X");
        oldRelease(A1);
        assertForeignToUs();
    }

    /** It had a field for each part. */
    @Test
    void oursLeaveARecordOfVersion1Alone() {
        server.command(
                "HSET", calls.key(), "version", "1", "mode", "X", "owner", A1, "token", "17", "until", "9999999999999");
        assertForeignToUs();
    }

    @Test
    void oursLeaveALaterVersionAloneThatLooksTheSame() {
        calls.acquire(A1, "X", LEASE, 0, LEASE, 1, calls.micros());
        LockRecord ours = calls.record();
        String later = "5" + ours.lock().substring(1);
        server.command(
                "HSET", calls.key(), "lock", later, "hold", "5" + ours.hold().substring(1));
        assertForeignToUs();
        server.command(
                "HSET",
                calls.key(),
                "lock",
                later,
                "hold",
                ours.hold().substring(0, 2) + C1 + ours.hold().substring(22));
        assertForeignToUs();
        server.command(
                "HSET",
                calls.key(),
                "lock",
                ours.lock(),
                "hold",
                "5" + ours.hold().substring(1));
        assertForeignToUs();
        server.command("HDEL", calls.key(), "hold");
        assertForeignToUs();
    }

    @Test
    void oursLeaveAHashAloneThatHasOneOfTheirFields() {
        server.command("HSET", calls.key(), "hold", "4H" + A1 + " 0000000020000 9999999999999999 999999999");
        assertForeignToUs();
    }

    @ParameterizedTest
    @ValueSource(strings = {"X held", "X free", "R held", "X awaited"})
    void thoseOfVersion3LeaveOursAlone(String state) {
        calls.acquire(A1, state.substring(0, 1), LEASE, 0, LEASE, 1, calls.micros());
        if (state.endsWith("free")) {
            calls.release(A1, 0, 0);
        } else if (state.endsWith("awaited")) {
            calls.acquire(C1, "F", LEASE, LEASE, LEASE, 1, calls.micros());
        }
        Object before = content();
        assertThat(status(oldAcquire(A1, "X"))).isEqualTo("FOREIGN");
        assertThat(status(oldAcquire(B1, "R"))).isEqualTo("FOREIGN");
        assertThat(status(oldRelease(A1))).isEqualTo("FOREIGN");
        assertThat(status(calls.run(OLD_HAND_OVER, ScriptCalls.handOver(A1, 0, B1, LEASE, 1, calls.micros()))))
                .isEqualTo("FOREIGN");
        assertThat(ScriptCalls.texts(calls.run(OLD_RENEW, ScriptCalls.renewal(A1, LEASE, false))))
                .endsWith("0");
        assertThat(content()).isEqualTo(before);
    }

    @Test
    void aCallerIsToldWhatToDo() {
        oldAcquire(A1, "X");
        RedisConnectionFactory connections = Connections.JEDIS.to(server.port());
        try (LockTemplate template = LockTemplate.builder(
                        new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .shutdownWait(Duration.ZERO)
                .build()) {
            assertThatThrownBy(() -> template.tryAcquire("stock"))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("another version")
                    .hasMessageContaining(calls.key());
        } finally {
            Connections.close(connections);
        }
    }
}
