/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.testing.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What stands before a script for the usual case: when it takes part, what it answers in short, and when it must not. */
class UsualCaseTest {

    private static final String KEY = "lockkeeper:lock:usual";
    private static final String A1 = "clientAAAAAA00000001";
    private static final String B1 = "clientBBBBBB00000001";
    private static final long LEASE = 20_000;
    private static final long TOMBSTONE = 30_000;
    private static RedisServer server;
    private static ScriptCalls calls;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
        calls = new ScriptCalls(server, KEY);
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @BeforeEach
    void clean() {
        server.command("FLUSHALL");
    }

    private @Nullable Object acquire(String attempt, String mode, long alive, int tokens, Object... brief) {
        List<Object> arguments = new ArrayList<>(List.of(attempt, mode, LEASE, alive, LEASE, tokens, calls.micros()));
        arguments.addAll(List.of(calls.micros() / 1_000 + 2_000, "ch:", TOMBSTONE, 0));
        arguments.addAll(List.of(brief));
        return calls.run(LuaScript.ACQUIRE, arguments.toArray());
    }

    private @Nullable Object release(String attempt, Object token, Object... brief) {
        List<Object> arguments = new ArrayList<>(List.of(attempt, token, 0, "ch:", TOMBSTONE));
        arguments.addAll(List.of(brief));
        return calls.run(LuaScript.RELEASE, arguments.toArray());
    }

    private static String field(String name) {
        return Objects.requireNonNull(server.field(KEY, name));
    }

    private static long number(@Nullable Object reply) {
        return Long.parseLong(String.valueOf(reply));
    }

    @Test
    void whoAsksForItIsAnsweredWithOneNumber() {
        long before = calls.micros();
        long token = number(acquire(A1, "X", 0, 1, 1));
        assertThat(token).isBetween(before, calls.micros());
        assertThat(field("token"))
                .isEqualTo("" + token)
                .isEqualTo(field("first"))
                .isEqualTo(field("since"));
        assertThat(Long.parseLong(field("until"))).isEqualTo(token / 1_000 + LEASE);
        assertThat(number(release(A1, token, 1))).isBetween(token, calls.micros());
        long again = number(acquire(B1, "F", 0, 1, 1));
        assertThat(again).isGreaterThan(token);
        assertThat(field("mode")).isEqualTo("fair");
    }

    @Test
    void whoDoesNotIsAnsweredWithAll() {
        assertThat(acquire(A1, "X", 0, 1))
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .hasSize(4)
                .first()
                .isEqualTo("ACQUIRED");
        assertThat(release(A1, field("token")))
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .hasSize(2)
                .first()
                .isEqualTo("RELEASED");
    }

    @Test
    void aTokenThatIsNotTheTimeIsNamed() {
        acquire(A1, "X", 0, 1);
        release(A1, field("token"));
        long ahead = calls.micros() + 60_000_000;
        server.command("HSET", KEY, "token", "" + ahead);
        assertThat(acquire(B1, "X", 0, 5, 1))
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .last()
                .hasToString("" + (ahead + 1));
        assertThat(field("first")).isEqualTo("" + (ahead + 1));
        assertThat(field("token")).isEqualTo("" + (ahead + 5));
    }

    @Test
    void tokensThatWereNotUsedGoBack() {
        long first = number(acquire(A1, "X", 0, 17, 1));
        assertThat(field("token")).isEqualTo("" + (first + 16));
        release(A1, first + 3, 1);
        assertThat(field("token")).isEqualTo("" + (first + 3));
    }

    @Test
    void whatIsNotPlainSaysSo() {
        number(acquire(A1, "X", 0, 1, 1));
        assertThat(field("granted")).isEqualTo("plain");
        acquire(B1, "X", LEASE, 1, 1);
        assertThat(field("granted")).as("somebody waits").isEqualTo("0");
        assertThat(release(A1, 0, 1))
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .isNotEmpty();
        assertThat(field("granted")).as("not confirmed").isEqualTo("1");
        assertThat(field("owner")).isEqualTo(B1);
        calls.run(LuaScript.RENEW, TOMBSTONE, B1, LEASE, 0, 0);
        assertThat(field("granted")).as("confirmed").isEqualTo("plain");
        calls.run(LuaScript.RELEASE, B1, 0, LEASE, "ch:", TOMBSTONE, 1);
        assertThat(field("granted")).as("kept after its release").isEqualTo("0");
    }

    @Test
    void readersAreNotPlain() {
        acquire(A1, "R", 0, 1, 1);
        assertThat(field("granted")).isEqualTo("0");
        assertThat(acquire(B1, "X", 0, 1, 1))
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .first()
                .isEqualTo("BUSY");
        release(A1, 0, 1);
        assertThat(field("granted")).isEqualTo("plain");
        number(acquire(B1, "X", 0, 1, 1));
    }

    @Test
    void aRenewalMovesNothingButTheEnd() {
        long token = number(acquire(A1, "X", 0, 17, 1));
        server.command("HSET", KEY, "until", "" + (calls.micros() / 1_000 + LEASE / 2));
        Object reply = calls.run(LuaScript.RENEW, TOMBSTONE, A1, LEASE, 0, 0);
        assertThat(reply).asInstanceOf(InstanceOfAssertFactories.LIST).hasSize(2);
        long now = number(((List<?>) Objects.requireNonNull(reply)).get(0));
        assertThat(Long.parseLong(field("until"))).isEqualTo(now / 1_000 + LEASE);
        assertThat(field("token")).isEqualTo("" + (token + 16));
        assertThat(number(server.command("PTTL", KEY))).isBetween(TOMBSTONE + LEASE - 1_000, TOMBSTONE + LEASE);
        server.command("HSET", KEY, "until", "" + (now / 1_000 + 10 * LEASE));
        calls.run(LuaScript.RENEW, TOMBSTONE, A1, LEASE, 0, 0);
        assertThat(field("until")).as("a later end stays").isEqualTo("" + (now / 1_000 + 10 * LEASE));
        assertThat(number(server.command("PTTL", KEY))).isGreaterThan(9 * LEASE);
    }
}
