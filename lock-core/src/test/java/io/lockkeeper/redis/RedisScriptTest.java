/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.testing.RedisServer;
import java.util.List;
import java.util.Objects;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The scripts themselves, in states that are rare: lapsed holds, dead waiters, copies of commands, foreign keys. */
class RedisScriptTest {

    private static final String A1 = "clientAAAAAA00000001";
    private static final String A2 = "clientAAAAAA00000002";
    private static final String B1 = "clientBBBBBB00000001";
    private static final String C1 = "clientCCCCCC00000001";
    private static final long LONG = 60_000;
    private static final long SHORT = 20;

    private static RedisServer server;

    private final String key = "script:lock:" + System.nanoTime();

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @BeforeEach
    void clean() {
        server.command("FLUSHALL");
    }

    private List<String> run(LuaScript script, Object... arguments) {
        return ((List<?>) Objects.requireNonNull(new ScriptCalls(server, key).run(script, arguments)))
                .stream().map(String::valueOf).toList();
    }

    private long now() {
        return new ScriptCalls(server, key).micros() / 1_000;
    }

    private List<String> acquire(String attempt, long lease, long alive, long grant) {
        return acquire(attempt, lease, alive, grant, now());
    }

    private List<String> acquire(String attempt, long lease, long alive, long grant, long sent) {
        return run(
                LuaScript.ACQUIRE, attempt, "X", lease, alive, grant, 3, 1_000 * sent, sent + 2_000, "ch:", 30_000, 0);
    }

    private List<String> release(String attempt, long lastToken) {
        return run(LuaScript.RELEASE, attempt, lastToken, 0, "ch:", 30_000);
    }

    private List<String> handOver(String attempt, long lastToken, String next) {
        return run(
                LuaScript.HANDOVER,
                attempt,
                lastToken,
                next,
                "X",
                LONG,
                LONG,
                LONG,
                3,
                now() + 2_000,
                "ch:",
                30_000,
                0);
    }

    private void awaitPast(long millis) {
        long end = now() + millis;
        Awaitility.await().until(() -> now() > end);
    }

    private String owner() {
        return String.valueOf(server.field(key, "owner"));
    }

    @Test
    void anAcquireIsIdempotentAndRefreshesTheLease() {
        List<String> first = acquire(A1, 1_000, 0, LONG);
        String until = server.field(key, "until");
        awaitPast(2);
        List<String> again = acquire(A1, 1_000, 0, LONG);
        assertThat(first.get(0)).isEqualTo("ACQUIRED");
        assertThat(again.get(3)).isEqualTo(first.get(3));
        assertThat(Long.parseLong(Objects.requireNonNull(server.field(key, "until"))))
                .isGreaterThan(Long.parseLong(Objects.requireNonNull(until)));
    }

    @Test
    void waitersAreServedInTheOrderOfTheirFirstCommand() {
        acquire(A1, LONG, 0, LONG);
        assertThat(acquire(B1, LONG, LONG, LONG).get(0)).isEqualTo("QUEUED");
        assertThat(acquire(C1, LONG, LONG, LONG).get(0)).isEqualTo("QUEUED");
        assertThat(acquire(B1, LONG, LONG, LONG).subList(0, 1)).containsExactly("QUEUED");
        assertThat(release(A1, 0).get(0)).isEqualTo("RELEASED");
        assertThat(owner()).isEqualTo(B1);
        assertThat(release(A1, 0).get(0)).isEqualTo("ALREADY");
        assertThat(release(B1, 0).get(0)).isEqualTo("RELEASED");
        assertThat(owner()).isEqualTo(C1);
        assertThat(server.field(key, "queue")).isEmpty();
    }

    @Test
    void aNewcomerNeverOvertakesTheQueueOfALapsedHold() {
        acquire(A1, SHORT, 0, LONG);
        acquire(B1, LONG, LONG, LONG);
        awaitPast(SHORT);
        assertThat(acquire(C1, LONG, 0, LONG).get(0)).isEqualTo("BUSY");
        assertThat(owner()).isEqualTo(B1);
    }

    @Test
    void aLapsedGrantTakesAllWaitersOfItsClientOutOfTheQueue() {
        acquire(C1, LONG, 0, LONG);
        acquire(A1, LONG, LONG, SHORT);
        acquire(A2, LONG, LONG, SHORT);
        acquire(B1, LONG, LONG, LONG);
        release(C1, 0);
        assertThat(owner()).isEqualTo(A1);
        awaitPast(SHORT);
        assertThat(acquire(B1, LONG, LONG, LONG).get(0)).isEqualTo("ACQUIRED");
        assertThat(server.field(key, "queue")).isEmpty();
    }

    @Test
    void waitersThatDoNotPollAreSkipped() {
        acquire(C1, LONG, 0, LONG);
        acquire(A1, LONG, SHORT, LONG);
        acquire(B1, LONG, LONG, LONG);
        awaitPast(SHORT);
        release(C1, 0);
        assertThat(owner()).isEqualTo(B1);
    }

    @Test
    void aLapsedHoldCanNeitherBeRenewedNorKeptFromOthers() {
        acquire(A1, SHORT, 0, LONG);
        awaitPast(SHORT);
        assertThat(run(LuaScript.RENEW, 30_000, A1, LONG, 0, 0).get(1)).isEqualTo("0");
        assertThat(run(LuaScript.INSPECT).get(0)).isEqualTo("FREE");
        assertThat(acquire(B1, LONG, 0, LONG).get(0)).isEqualTo("ACQUIRED");
        assertThat(run(LuaScript.RENEW, 30_000, A1, LONG, 0, 0).get(1)).isEqualTo("0");
        assertThat(run(LuaScript.RENEW, 30_000, B1, LONG, 0, 0).get(1)).isEqualTo("1");
        assertThat(release(A1, 0).get(0)).isEqualTo("NOT_HELD");
    }

    @Test
    void aRenewalNeverShortensALaterEndButAnExtensionDoes() {
        acquire(A1, LONG, 0, LONG);
        run(LuaScript.RENEW, 30_000, A1, 2 * LONG, 1, 0);
        run(LuaScript.RENEW, 30_000, A1, LONG, 0, 0);
        assertThat(remaining()).isGreaterThan(LONG + LONG / 2);
        acquire(A1, LONG, 0, LONG);
        assertThat(remaining()).isGreaterThan(LONG + LONG / 2);
        run(LuaScript.RENEW, 30_000, A1, LONG, 1, 0);
        assertThat(remaining()).isLessThanOrEqualTo(LONG);
    }

    private long remaining() {
        return Long.parseLong(run(LuaScript.INSPECT).get(4));
    }

    @Test
    void aHashOfSomebodyElseIsLeftAlone() {
        server.command("HSET", key, "customer", "4711");
        assertThat(acquire(A1, LONG, LONG, LONG).get(0)).isEqualTo("FOREIGN");
        assertThat(server.command("HLEN", key)).isEqualTo(1L);
    }

    @Test
    void theLongestTimesAndTheLargestReservationFitIntoTheLists() {
        long endless = 20_000_000_000_000L;
        run(LuaScript.ACQUIRE, C1, "R", endless, 0, LONG, 1, 1_000 * now(), now() + 2_000, "ch:", 30_000, 0);
        run(LuaScript.ACQUIRE, A1, "X", LONG, endless, endless, 10_000, 1_000 * now(), now() + 2_000, "ch:", 30_000, 0);
        acquire(B1, LONG, LONG, LONG);
        release(C1, 0);
        assertThat(owner()).isEqualTo(A1);
        release(A1, 0);
        assertThat(owner()).isEqualTo(B1);
    }

    @Test
    void tokensAreReservedWrittenBackAndNeverFall() {
        long first = Long.parseLong(acquire(A1, LONG, 0, LONG).get(3));
        assertThat(server.field(key, "token")).isEqualTo("" + (first + 2));
        release(A1, first);
        assertThat(server.field(key, "token")).isEqualTo("" + first);
        // A clock that went back: the record's token counts.
        server.command("HSET", key, "token", "9000000000000000", "since", "0");
        assertThat(acquire(B1, LONG, 0, LONG).get(3)).isEqualTo("9000000000000001");
    }

    @Test
    void aHandOverServesOthersFirstAndIsIdempotent() {
        long first = Long.parseLong(acquire(A1, LONG, 0, LONG).get(3));
        List<String> kept = handOver(A1, first + 1, A2);
        assertThat(kept.get(0)).isEqualTo("ACQUIRED");
        assertThat(Long.parseLong(kept.get(3))).isGreaterThan(first + 1);
        assertThat(handOver(A1, first + 1, A2).subList(0, 1)).containsExactly("ACQUIRED");
        acquire(B1, LONG, LONG, LONG);
        String next = A1.replace('1', '3');
        assertThat(handOver(A2, Long.parseLong(kept.get(3)), next).get(0)).isEqualTo("QUEUED");
        assertThat(owner()).isEqualTo(B1);
        assertThat(handOver(A2, Long.parseLong(kept.get(3)), next).get(0)).isEqualTo("QUEUED");
        assertThat(handOver(C1, 5, C1.replace('1', '2')).get(0)).isEqualTo("NOT_HELD");
    }

    @Test
    void copiesOfOldCommandsHoldALockForTheCommandTimeoutAtMost() {
        long sent = now();
        acquire(A1, LONG, 0, LONG, sent);
        release(A1, 0);
        assertThat(acquire(A1, LONG, 0, LONG, sent).get(0)).isEqualTo("ENDED");
        awaitPast(2);
        acquire(B1, LONG, 0, LONG);
        release(B1, 0);
        assertThat(acquire(A1, LONG, 0, LONG, sent - 5_000).get(0)).isEqualTo("LATE");
        assertThat(acquire(A1, LONG, 0, LONG, sent - 1_500).get(0)).isEqualTo("LATE");
        assertThat(owner()).isEmpty();
        assertThat(acquire(A1, LONG, 0, LONG, sent).get(0)).isEqualTo("ACQUIRED");
        assertThat(remaining()).isBetween(1L, 2_000L);
    }

    @Test
    void keysOfOthersAreLeftAlone() {
        server.command("SET", key, "something else");
        assertThat(acquire(A1, LONG, LONG, LONG).get(0)).isEqualTo("FOREIGN");
        assertThat(release(A1, 0).get(0)).isEqualTo("FOREIGN");
        assertThat(handOver(A1, 1, A2).get(0)).isEqualTo("FOREIGN");
        assertThat(run(LuaScript.INSPECT).get(0)).isEqualTo("FOREIGN");
        assertThat(run(LuaScript.RENEW, 30_000, A1, LONG, 0, 0).get(1)).isEqualTo("0");
        assertThat(server.command("GET", key)).isEqualTo("something else");
        server.command("DEL", key);
        server.command("HSET", key, "version", "2", "owner", "x");
        assertThat(acquire(A1, LONG, LONG, LONG).get(0)).isEqualTo("FOREIGN");
    }

    private List<String> revoke(String request) {
        return run(LuaScript.REVOKE, "ch:", 30_000, request);
    }

    @Test
    void aCopyOfARevocationTakesNothingFromWhoeverHoldsTheLockNext() {
        acquire(A1, LONG, 0, LONG);
        acquire(B1, LONG, LONG, LONG);
        assertThat(revoke("request 1")).startsWith("REVOKED");
        assertThat(owner()).isEqualTo(B1);

        assertThat(revoke("request 1")).startsWith("REVOKED");

        assertThat(owner()).isEqualTo(B1);
        assertThat(revoke("request 2")).startsWith("REVOKED");
        assertThat(owner()).isEmpty();
    }

    @Test
    void aCopyOfARevocationThatFoundNobodyFindsNobody() {
        acquire(A1, LONG, 0, LONG);
        release(A1, 0);
        assertThat(revoke("request 1")).startsWith("FREE");
        acquire(B1, LONG, 0, LONG);

        assertThat(revoke("request 1")).startsWith("FREE");

        assertThat(owner()).isEqualTo(B1);
    }
}
