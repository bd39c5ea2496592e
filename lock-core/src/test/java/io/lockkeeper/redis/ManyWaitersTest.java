/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.testing.LockRecord;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What thousands of waiters of one lock cost Redis, which answers no other client while a script runs: no more than ten
 * do. Measured by what Redis says of its commands; the least of several runs, because other processes of the machine
 * add to it.
 */
class ManyWaitersTest {

    private static final String HOLDER = "holderAAAAAA00000001";
    private static final String OTHER = "otherBBBBBBB00000001";
    private static final int FEW = 10;
    private static final int MANY = 10_000;
    private static final int REPETITIONS = 40;
    private static final int PASSED = 32;
    private static final int GRANTED = 64;
    /** Of so many places, marks of clients counted among them, a status tells who waits. */
    private static final int LOOKED_AT = 600;

    private static final long LONG = 600_000;
    private static final int MOST_AGAIN = 4;
    private static final int MOST_RUNS = 40;
    private static final double MOST_GROWTH = 1.5;
    /** Redis counts whole microseconds. */
    private static final long GRAIN = 2;

    private static final LockScripts SCRIPTS = ScriptCalls.scripts(LONG, LONG);
    private static RedisServer server;
    private static RespConnection connection;
    private static ScriptCalls calls;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
        connection = new RespConnection(server.host(), server.port(), Duration.ofMinutes(1));
        calls = new ScriptCalls(server, "lockkeeper:lock:many");
    }

    @AfterAll
    static void stopServer() {
        connection.close();
        server.close();
    }

    @BeforeEach
    void clean() {
        connection.command("FLUSHALL");
    }

    @Test
    void nothingCostsMoreWithManyWaitersThanWithTen() {
        for (int waiters : List.of(100, 250, 600, MANY)) {
            costsNoMore(() -> costs(waiters), () -> costs(FEW), waiters + " waiters");
        }
    }

    /**
     * Compares what was measured side by side, as often as something seems to cost more: what shares the processor
     * slows one of the two for seconds, and what really costs more does so every time.
     */
    private static void costsNoMore(
            Supplier<Map<String, Long>> measured, Supplier<Map<String, Long>> plain, String what) {
        Map<String, String> dearer = Map.of();
        for (int again = 0; again <= MOST_AGAIN && (again == 0 || !dearer.isEmpty()); again++) {
            Map<String, Long> least = plain.get();
            Map<String, String> now = new TreeMap<>();
            measured.get().forEach((command, micros) -> {
                long most = command.equals("status") ? 2_000 : most(Objects.requireNonNull(least.get(command)));
                if (micros > most) {
                    now.put(command, micros + " us, at most " + most);
                }
            });
            if (again > 0) {
                now.keySet().retainAll(dearer.keySet());
            }
            dearer = now;
        }
        assertThat(dearer).as(what).isEmpty();
    }

    private static long most(long least) {
        return Math.min(1_000, (long) (least * MOST_GROWTH) + GRAIN);
    }

    /** Returns the least time of each command, us. */
    private Map<String, Long> costs(int waiters) {
        clean();
        acquire(HOLDER, "X", 0, LONG);
        waiting(waiters, "F", LONG, LONG, i -> attempt(i, 1));
        Map<String, Long> least = new TreeMap<>();
        String holder = HOLDER;
        for (int i = 0; i < REPETITIONS; i++) {
            String newcomer = attempt(waiters + i, 2);
            String another = i == 0 ? attempt(waiters - 1, 1) : attempt(waiters + i - 1, 4);
            least.merge("place", micros(SCRIPTS.acquire(), asking(newcomer, "F", true)), Math::min);
            least.merge("poll", micros(SCRIPTS.acquire(), asking(newcomer, "F", true)), Math::min);
            least.merge("poll of another", micros(SCRIPTS.acquire(), asking(another, "F", true)), Math::min);
            least.merge("try", micros(SCRIPTS.acquire(), asking(OTHER, "F", false)), Math::min);
            least.merge("status", micros(SCRIPTS.inspect()), Math::min);
            least.merge("leaving", micros(SCRIPTS.release(), leaving(newcomer)), Math::min);
            least.merge("release", micros(SCRIPTS.release(), leaving(holder)), Math::min);
            String next = attempt(waiters + i, 3);
            String owner = calls.record().owner();
            least.merge("hand-over", micros(SCRIPTS.handOver(), handingOver(owner, next)), Math::min);
            holder = calls.record().owner();
            assertThat(calls.record().waiting()).isEqualTo(waiters - 1);
            acquire(attempt(waiters + i, 4), "F", LONG, LONG);
        }
        return least;
    }

    @Test
    void aStatusTellsTheFirstHundredAndTheNumberOfAll() {
        acquire(HOLDER, "X", 0, LONG);
        waiting(MANY, "F", LONG, LONG, i -> attempt(i, 1));
        List<String> status = run(SCRIPTS.inspect());
        assertThat(status.get(6))
                .asString()
                .hasSize(2_000)
                .startsWith(attempt(0, 1))
                .endsWith(attempt(99, 1));
        assertThat(status.get(7)).isEqualTo("" + MANY);
    }

    @Test
    void aStatusFindsWaitersBehindThoseWhoGaveUp() {
        acquire(HOLDER, "X", 0, LONG);
        waiting(LOOKED_AT - 1, "F", LONG, LONG, waiter -> attempt(waiter, 1));
        for (int leaver = 1; leaver < LOOKED_AT - 2; leaver++) {
            run(SCRIPTS.release(), leaving(attempt(leaver, 1)));
        }
        assertThat(leastOfAStatus()).isLessThan(2_000);
        assertThat(connectionReply.get(6)).isEqualTo(attempt(0, 1) + attempt(LOOKED_AT - 2, 1));
        assertThat(connectionReply.get(7)).isEqualTo("2");
    }

    @Test
    void aStatusFindsTheWaiterBehindAClientThatIsGone() {
        acquire(HOLDER, "X", 0, LONG);
        waiting(LOOKED_AT - 1, "F", LONG, 1, waiter -> attempt(0, waiter));
        acquire(attempt(1, 0), "F", LONG, LONG);
        run(SCRIPTS.release(), leaving(HOLDER));
        letTimePass();
        acquire(OTHER, "X", 0, LONG);
        assertThat(leastOfAStatus()).isLessThan(2_000);
        assertThat(connectionReply.get(6)).isEqualTo(attempt(1, 0));
    }

    /** Behind them wait an attempt of a client that came back, and one of another client. */
    private void waitersOfClientsThatAreGone(int gone) {
        acquire(HOLDER, "X", 0, LONG);
        waiting(gone, "F", LONG, LONG, i -> attempt(i, 1));
        acquire(attempt(0, 2), "F", LONG, LONG);
        acquire(attempt(MANY, 7), "F", LONG, LONG);
        // As if a grant to each of them had not been confirmed.
        List<String> marks = new ArrayList<>(List.of("HSET", calls.key()));
        IntStream.range(0, gone).forEach(i -> marks.addAll(List.of(attempt(i, 1).substring(0, 12), "" + (gone + 1))));
        String lock = field("lock");
        marks.addAll(List.of("lock", lock.substring(0, lock.length() - 1) + "1"));
        connection.command(marks.toArray(String[]::new));
    }

    @Test
    void aStatusReadsTheMarksOfManyClientsTogether() {
        waitersOfClientsThatAreGone(LOOKED_AT / 2 - 50);
        load(SCRIPTS.inspect());
        connection.command("CONFIG", "RESETSTAT");

        List<String> status = run(SCRIPTS.inspect());

        assertThat(status.get(6)).isEqualTo(attempt(0, 2) + attempt(MANY, 7));
        assertThat(status.get(7)).isEqualTo("2");
        String statistics = String.valueOf(connection.command("INFO", "commandstats"));
        // The record, two pages of places, and the marks of each page.
        assertThat(statistics).contains("cmdstat_hmget:calls=5,").doesNotContain("cmdstat_hget:");
    }

    @Test
    void theMarksOfManyClientsMakeAStatusNoLonger() {
        waitersOfClientsThatAreGone(LOOKED_AT - 50);
        assertThat(leastOfAStatus()).isLessThan(2_000);
        assertThat(connectionReply.get(7)).as("all, also those not looked at").isEqualTo("" + (LOOKED_AT - 50 + 2));
        String statistics = String.valueOf(connection.command("INFO", "commandstats"));
        assertThat(statistics).as("two pages of places, and their marks").contains("cmdstat_hmget:calls=5,");
    }

    @Test
    void aStatusTellsNothingOfWaitersThatAllDied() {
        acquire(HOLDER, "X", 0, LONG);
        waiting(250, "F", 1, LONG, i -> attempt(i, 1));
        letTimePass();
        List<String> status = run(SCRIPTS.inspect());
        assertThat(status.get(5)).isEqualTo(HOLDER);
        assertThat(status.get(7)).isEqualTo("0");
    }

    private long leastOfAStatus() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < MOST_RUNS && least >= 2_000; i++) {
            least = Math.min(least, micros(SCRIPTS.inspect()));
        }
        return least;
    }

    @Test
    void waitersThatAllDiedCostOneStep() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < MOST_RUNS && least >= 1_000; i++) {
            clean();
            acquire(HOLDER, "X", 0, LONG);
            waiting(MANY, "F", 1, LONG, waiter -> attempt(waiter, 1));
            letTimePass();
            least = Math.min(least, micros(SCRIPTS.release(), leaving(HOLDER)));
            assertThat(calls.record().waiting()).isZero();
            assertThat(connection.command("HLEN", calls.key())).isEqualTo(2L);
        }
        assertThat(least).isLessThan(1_000);
        assertThat(acquire(OTHER, "X", 0, LONG)).isEqualTo("ACQUIRED");
    }

    @Test
    void manyDeadWaitersArePassedInStepsAndTheLiveOneBehindThemIsNotOvertaken() {
        String live = attempt(MANY, 7);
        acquire(HOLDER, "X", 0, LONG);
        waiting(MANY, "F", 1, LONG, i -> attempt(i, 1));
        acquire(live, "F", LONG, LONG);
        letTimePass();
        List<String> replies = new ArrayList<>();
        List<Long> micros = new ArrayList<>();
        micros.add(micros(SCRIPTS.release(), leaving(HOLDER)));
        assertThat(calls.record().owner()).isEmpty();
        do {
            micros.add(micros(SCRIPTS.acquire(), asking(OTHER, "X", false)));
            replies.add(connectionReply.get(0));
        } while (replies.get(replies.size() - 1).equals("AGAIN"));
        assertThat(replies).hasSizeBetween(MANY / PASSED - 2, MANY / PASSED + 2).endsWith("BUSY");
        assertThat(calls.record().owner()).isEqualTo(live);
        Collections.sort(micros);
        assertThat(micros.get(micros.size() / 2)).isLessThan(1_000);
    }

    @Test
    void aForcedReleaseGoesOnPastDeadWaitersToTheLiveOne() {
        String live = attempt(PASSED + 8, 7);
        acquire(HOLDER, "X", 0, LONG);
        waiting(PASSED + 8, "F", 1, LONG, i -> attempt(i, 1));
        acquire(live, "F", LONG, LONG);
        letTimePass();
        String[] revocation = {"request", "4000000000000000"};
        assertThat(run(SCRIPTS.revoke(), revocation)).contains("REVOKED", "MORE");

        assertThat(run(SCRIPTS.revoke(), revocation)).contains("REVOKED").doesNotContain("MORE");

        assertThat(calls.record().owner()).isEqualTo(live);
        assertThat(run(SCRIPTS.revoke(), revocation)).as("a late copy").contains("REVOKED");
        assertThat(calls.record().owner()).isEqualTo(live);
    }

    @Test
    void aScriptOverSeveralNamesPassesNoMoreDeadPlacesThanOverOne() {
        List<String> keys = severalKeys(20);
        String live = attempt(MANY, 7);
        for (String key : keys) {
            runOver(List.of(key), SCRIPTS.acquire(), asking(HOLDER, "X", false));
            for (int i = 0; i < PASSED + 8; i++) {
                LuaScript dead = ScriptCalls.scripts(1, LONG).acquire();
                runOver(List.of(key), dead, asking(attempt(i, 1), "F", true));
            }
            runOver(List.of(key), SCRIPTS.acquire(), asking(live, "F", true));
        }
        letTimePass();
        int dead = keys.size() * (PASSED + 8);
        int left = waiters(keys);
        int runs = 0;
        do {
            int before = left;
            runOver(keys, SCRIPTS.release(), leaving(HOLDER));
            left = waiters(keys);
            // The live ones behind them get the locks.
            assertThat(before - left).as("places passed").isBetween(1, PASSED + 2);
            runs++;
        } while (connectionReply.contains("MORE"));

        assertThat(left).isZero();
        assertThat(runs).isBetween(dead / PASSED, dead / PASSED + 1);
        assertThat(keys).allSatisfy(key -> assertThat(recordOf(key).owner()).isEqualTo(live));
    }

    @Test
    void aTryOfSeveralNamesPassesNoMoreDeadPlacesThanOfOne() {
        List<String> keys = severalKeys(3);
        String live = attempt(MANY, 7);
        for (String key : keys) {
            runOver(List.of(key), SCRIPTS.acquire(), asking(HOLDER, "X", false));
            for (int i = 0; i < PASSED; i++) {
                LuaScript dead = ScriptCalls.scripts(1, LONG).acquire();
                runOver(List.of(key), dead, asking(attempt(i, 1), "F", true));
            }
            runOver(List.of(key), SCRIPTS.acquire(), asking(live, "F", true));
        }
        letTimePass();
        // Nobody serves those who wait for what was removed.
        keys.forEach(key -> connection.command("HSET", key, "hold", ended(key)));
        for (int i = 0; i < 2; i++) {
            int before = waiters(keys);
            runOver(keys, SCRIPTS.acquire(), asking(OTHER, "X", false));
            assertThat(before - waiters(keys)).isBetween(1, PASSED + 1);
        }
    }

    /** Returns what the record says of its owner, whose hold is over. */
    private static String ended(String key) {
        String hold = String.valueOf(connection.command("HGET", key, "hold"));
        return hold.substring(0, 23) + "0000000000001" + hold.substring(36);
    }

    @Test
    void aScriptOverSeveralNamesGivesNoMoreGrantsThanOverOne() {
        List<String> keys = severalKeys(3);
        for (String key : keys) {
            runOver(List.of(key), SCRIPTS.acquire(), asking(HOLDER, "X", false));
            for (int i = 0; i < GRANTED - 4; i++) {
                runOver(List.of(key), SCRIPTS.acquire(), asking(attempt(i, 1), "R", true));
            }
        }
        for (int left = 3 * (GRANTED - 4) - GRANTED; left > 0; left -= GRANTED) {
            runOver(keys, SCRIPTS.release(), leaving(HOLDER));
            assertThat(waiters(keys)).isEqualTo(left);
        }
        // The third name had no holder after the first script, and does not say that somebody has it.
        assertThat(connectionReply).doesNotContain("MORE");
    }

    @Test
    void aTryIsToldToGoOnWhereAScriptHasGivenAllItsGrantsForOtherNames() {
        List<String> keys = severalKeys(2);
        for (String key : keys) {
            runOver(List.of(key), SCRIPTS.acquire(), asking(HOLDER, "X", false));
            for (int i = 0; i < GRANTED; i++) {
                runOver(List.of(key), SCRIPTS.acquire(), asking(attempt(i, 1), "R", true));
            }
        }
        keys.forEach(key -> connection.command("HSET", key, "hold", ended(key)));

        runOver(keys, SCRIPTS.acquire(), asking(OTHER, "R", false));
        assertThat(connectionReply.get(0)).isEqualTo("AGAIN");
        runOver(keys, SCRIPTS.acquire(), asking(OTHER, "R", false));
        assertThat(connectionReply.get(0)).isEqualTo("ACQUIRED");
    }

    /** Whoever waits for a lock behind the one that an attempt cannot have must not wait until it is polled for. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anAttemptThatLetsALockGoIsToldToGoOnUntilItIsServed(boolean waits) {
        List<String> keys = severalKeys(2);
        String live = attempt(MANY, 7);
        runOver(List.of(keys.get(0)), SCRIPTS.acquire(), asking(HOLDER, "X", false));
        runOver(List.of(keys.get(1)), SCRIPTS.acquire(), asking(OTHER, "X", false));
        for (int i = 0; i < PASSED + 8; i++) {
            LuaScript dead = ScriptCalls.scripts(1, LONG).acquire();
            runOver(List.of(keys.get(1)), dead, asking(attempt(i, 1), "F", true));
        }
        runOver(List.of(keys.get(1)), SCRIPTS.acquire(), asking(live, "F", true));
        letTimePass();

        runOver(keys, SCRIPTS.acquire(), asking(OTHER, "X", waits));
        assertThat(connectionReply.get(0)).isEqualTo(waits ? "QUEUED" : "AGAIN");
        assertThat(connectionReply.subList(2, connectionReply.size()))
                .isEqualTo(waits ? List.of(OTHER, "0") : List.of());
        runOver(keys, SCRIPTS.acquire(), asking(OTHER, "X", waits));

        assertThat(recordOf(keys.get(1)).owner()).isEqualTo(live);
        assertThat(connectionReply).startsWith(waits ? "QUEUED" : "BUSY").contains(HOLDER);
    }

    private static List<String> severalKeys(int count) {
        return IntStream.range(0, count).mapToObj(i -> calls.key() + i).toList();
    }

    private static LockRecord recordOf(String key) {
        return new ScriptCalls(server, key).record();
    }

    private static int waiters(List<String> keys) {
        return keys.stream().mapToInt(key -> recordOf(key).waiting()).sum();
    }

    private void runOver(List<String> keys, LuaScript script, String... arguments) {
        List<String> command = new ArrayList<>(List.of("EVALSHA", load(script), "" + keys.size()));
        command.addAll(keys);
        command.addAll(List.of(arguments));
        connectionReply = ScriptCalls.texts(connection.command(command.toArray(String[]::new)));
    }

    @Test
    void aReaderBehindManyDeadWritersAsksAgainAtOnceAndJoinsTheReaders() {
        String live = attempt(MANY, 7);
        readersAndDeadWriters(MANY, live);
        assertThat(run(SCRIPTS.release(), leaving(OTHER))).contains("LEFT", "MORE");
        assertThat(acquire("trying00000000000001", "R", 0, LONG)).isEqualTo("AGAIN");
        assertThat(acquire("trying00000000000002", "W", 0, LONG))
                .as("readers keep it out")
                .isEqualTo("BUSY");
        int asked = 0;
        while (acquire(live, "R", LONG, LONG).equals("QUEUED")) {
            assertThat(connectionReply.subList(2, 4)).containsExactly(live, "0");
            asked++;
        }
        assertThat(asked).isBetween(MANY / PASSED - 5, MANY / PASSED);
        assertThat(connectionReply.get(0)).isEqualTo("ACQUIRED");
        assertThat(calls.record().waiting()).isZero();
    }

    @Test
    void theEndOfAWaitGoesOnWithTheDeadWritersBeforeAReader() {
        readersAndDeadWriters(3 * PASSED + 1, attempt(100, 7));
        for (int i = 0; i < 3; i++) {
            assertThat(run(SCRIPTS.release(), leaving(OTHER))).contains("MORE");
        }

        assertThat(run(SCRIPTS.release(), leaving(OTHER))).doesNotContain("MORE");

        assertThat(calls.record().waiting()).isZero();
    }

    /** A reader holds the lock; a writer who lives waits, others who do not, and a reader behind them. */
    private void readersAndDeadWriters(int writers, String reader) {
        acquire(HOLDER, "R", 0, LONG);
        acquire(OTHER, "W", LONG, LONG);
        waiting(writers, "W", 1, LONG, i -> attempt(i, 1));
        assertThat(acquire(reader, "R", LONG, LONG)).isEqualTo("QUEUED");
        letTimePass();
    }

    @Test
    void aLapsedGrantMarksAllPlacesOfItsClientAtOnce() {
        String live = attempt(1, 0);
        long least = Long.MAX_VALUE;
        for (int i = 0; i < MOST_RUNS && least >= 1_000; i++) {
            clean();
            acquire(HOLDER, "X", 0, LONG);
            waiting(MANY, "F", LONG, 1, waiter -> attempt(0, waiter));
            acquire(live, "F", LONG, LONG);
            run(SCRIPTS.release(), leaving(HOLDER));
            letTimePass();
            least = Math.min(least, micros(SCRIPTS.acquire(), asking(OTHER, "X", false)));
        }
        assertThat(least).isLessThan(1_000);
        assertThat(connectionReply.get(0)).isEqualTo("AGAIN");
        assertThat(run(SCRIPTS.inspect()).get(5)).asString().isEmpty();
        String alive = attempt(0, MANY / 2);
        assertThat(acquire(alive, "F", LONG, LONG))
                .as("a client that is not dead waits behind")
                .isEqualTo("QUEUED");
        while (acquire(OTHER, "X", 0, LONG).equals("AGAIN")) {
            // passes further places
        }
        assertThat(calls.record().owner()).isEqualTo(live);
        assertThat(calls.record().waiting()).isEqualTo(1);
        run(SCRIPTS.release(), leaving(live));
        assertThat(calls.record().owner()).isEqualTo(alive);
        assertThat(connection.command("HLEN", calls.key()))
                .as("no place and no mark is left")
                .isEqualTo(2L);
    }

    @Test
    void theMarkOfOneClientMakesThoseOfOthersNoDearer() {
        costsNoMore(() -> costsWithAMark(true), () -> costsWithAMark(false), "with a mark");
    }

    private Map<String, Long> costsWithAMark(boolean marked) {
        clean();
        acquire(HOLDER, "X", 0, LONG);
        if (marked) {
            acquire(attempt(500, 1), "F", LONG, 1);
        }
        waiting(FEW, "F", LONG, LONG, i -> attempt(i, 1));
        if (marked) {
            run(SCRIPTS.release(), leaving(HOLDER));
            letTimePass();
            acquire(OTHER, "X", 0, LONG);
            assertThat(connection.command("HGET", calls.key(), attempt(500, 1).substring(0, 12)))
                    .isNotNull();
        }
        Map<String, Long> least = new TreeMap<>();
        for (int i = 0; i < REPETITIONS; i++) {
            String newcomer = attempt(FEW + i, 2);
            least.merge("place", micros(SCRIPTS.acquire(), asking(newcomer, "F", true)), Math::min);
            least.merge("poll", micros(SCRIPTS.acquire(), asking(newcomer, "F", true)), Math::min);
            String owner = calls.record().owner();
            least.merge("release", micros(SCRIPTS.release(), leaving(owner)), Math::min);
        }
        return least;
    }

    @Test
    void leadingReadersAreGrantedInSteps() {
        acquire(HOLDER, "X", 0, LONG);
        waiting(200, "R", LONG, LONG, i -> attempt(i, 1));
        acquire(OTHER, "W", LONG, LONG);
        try (RespConnection next = server.connect()) {
            next.command("SUBSCRIBE", ScriptCalls.CHANNELS + attempt(GRANTED, 1).substring(0, 12));
            run(SCRIPTS.release(), leaving(HOLDER));
            assertThat(String.valueOf(next.receive())).contains("free-at " + attempt(GRANTED, 1) + " 0 ");
        }
        assertThat(calls.record().waiting()).isEqualTo(200 - GRANTED + 1);
        assertThat(acquire("latecomer00000000001", "R", 0, LONG))
                .as("behind the writer")
                .isEqualTo("BUSY");
        assertThat(acquire(attempt(GRANTED, 1), "R", LONG, LONG)).isEqualTo("ACQUIRED");
        assertThat(acquire(attempt(199, 1), "R", LONG, LONG)).isEqualTo("ACQUIRED");
        assertThat(calls.record().waiting()).isEqualTo(1);
    }

    @Test
    void manyReadersAreRenewedInOneScriptForLittleMoreThanOne() {
        readers(1_000);
        long one = Long.MAX_VALUE;
        long many = Long.MAX_VALUE;
        for (int i = 0; i < MOST_RUNS; i++) {
            one = Math.min(one, renewing(1));
            many = Math.min(many, renewing(SlotGroups.LARGEST_OF_ONE_LOCK));
        }
        assertThat(many).as("%d us for one", one).isLessThan(3 * one);
    }

    @Test
    void aBatchRenewsAReaderAsOftenAsItIsAskedTo() {
        readers(5);
        String readers = field("readers");
        List<String> attempts = List.of(attempt(3, 1), attempt(1, 1), attempt(9, 1), attempt(3, 1), attempt(3, 1));
        List<Integer> leases = List.of(1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000);
        StringBuilder asked = new StringBuilder();
        leases.forEach(lease -> asked.append(String.format("%013d%d%016d", lease, lease < 10_000 ? 1 : 0, 0)));

        runOver(
                Collections.nCopies(attempts.size(), calls.key()),
                SCRIPTS.renew(),
                String.join("", attempts),
                asked.toString());

        assertThat(connectionReply.get(1)).isEqualTo("11011");
        long now = Long.parseLong(connectionReply.get(0)) / 1_000;
        assertThat(field("readers"))
                .isEqualTo(readers.substring(0, 34)
                        + attempt(1, 1)
                        + (now + 2_000_000)
                        + "H"
                        + readers.substring(68, 102)
                        + attempt(3, 1)
                        + (now + 5_000)
                        + "H"
                        + readers.substring(136));
    }

    /** Lets many hold the lock together. */
    private void readers(int count) {
        acquire(HOLDER, "X", 0, LONG);
        waiting(count, "R", LONG, LONG, i -> attempt(i, 1));
        run(SCRIPTS.release(), leaving(HOLDER));
        for (int next = GRANTED; next < count; next += GRANTED) {
            acquire(attempt(next, 1), "R", LONG, LONG);
        }
        assertThat(field("readers")).hasSizeGreaterThanOrEqualTo(34 * count);
        assertThat(calls.record().waiting()).isZero();
    }

    private String field(String name) {
        return String.valueOf(connection.command("HGET", calls.key(), name));
    }

    /** Returns how long it took to renew so many of the readers, us. */
    private long renewing(int count) {
        List<String> keys = Collections.nCopies(count, calls.key());
        String attempts = IntStream.range(0, count).mapToObj(i -> attempt(i, 1)).collect(Collectors.joining());
        load(SCRIPTS.renew());
        connection.command("CONFIG", "RESETSTAT");
        runOver(keys, SCRIPTS.renew(), attempts, String.format("%013d0%016d", LONG, 0));
        assertThat(connectionReply.get(1)).isEqualTo("1".repeat(count));
        return microsOfTheScript();
    }

    private List<String> connectionReply = List.of();

    private static String attempt(int client, int number) {
        return String.format("CCCC%08d%08d", client, number);
    }

    private static String asking(String attempt, String mode, boolean waits) {
        return ScriptCalls.acquisition(attempt, mode, LONG, waits, 1, calls.micros());
    }

    private static String leaving(String attempt) {
        return ScriptCalls.ending(attempt, 0);
    }

    private static String handingOver(String attempt, String next) {
        return ScriptCalls.handOver(attempt, 0, next, LONG, 1, calls.micros());
    }

    private Object acquire(String attempt, String mode, long alive, long grant) {
        List<String> reply = run(ScriptCalls.scripts(alive, grant).acquire(), asking(attempt, mode, alive > 0));
        return reply.size() == 1 ? "ACQUIRED" : String.valueOf(reply.get(0));
    }

    /** Lets many wait, whose scripts are sent together. */
    private void waiting(int waiters, String mode, long alive, long grant, IntFunction<String> attempts) {
        List<String[]> commands = new ArrayList<>(waiters);
        String hash = load(ScriptCalls.scripts(alive, grant).acquire());
        for (int i = 0; i < waiters; i++) {
            List<String> command = new ArrayList<>(List.of("EVALSHA", hash, "1", calls.key()));
            command.add(ScriptCalls.acquisition(attempts.apply(i), mode, LONG, true, 1, 4_000_000_000_000_000L));
            commands.add(command.toArray(String[]::new));
        }
        connection.sendAll(commands);
        for (int i = 0; i < waiters; i++) {
            assertThat(connection.receive()).asString().contains("QUEUED");
        }
    }

    private static String load(LuaScript script) {
        return String.valueOf(connection.command("SCRIPT", "LOAD", script.source()));
    }

    private List<String> run(LuaScript script, String... arguments) {
        List<String> command = new ArrayList<>(List.of("EVALSHA", load(script), "1", calls.key()));
        command.addAll(List.of(arguments));
        List<String> reply = ScriptCalls.texts(connection.command(command.toArray(String[]::new)));
        connectionReply = reply;
        return reply;
    }

    /** Returns how long a script took, us, as Redis says. */
    private long micros(LuaScript script, String... arguments) {
        load(script);
        connection.command("CONFIG", "RESETSTAT");
        run(script, arguments);
        return microsOfTheScript();
    }

    private static long microsOfTheScript() {
        Matcher used = Pattern.compile("cmdstat_evalsha:calls=1,usec=(\\d+)")
                .matcher(String.valueOf(connection.command("INFO", "commandstats")));
        assertThat(used.find()).isTrue();
        return Long.parseLong(used.group(1));
    }

    /** Waits until what lasts for 1 ms is over. */
    private static void letTimePass() {
        long begin = calls.micros();
        Awaitility.await()
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(1))
                .until(() -> calls.micros() > begin + 3_000);
    }
}
