/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.testing.LockRecord;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What stands before a script for the cases that are frequent: that they need nothing else, and what they cost. */
class FastPathTest {

    private static final String A1 = "clientAAAAAA00000001";
    private static final String A2 = "clientAAAAAA00000002";
    private static final String B1 = "clientBBBBBB00000001";
    private static final String C1 = "clientCCCCCC00000001";
    private static final long LEASE = 20_000;
    private static final long ALIVE = 8_000;
    private static final LockScripts SCRIPTS = ScriptCalls.scripts(ALIVE, LEASE);
    private static RedisServer server;
    private static ScriptCalls calls;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
        calls = new ScriptCalls(server, "lockkeeper:lock:fast");
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    /** With what record.lua begins, which stands between the fast paths and the rest. */
    private static final String WHOLE = "local READER = ";

    @BeforeEach
    void clean() {
        server.command("FLUSHALL");
        server.resetStatistics();
    }

    /** Runs only what stands in front of the whole script, which gives nothing where that does not decide. */
    private static @Nullable Object fast(LuaScript script, Object... arguments) {
        String source = script.source();
        int whole = source.indexOf(WHOLE);
        assertThat(whole).isPositive();
        return calls.run(new LuaScript(script.name(), source.substring(0, whole), ""), arguments);
    }

    private static List<String> fast(List<String> keys, LuaScript script, String argument) {
        String source = script.source();
        List<String> command = new ArrayList<>(List.of("EVAL", source.substring(0, source.indexOf(WHOLE))));
        command.add("" + keys.size());
        command.addAll(keys);
        command.add(argument);
        return ScriptCalls.texts(server.command(command.toArray(String[]::new)));
    }

    private static List<String> acquire(String attempt, String mode, boolean waits) {
        return ScriptCalls.texts(
                fast(SCRIPTS.acquire(), ScriptCalls.acquisition(attempt, mode, LEASE, waits, 17, calls.micros())));
    }

    private static List<String> release(String attempt, long token) {
        return ScriptCalls.texts(fast(SCRIPTS.release(), ScriptCalls.ending(attempt, token)));
    }

    private static List<String> handOver(String attempt, String next) {
        return ScriptCalls.texts(
                fast(SCRIPTS.handOver(), ScriptCalls.handOver(attempt, 0, next, LEASE, 17, calls.micros())));
    }

    private static List<String> renew(String attempt) {
        return ScriptCalls.texts(fast(SCRIPTS.renew(), ScriptCalls.renewal(attempt, LEASE, false)));
    }

    private static void assertExecuted(int reads, int ends, int writes, int messages) {
        assertThat(server.calls("hget") + server.calls("hmget")).as("reads").isEqualTo(reads);
        assertThat(server.calls("pexpire")).as("pexpire").isEqualTo(ends);
        assertThat(server.calls("hset")).as("hset").isEqualTo(writes);
        assertThat(server.calls("publish")).as("publish").isEqualTo(messages);
        server.resetStatistics();
    }

    @Test
    void aPairOfAnUncontendedLock() {
        long token = Long.parseLong(acquire(A1, "X", true).get(0));
        assertExecuted(1, 1, 1, 0);
        assertThat(calls.record().token()).isEqualTo(token + 16);
        server.resetStatistics();
        assertThat(release(A1, token + 3)).hasSize(1);
        assertExecuted(2, 0, 1, 0);
        assertThat(calls.record().token()).as("what was not used goes back").isEqualTo(token + 3);
        assertThat(calls.record().previous()).isEqualTo(A1);
        server.resetStatistics();
        assertThat(acquire(B1, "F", true)).hasSize(1);
        assertExecuted(1, 1, 1, 0);
        release(B1, 0);
        assertThat(life()).as("longer than it must").isBetween(2 * LEASE + ScriptCalls.TOMBSTONE - 5_000, 70_000L);
        server.resetStatistics();
        assertThat(acquire(C1, "X", true)).hasSize(1);
        assertExecuted(1, 0, 1, 0);
        assertThat(handOver(C1, A2)).hasSize(1);
        assertExecuted(2, 0, 1, 0);
    }

    private static long life() {
        return (Long) Objects.requireNonNull(server.command("PTTL", calls.key()));
    }

    /** As if the time had passed until which the key needs no other end. */
    private static void spareNoMore() {
        LockRecord record = calls.record();
        if (record.owner().isEmpty()) {
            String lock = record.lock();
            server.command("HSET", calls.key(), "lock", lock.substring(0, 35) + "700000000" + lock.substring(44));
        } else {
            server.command("HSET", calls.key(), "hold", record.hold().substring(0, 54) + "700000000");
        }
        server.command("PEXPIRE", calls.key(), "" + (LEASE + ScriptCalls.TOMBSTONE));
    }

    @Test
    void aKeyThatWouldEndTooSoonIsProlonged() {
        acquire(A1, "X", true);
        release(A1, 0);
        acquire(A2, "X", true);
        release(A2, 0);
        spareNoMore();
        server.resetStatistics();
        assertThat(acquire(B1, "X", true)).hasSize(1);
        assertExecuted(1, 1, 1, 0);
        spareNoMore();
        server.resetStatistics();
        assertThat(renew(B1)).endsWith("1");
        assertExecuted(1, 1, 1, 0);
        assertThat(life()).isGreaterThan(LEASE + ScriptCalls.TOMBSTONE);
    }

    @Test
    void aLongerLeaseThanUsualGivesTheKeyItsOwnEnd() {
        acquire(A1, "X", true);
        release(A1, 0);
        acquire(A2, "X", true);
        release(A2, 0);
        server.resetStatistics();
        String asks = ScriptCalls.acquisition(B1, "X", 100 * LEASE, true, 1, calls.micros());
        assertThat(ScriptCalls.texts(fast(SCRIPTS.acquire(), asks))).hasSize(1);
        assertExecuted(1, 1, 1, 0);
        assertThat(life()).isGreaterThan(100 * LEASE);
        assertThat(ScriptCalls.texts(fast(SCRIPTS.renew(), ScriptCalls.renewal(B1, 200 * LEASE, false))))
                .endsWith("1");
        assertThat(life()).isGreaterThan(200 * LEASE);
        release(B1, 0);
        assertThat(life()).isLessThanOrEqualTo(ScriptCalls.TOMBSTONE);
        assertThat(acquire(C1, "X", true)).hasSize(1);
        assertThat(life()).isGreaterThanOrEqualTo(LEASE + ScriptCalls.TOMBSTONE);
    }

    /** A store with another lease does not rely on what this one has told of the key. */
    @Test
    void eachLeaseHasItsOwnLife() {
        acquire(A1, "X", true);
        release(A1, 0);
        acquire(A2, "X", true);
        release(A2, 0);
        LockScripts longer =
                LockScripts.of(3 * LEASE, ScriptCalls.TOMBSTONE, ALIVE, LEASE, RedisNames.bytes(ScriptCalls.CHANNELS));
        String asks = ScriptCalls.acquisition(B1, "X", 3 * LEASE, true, 1, calls.micros());
        assertThat(ScriptCalls.texts(fast(longer.acquire(), asks))).hasSize(1);
        assertThat(life()).isGreaterThanOrEqualTo(3 * LEASE + ScriptCalls.TOMBSTONE);
        assertThat(release(B1, 0)).as("our scripts").hasSize(1);
        assertThat(acquire(C1, "X", true)).hasSize(1);
    }

    @Test
    void aTokenThatIsNotTheTimeIsNamed() {
        acquire(A1, "X", true);
        release(A1, 0);
        long ahead = calls.micros() + 60_000_000;
        LockRecord.setToken(server, calls.key(), ahead);
        assertThat(acquire(B1, "X", true)).startsWith("ACQUIRED").endsWith("" + (ahead + 1));
        assertThat(calls.record().token()).isEqualTo(ahead + 17);
    }

    @Test
    void readersComeAndGo() {
        acquire(A1, "X", true);
        release(A1, 0);
        server.resetStatistics();
        assertThat(acquire(B1, "R", true)).startsWith("ACQUIRED");
        assertExecuted(1, 1, 1, 0);
        assertThat(acquire(C1, "R", true)).startsWith("ACQUIRED");
        assertExecuted(2, 0, 1, 0);
        assertThat(release(B1, 0)).hasSize(1);
        assertExecuted(2, 0, 1, 0);
        assertThat(release(C1, 0)).hasSize(1);
        assertThat(acquire(A2, "W", true)).hasSize(1);
    }

    @Test
    void aRecordThatHasLostItsReadersHasNone() {
        calls.acquire(B1, "R", LEASE, ALIVE, LEASE, 1, calls.micros());
        server.command("HDEL", calls.key(), "readers");
        assertThat(ScriptCalls.texts(calls.release(B1, 0, 0))).startsWith("NOT_HELD");
    }

    @Test
    void aPlaceIsWrittenWhenLittleOfItsTimeIsLeft() {
        acquire(A1, "X", true);
        server.resetStatistics();
        assertThat(acquire(B1, "F", true)).startsWith("QUEUED").contains(A1);
        assertExecuted(2, 0, 1, 0);
        assertThat(acquire(B1, "F", true)).startsWith("QUEUED").contains(A1);
        assertExecuted(4, 0, 0, 0);
        // As if a good deal of the time had passed
        String place = Objects.requireNonNull(server.field(calls.key(), "1"));
        long sooner = Long.parseLong(place.substring(21, 34)) - ALIVE / 2;
        server.command("HSET", calls.key(), "1", place.substring(0, 21) + sooner + place.substring(34));
        server.resetStatistics();
        assertThat(acquire(B1, "F", true)).startsWith("QUEUED");
        assertExecuted(4, 0, 1, 0);
        assertThat(calls.record().waiting()).isEqualTo(1);
    }

    @Test
    void theFirstWhoWaitsIsGivenTheLock() {
        acquire(A1, "X", true);
        acquire(B1, "F", true);
        acquire(C1, "X", true);
        server.resetStatistics();
        long released = Long.parseLong(release(A1, 0).get(0));
        assertExecuted(3, 1, 1, 1);
        assertThat(calls.record().owner()).isEqualTo(B1);
        assertThat(calls.record().state()).isEqualTo('G');
        assertThat(calls.record().until()).isEqualTo(released / 1_000 + LEASE);
        assertThat(renew(B1)).as("a grant is confirmed").endsWith("1");
        assertThat(calls.record().state()).isEqualTo('H');
    }

    @Test
    void whoHandsTheLockOnWaitsBehindAllOthers() {
        acquire(A1, "X", true);
        assertThat(handOver(A1, A2)).as("no other waits").hasSize(1);
        acquire(B1, "F", true);
        acquire(C1, "F", true);
        server.resetStatistics();
        assertThat(handOver(A2, A1.replace('1', '3'))).startsWith("QUEUED").contains(B1);
        assertExecuted(3, 0, 1, 1);
        assertThat(calls.record().owner()).isEqualTo(B1);
        assertThat(calls.record().waiting()).isEqualTo(2);
    }

    @Test
    void aRenewalMovesNothingButTheEnd() {
        acquire(A1, "X", true);
        LockRecord before = calls.record();
        server.resetStatistics();
        assertThat(renew(A1)).endsWith("1");
        assertExecuted(1, 1, 1, 0);
        assertThat(renew(A1)).endsWith("1");
        assertExecuted(1, 0, 1, 0);
        assertThat(calls.record().until()).isGreaterThanOrEqualTo(before.until());
        assertThat(calls.record().lock()).isEqualTo(before.lock());
        assertThat(calls.record().hold()).startsWith(before.hold().substring(0, 37));
    }

    @Test
    void severalNamesThatAreFree() {
        List<String> keys = List.of("lockkeeper:lock:one", "lockkeeper:lock:two");
        for (String mode : List.of("X", "F", "W")) {
            String me = mode + A1.substring(1);
            String asks = ScriptCalls.acquisition(me, mode, LEASE, true, 1, calls.micros());
            assertThat(fast(keys, SCRIPTS.acquire(), asks))
                    .startsWith("ACQUIRED")
                    .hasSize(5);
            keys.forEach(key -> assertThat(server.owner(key)).isEqualTo(me));
            assertThat(fast(keys, SCRIPTS.acquire(), asks)).as("a copy").isEmpty();
            assertThat(fast(keys, SCRIPTS.release(), ScriptCalls.ending(me, 0))).hasSize(1);
            keys.forEach(key -> assertThat(server.owner(key)).isEmpty());
            assertThat(fast(keys, SCRIPTS.acquire(), asks)).as("an old copy").isEmpty();
        }
    }

    @Test
    void ofSeveralNamesAllAreTakenOrNone() {
        List<String> keys = List.of("lockkeeper:lock:one", calls.key());
        acquire(A1, "X", true);
        String asks = ScriptCalls.acquisition(B1, "X", LEASE, true, 1, calls.micros());
        assertThat(fast(keys, SCRIPTS.acquire(), asks)).isEmpty();
        assertThat(server.command("EXISTS", keys.get(0))).isEqualTo(0L);
        assertThat(fast(keys, SCRIPTS.release(), ScriptCalls.ending(A1, 0))).isEmpty();
        assertThat(calls.record().owner()).isEqualTo(A1);
    }

    /** What is the same in all calls is part of the scripts' text, and must not be taken for anything else there. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "'",
                "\"",
                "\\",
                "\n",
                "\r\n",
                "]]",
                "\0",
                "]=]--",
                "${lease}",
                "%s \\1",
                "ä€𝄞",
                "' .. os.exit() .. '"
            })
    void anyPrefixOfChannelsIsWhole(String prefix) {
        LockScripts scripts = LockScripts.of(LEASE, LEASE, ALIVE, LEASE, RedisNames.bytes(prefix));
        try (RespConnection waiter = server.connect()) {
            waiter.command("SUBSCRIBE", prefix + "clientBBBBBB");
            for (String attempt : List.of(A1, B1)) {
                calls.run(scripts.acquire(), ScriptCalls.acquisition(attempt, "X", LEASE, true, 1, calls.micros()));
            }
            calls.run(scripts.release(), ScriptCalls.ending(A1, 0));
            assertThat(String.valueOf(waiter.receive())).contains("grant " + B1);
        }
    }

    @Test
    void digitsAreThoseOfRedisInEachLocale() {
        byte[] prefix = RedisNames.bytes("my_app:");
        Locale usual = Locale.getDefault();
        try {
            Locale.setDefault(Locale.ROOT);
            LockScripts expected = LockScripts.of(LEASE, LEASE, ALIVE, LEASE, prefix);
            Locale.setDefault(Locale.forLanguageTag("ar-EG"));
            assertThat(String.format("%d", 1))
                    .as("a locale with digits of its own")
                    .isNotEqualTo("1");
            assertThat(LockScripts.of(LEASE, LEASE, ALIVE, LEASE, prefix).all())
                    .extracting(LuaScript::source)
                    .containsExactlyElementsOf(
                            expected.all().stream().map(LuaScript::source).toList());
        } finally {
            Locale.setDefault(usual);
        }
    }

    @Test
    void aNameIsToldWhole() {
        ScriptCalls odd = new ScriptCalls(server, "lockkeeper:lock:a\0b ]] \"'\\");
        try (RespConnection waiter = server.connect()) {
            waiter.command("SUBSCRIBE", ScriptCalls.CHANNELS + "clientBBBBBB");
            for (String attempt : List.of(A1, B1)) {
                odd.acquire(attempt, "X", LEASE, LEASE, LEASE, 1, calls.micros());
            }
            odd.release(A1, 0, 0);
            assertThat(String.valueOf(waiter.receive())).contains(odd.key());
        }
    }
}
