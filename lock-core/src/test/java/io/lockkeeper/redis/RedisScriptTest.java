/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.testing.LockRecord;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.util.List;
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

    private ScriptCalls calls() {
        return new ScriptCalls(server, key);
    }

    private List<String> run(LuaScript script, Object... arguments) {
        return ScriptCalls.texts(calls().run(script, arguments));
    }

    private long now() {
        return calls().micros() / 1_000;
    }

    private List<String> acquire(String attempt, long lease, long alive, long grant) {
        return acquire(attempt, lease, alive, grant, now());
    }

    /** A reply that is the time alone stands for the usual one. */
    private List<String> acquire(String attempt, long lease, long alive, long grant, long sent) {
        return whole(ScriptCalls.texts(calls().acquire(attempt, "X", lease, alive, grant, 3, 1_000 * sent)), lease);
    }

    private static List<String> whole(List<String> reply, long lease) {
        return reply.size() == 1 ? List.of("ACQUIRED", reply.get(0), "" + lease, reply.get(0)) : reply;
    }

    private List<String> release(String attempt, long lastToken) {
        List<String> reply = ScriptCalls.texts(calls().release(attempt, lastToken, 0));
        return reply.size() == 1 ? List.of("RELEASED", reply.get(0)) : reply;
    }

    private List<String> handOver(String attempt, long lastToken, String next) {
        return whole(ScriptCalls.texts(calls().handOver(attempt, lastToken, next, LONG, 3)), LONG);
    }

    private String renew(String attempt, long lease, boolean exact) {
        return ScriptCalls.texts(calls().renew(attempt, lease, exact)).get(1);
    }

    private void awaitPast(long millis) {
        long end = now() + millis;
        Awaitility.await().until(() -> now() > end);
    }

    private String owner() {
        return String.valueOf(server.owner(key));
    }

    @Test
    void anAcquireIsIdempotentAndRefreshesTheLease() {
        List<String> first = acquire(A1, 1_000, 0, LONG);
        long until = calls().record().until();
        awaitPast(2);
        List<String> again = acquire(A1, 1_000, 0, LONG);
        assertThat(first.get(0)).isEqualTo("ACQUIRED");
        assertThat(again.get(3)).isEqualTo(first.get(3));
        assertThat(calls().record().until()).isGreaterThan(until);
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
        assertThat(server.waiting(key)).isZero();
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
        assertThat(server.waiting(key)).isZero();
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
        assertThat(renew(A1, LONG, false)).isEqualTo("0");
        assertThat(run(ScriptCalls.scripts(0, 0).inspect()).get(0)).isEqualTo("FREE");
        assertThat(acquire(B1, LONG, 0, LONG).get(0)).isEqualTo("ACQUIRED");
        assertThat(renew(A1, LONG, false)).isEqualTo("0");
        assertThat(renew(B1, LONG, false)).isEqualTo("1");
        assertThat(release(A1, 0).get(0)).isEqualTo("NOT_HELD");
    }

    @Test
    void aRenewalNeverShortensALaterEndButAnExtensionDoes() {
        acquire(A1, LONG, 0, LONG);
        renew(A1, 2 * LONG, true);
        renew(A1, LONG, false);
        assertThat(remaining()).isGreaterThan(LONG + LONG / 2);
        acquire(A1, LONG, 0, LONG);
        assertThat(remaining()).isGreaterThan(LONG + LONG / 2);
        renew(A1, LONG, true);
        assertThat(remaining()).isLessThanOrEqualTo(LONG);
    }

    private long remaining() {
        return Long.parseLong(run(ScriptCalls.scripts(0, 0).inspect()).get(4));
    }

    @Test
    void aHashOfSomebodyElseIsLeftAlone() {
        server.command("HSET", key, "customer", "4711");
        assertThat(acquire(A1, LONG, LONG, LONG).get(0)).isEqualTo("FOREIGN");
        assertThat(server.command("HLEN", key)).isEqualTo(1L);
    }

    @Test
    void theLongestTimesAndTheLargestReservationFitIntoTheLists() {
        long endless = 9_999_999_999_999L;
        calls().acquire(C1, "R", endless, 0, LONG, 1, 1_000 * now());
        calls().acquire(A1, "X", LONG, endless, endless, 10_000, 1_000 * now());
        acquire(B1, LONG, LONG, LONG);
        release(C1, 0);
        assertThat(owner()).isEqualTo(A1);
        release(A1, 0);
        assertThat(owner()).isEqualTo(B1);
    }

    @Test
    void tokensAreReservedWrittenBackAndNeverFall() {
        long first = Long.parseLong(acquire(A1, LONG, 0, LONG).get(3));
        assertThat(calls().record().token()).isEqualTo(first + 2);
        release(A1, first);
        assertThat(calls().record().token()).isEqualTo(first);
        // A clock that went back: the record's token counts.
        LockRecord.setToken(server, key, 9_000_000_000_000_000L);
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
        assertThat(run(ScriptCalls.scripts(0, 0).inspect()).get(0)).isEqualTo("FOREIGN");
        assertThat(renew(A1, LONG, false)).isEqualTo("0");
        assertThat(server.command("GET", key)).isEqualTo("something else");
        server.command("DEL", key);
        server.command("HSET", key, "lock", "5 X");
        assertThat(acquire(A1, LONG, LONG, LONG).get(0)).isEqualTo("FOREIGN");
    }

    private List<String> revoke(String request) {
        return run(ScriptCalls.scripts(0, 0).revoke(), request, String.format("%016d", calls().micros() + 2_000_000));
    }

    @Test
    void aCopyOfARevocationTakesNothingFromWhoeverHoldsTheLockNext() {
        acquire(A1, LONG, 0, LONG);
        acquire(B1, LONG, LONG, LONG);
        assertThat(revoke("request1")).startsWith("REVOKED");
        assertThat(owner()).isEqualTo(B1);

        assertThat(revoke("request1")).startsWith("REVOKED");

        assertThat(owner()).isEqualTo(B1);
        assertThat(revoke("request2")).startsWith("REVOKED");
        assertThat(owner()).isEmpty();
    }

    @Test
    void aCopyOfARevocationThatFoundNobodyFindsNobody() {
        acquire(A1, LONG, 0, LONG);
        release(A1, 0);
        assertThat(revoke("request1")).startsWith("FREE");
        acquire(B1, LONG, 0, LONG);

        assertThat(revoke("request1")).startsWith("FREE");

        assertThat(owner()).isEqualTo(B1);
    }

    @Test
    void aCopyOfAnOlderRevocationTakesNothingFromThePresentHolder() {
        acquire(A1, LONG, 0, LONG);
        assertThat(revoke("request1")).startsWith("REVOKED");
        acquire(B1, LONG, 0, LONG);
        assertThat(revoke("request2")).startsWith("REVOKED");
        acquire(C1, LONG, 0, LONG);
        assertThat(revoke("request1")).startsWith("REVOKED");
        assertThat(owner()).isEqualTo(C1);
        assertThat(run(ScriptCalls.scripts(0, 0).revoke(), "request3", String.format("%016d", calls().micros())))
                .as("too late")
                .startsWith("LATE");
        assertThat(owner()).isEqualTo(C1);
    }

    @Test
    void aCopyOfARevocationOfAnUnknownLockFindsNobody() {
        assertThat(revoke("request1")).startsWith("FREE");
        acquire(A1, LONG, 0, LONG);
        assertThat(revoke("request1")).startsWith("FREE");
        assertThat(owner()).isEqualTo(A1);
    }

    @Test
    void aHoldThatWasTakenAwayWasNotReleased() {
        acquire(A1, LONG, 0, LONG);
        revoke("request1");
        assertThat(release(A1, 0)).startsWith("NOT_HELD");
        assertThat(acquire(A1, LONG, 0, LONG)).as("a copy").startsWith("ENDED");
        acquire(B1, LONG, 0, LONG);
        assertThat(release(A1, 0)).startsWith("NOT_HELD");
        assertThat(owner()).isEqualTo(B1);
    }

    /** An older ACL line lacks the right to list the fields of a record. */
    @Test
    void aQueueIsDroppedWithoutTheRightToListItsFields() {
        server.command("ACL", "SETUSER", "old", "on", ">secret", "~*", "&*", "+@all", "-hkeys");
        try (RespConnection old = server.connect()) {
            old.command("AUTH", "old", "secret");
            ScriptCalls calls = new ScriptCalls(server, key, old::command);
            acquire(A1, LONG, 0, LONG);
            acquire(B1, LONG, 1, LONG);
            long token = calls.record().token();

            assertThat(ScriptCalls.texts(calls.release(A1, 0, 0)).get(0)).isEqualTo("RELEASED");

            assertThat(calls.record().owner()).isEmpty();
            assertThat(calls.record().waiting()).isZero();
            assertThat(calls.record().token()).isEqualTo(token);
            assertThat(server.command("HLEN", key)).isEqualTo(2L);
            assertThat(server.command("PTTL", key)).isNotEqualTo(-1L);
        }
    }
}
