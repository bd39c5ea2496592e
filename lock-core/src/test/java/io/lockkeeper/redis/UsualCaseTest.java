/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What stands before a script for the usual case: when it takes part, what it answers in short, and when it must not. */
class UsualCaseTest {

    private static final String KEY = "lockkeeper:lock:usual";
    private static final String A1 = "clientAAAAAA00000001";
    private static final String A2 = "clientAAAAAA00000002";
    private static final String B1 = "clientBBBBBB00000001";
    private static final String C1 = "clientCCCCCC00000001";
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
        number(release(A1, 0, 1));
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

    private static void assertExecuted(int looks, int messages) {
        assertThat(server.calls("eval")).isEqualTo(1);
        assertThat(server.calls("hmget")).isEqualTo(looks);
        for (String command : List.of("pexpire", "hset")) {
            assertThat(server.calls(command)).as(command).isEqualTo(1);
        }
        assertThat(server.calls("publish")).isEqualTo(messages);
    }

    @Test
    void whoWaitsGetsTheEndOfTheQueue() {
        acquire(A1, "X", 0, 1, 1);
        for (String attempt : List.of(B1, C1, B1)) {
            server.resetStatistics();
            assertThat(acquire(attempt, "F", LEASE, 17, 1))
                    .asInstanceOf(InstanceOfAssertFactories.LIST)
                    .startsWith("QUEUED")
                    .contains(A1)
                    .hasSize(4);
            assertExecuted(2, 0);
        }
        assertThat(field("queue"))
                .matches("F" + B1 + "\\d{13}02000000017F" + C1 + "\\d{13}02000000017")
                .hasSize(90);
        assertThat(field("granted")).isEqualTo("0");
        assertThat(field("owner")).isEqualTo(A1);
    }

    @Test
    void theFirstWhoWaitsIsGivenTheLock() {
        long token = number(acquire(A1, "X", 0, 17, 1));
        acquire(B1, "F", LEASE, 3, 1);
        acquire(C1, "X", LEASE, 1, 1);
        server.resetStatistics();
        long released = number(release(A1, token + 2, 1));
        assertExecuted(2, 1);
        assertThat(field("owner")).isEqualTo(B1);
        assertThat(field("mode")).isEqualTo("fair");
        assertThat(field("previous")).isEqualTo(A1);
        assertThat(field("first")).isEqualTo("" + released).isEqualTo(field("since"));
        assertThat(field("token")).isEqualTo("" + (released + 2));
        assertThat(field("granted")).isEqualTo("1");
        assertThat(field("queue")).startsWith("X" + C1).hasSize(45);
        assertThat(Long.parseLong(field("until"))).isEqualTo(released / 1_000 + LEASE);
    }

    @Test
    void whoHandsTheLockOnWaitsBehindAllOthers() {
        acquire(A1, "X", 0, 1, 1);
        acquire(B1, "F", LEASE, 1, 1);
        acquire(C1, "F", LEASE, 1, 1);
        server.resetStatistics();
        assertThat(handOver())
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .startsWith("QUEUED")
                .endsWith(B1, LEASE);
        assertThat(server.calls("hmget")).isEqualTo(1);
        assertThat(server.calls("publish")).isEqualTo(1);
        assertThat(field("owner")).isEqualTo(B1);
        assertThat(field("queue")).matches("F" + C1 + ".{24}X" + A2 + "\\d{13}02000000017");
    }

    @Test
    void aCopyOfAnOldHandOverDoesNothing() {
        acquire(A1, "X", 0, 1, 1);
        acquire(B1, "F", LEASE, 1, 1);
        server.command("HSET", KEY, "previous", A2);
        assertThat(handOver())
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .first()
                .isEqualTo("NOT_HELD");
        assertThat(field("owner")).isEqualTo(A1);
        assertThat(field("queue")).startsWith("F" + B1).hasSize(45);
    }

    @Test
    void aTokenThatWasNeverReservedMovesNothing() {
        acquire(A1, "X", 0, 1, 1);
        acquire(B1, "F", LEASE, 1, 1);
        long ahead = calls.micros() + 60_000_000;
        server.command("HSET", KEY, "token", "" + ahead, "first", "" + ahead);
        number(release(A1, ahead + 1, 1));
        assertThat(field("first")).isEqualTo("" + (ahead + 1));
    }

    private @Nullable Object handOver() {
        long notAfter = calls.micros() / 1_000 + 2_000;
        return calls.run(LuaScript.HANDOVER, A1, 0, A2, "X", LEASE, LEASE, LEASE, 17, notAfter, "ch:", TOMBSTONE, 0);
    }

    /** Returns what stands in front of the whole script. */
    private static LuaScript usualCases(LuaScript script) {
        String source = script.source();
        int whole = source.indexOf("-- The lock record, shared by all scripts");
        assertThat(whole).isPositive();
        return new LuaScript("usual cases of " + script.name(), source.substring(0, whole), "", script.brief());
    }

    @Test
    void theUsualCasesOfAContendedLockNeedNothingElse() {
        acquire(A1, "X", 0, 1, 1);
        long now = calls.micros();
        List<Object> queue = List.of(B1, "X", LEASE, LEASE, LEASE, 1, now, now / 1_000 + 2_000, "ch:", TOMBSTONE, 0, 1);
        assertThat(calls.run(usualCases(LuaScript.ACQUIRE), queue.toArray()))
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .startsWith("QUEUED");
        number(calls.run(usualCases(LuaScript.RELEASE), A1, 0, 0, "ch:", TOMBSTONE, 1));
        acquire(C1, "X", LEASE, 1, 1);
        Object handedOver = calls.run(
                usualCases(LuaScript.HANDOVER),
                B1,
                0,
                A2,
                "X",
                LEASE,
                LEASE,
                LEASE,
                1,
                now / 1_000 + 2_000,
                "ch:",
                TOMBSTONE,
                0);
        assertThat(handedOver).asInstanceOf(InstanceOfAssertFactories.LIST).startsWith("QUEUED");
        assertThat(field("owner")).isEqualTo(C1);
    }

    @Test
    void theNextIsToldWhenTheLockIsFreeSoonerThanItMayThink() {
        acquire(A1, "X", 0, 1, 1);
        server.command("HSET", KEY, "until", "" + (calls.micros() / 1_000 + 10 * LEASE));
        acquire(B1, "F", LEASE, 1, 1);
        acquire(C1, "F", LEASE, 1, 1);
        server.resetStatistics();
        number(release(A1, 0, 1));
        assertExecuted(2, 2);
    }

    /** Nothing that is missing makes a script throw: it is left to the whole script, which knows what it stands for. */
    @ParameterizedTest
    @ValueSource(strings = {"queue", "first", "token", "until", "granted", "previous"})
    void aFieldThatIsMissingIsNoFault(String missing) {
        acquire(A1, "X", 0, 1, 1);
        acquire(B1, "F", LEASE, 1, 1);
        server.command("HDEL", KEY, missing);
        assertThat(acquire(C1, "F", LEASE, 1, 1))
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .isNotEmpty();
        server.command("HDEL", KEY, missing);
        assertThat(handOver()).asInstanceOf(InstanceOfAssertFactories.LIST).isNotEmpty();
        server.command("HDEL", KEY, missing);
        assertThat(release(C1, 0)).asInstanceOf(InstanceOfAssertFactories.LIST).isNotEmpty();
    }

    @Test
    void aNameIsToldWhole() {
        ScriptCalls odd = new ScriptCalls(server, "lockkeeper:lock:a\0b");
        try (RespConnection waiter = server.connect()) {
            waiter.command("SUBSCRIBE", "ch:clientBBBBBB");
            long now = calls.micros();
            for (String attempt : List.of(A1, B1)) {
                odd.run(
                        LuaScript.ACQUIRE,
                        attempt,
                        "X",
                        LEASE,
                        LEASE,
                        LEASE,
                        1,
                        now,
                        now / 1_000 + 2_000,
                        "ch:",
                        TOMBSTONE,
                        0);
            }
            odd.run(LuaScript.RELEASE, A1, 0, 0, "ch:", TOMBSTONE, 1);
            assertThat(String.valueOf(waiter.receive())).contains("lockkeeper:lock:a\0b");
        }
    }
}
