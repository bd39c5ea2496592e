/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.function.IntConsumer;
import java.util.function.IntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * What thousands of waiters or readers of one lock cost Redis, which answers no other client while a script runs. Measured in
 * the processor time that the server says it used: other processes of the machine do not add to it.
 */
class ManyWaitersTest {

    private static final String KEY = "lockkeeper:lock:many";
    private static final String HOLDER = "holderAAAAAA00000001";
    private static final String OTHER = "otherBBBBBBB00000001";
    private static final String WRITER = "writerCCCCCC00000001";
    private static final int FEW = 1_000;
    private static final int MANY = 8_000;

    /** A script that looks at each place once costs 8 times as much for 8 times the places; one that looks at all for each, 64. */
    private static final double MOST_GROWTH = 24;

    private static final double MOST_SECONDS = 1;
    private static final int REPETITIONS = 5;
    private static final long LONG = 600_000;
    private static final long TOMBSTONE = 30_000;
    private static RedisServer server;
    private static RespConnection connection;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
        connection = new RespConnection(server.host(), server.port(), Duration.ofMinutes(1));
    }

    @AfterAll
    static void stopServer() {
        connection.close();
        server.close();
    }

    @Test
    void aStatusLooksAtEachWaiterOnce() {
        assertLinear(waiters -> queue(waiters, places("F", LONG, LONG)), waiters -> assertThat(
                        String.valueOf(run(LuaScript.INSPECT).get(6)))
                .hasSize(20 * waiters));
    }

    @Test
    void aReleaseTakesOutAllWaitersThatDiedAtOnce() {
        assertLinear(
                waiters -> {
                    queue(waiters, places("F", 1, LONG));
                    letTimePass();
                },
                waiters -> {
                    assertThat(release(HOLDER)).isEqualTo("RELEASED");
                    assertThat(waiting()).isEmpty();
                });
    }

    @Test
    void aLapsedGrantTakesOutAllWaitersOfItsClientAtOnce() {
        assertLinear(
                waiters -> {
                    queue(waiters, places("F", LONG, 1, i -> attempt(0, i)));
                    assertThat(release(HOLDER)).isEqualTo("RELEASED");
                    letTimePass();
                },
                waiters -> {
                    assertThat(acquire(OTHER, "F", 0, LONG)).isEqualTo("ACQUIRED");
                    assertThat(waiting()).isEmpty();
                });
    }

    @Test
    void leadingReadersAreGrantedAtOnce() {
        assertLinear(waiters -> queue(waiters, places("R", LONG, LONG)), waiters -> {
            assertThat(release(HOLDER)).isEqualTo("RELEASED");
            assertThat(run(LuaScript.INSPECT).get(5)).asString().hasSize(20 * waiters);
        });
    }

    @Test
    void deadWaitersBetweenReadersAreTakenOutAtOnce() {
        assertLinear(
                waiters -> {
                    IntFunction<String> live = places("R", LONG, LONG);
                    IntFunction<String> dead = places("F", 1, LONG);
                    queue(waiters, i -> (i % 2 == 0 ? live : dead).apply(i));
                    letTimePass();
                },
                waiters -> {
                    assertThat(release(HOLDER)).isEqualTo("RELEASED");
                    assertThat(run(LuaScript.INSPECT).get(5)).asString().hasSize(20 * waiters / 2);
                });
    }

    @Test
    void readersJoinManyOthersAtOnce() {
        assertLinear(
                waiters -> {
                    IntFunction<String> readers = places("R", LONG, LONG);
                    String writer = place(WRITER, "W", LONG, LONG);
                    queue(waiters, i -> i == waiters / 2 ? writer : readers.apply(i));
                    assertThat(release(HOLDER)).isEqualTo("RELEASED");
                },
                waiters -> {
                    assertThat(release(WRITER)).isEqualTo("LEFT");
                    assertThat(run(LuaScript.INSPECT).get(5)).asString().hasSize(20 * (waiters - 1));
                });
    }

    @Test
    void lapsedGrantsOfReadersTakeOutTheWaitersOfTheirClientsAtOnce() {
        assertLinear(
                waiters -> {
                    IntFunction<String> readers = places("R", LONG, 1);
                    // Half of the writers are of clients whose readers do not confirm, and so taken for dead, too.
                    IntFunction<String> writers = places(
                            "W", LONG, LONG, i -> i < waiters / 4 * 3 ? attempt(i - waiters / 2, 2) : attempt(i, 1));
                    queue(waiters, i -> (i < waiters / 2 ? readers : writers).apply(i));
                    assertThat(release(HOLDER)).isEqualTo("RELEASED");
                    letTimePass();
                },
                waiters -> {
                    assertThat(acquire(OTHER, "X", 0, LONG)).isEqualTo("BUSY");
                    assertThat(run(LuaScript.INSPECT).get(6)).asString().hasSize(20 * (waiters / 4 - 1));
                });
    }

    @Test
    void readersWhoAreRenewedTogetherAreWrittenTogether() {
        IntConsumer readers = number -> {
            queue(number, places("R", LONG, LONG));
            assertThat(release(HOLDER)).isEqualTo("RELEASED");
        };
        double one = seconds(4_000, readers, all -> renew(1));
        double batch = seconds(4_000, readers, all -> renew(100));
        assertThat(batch).isLessThan(one * 45).isLessThan(MOST_SECONDS);
    }

    private static void assertLinear(IntConsumer prepare, IntConsumer command) {
        double few = seconds(FEW, prepare, command);
        double many = seconds(MANY, prepare, command);
        assertThat(many).isLessThan(few * MOST_GROWTH).isLessThan(MOST_SECONDS);
    }

    /** Returns the least processor time of the server that a command took, in several repetitions. */
    private static double seconds(int waiters, IntConsumer prepare, IntConsumer command) {
        double least = Double.MAX_VALUE;
        for (int i = 0; i < REPETITIONS; i++) {
            connection.command("FLUSHALL");
            assertThat(acquire(HOLDER, "X", 0, LONG)).isEqualTo("ACQUIRED");
            prepare.accept(waiters);
            double before = processorSeconds();
            command.accept(waiters);
            least = Math.min(least, processorSeconds() - before);
        }
        return Math.max(least, 0.000_2);
    }

    private static double processorSeconds() {
        Matcher used = Pattern.compile("used_cpu_(?:sys|user):([0-9.]+)")
                .matcher(String.valueOf(connection.command("INFO", "cpu")));
        return used.results()
                .mapToDouble(result -> Double.parseDouble(result.group(1)))
                .sum();
    }

    /** Returns the places of waiters that are of as many clients. */
    private static IntFunction<String> places(String mode, long alive, long grant) {
        return places(mode, alive, grant, i -> attempt(i, 1));
    }

    private static String attempt(int client, int number) {
        return String.format("CCCC%08d%08d", client, number);
    }

    private static IntFunction<String> places(String mode, long alive, long grant, IntFunction<String> attempts) {
        String place = place(OTHER, mode, alive, grant);
        return i -> place.replace(OTHER, attempts.apply(i));
    }

    /** Returns the place that the script gives to a waiter. */
    private static String place(String attempt, String mode, long alive, long grant) {
        String queue = waiting();
        connection.command("HSET", KEY, "queue", "");
        acquire(attempt, mode, alive, grant);
        String place = waiting();
        connection.command("HSET", KEY, "queue", queue);
        return place;
    }

    private static void queue(int waiters, IntFunction<String> places) {
        String queue = IntStream.range(0, waiters).mapToObj(places).collect(Collectors.joining());
        connection.command("HSET", KEY, "queue", queue);
    }

    private static String waiting() {
        return Objects.requireNonNull((String) connection.command("HGET", KEY, "queue"));
    }

    /** Waits until what lasts for 1 ms is over. */
    private static void letTimePass() {
        long begin = micros();
        Awaitility.await()
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(1))
                .until(() -> micros() > begin + 3_000);
    }

    private static long micros() {
        List<?> time = (List<?>) Objects.requireNonNull(connection.command("TIME"));
        return Long.parseLong(time.get(0).toString()) * 1_000_000
                + Long.parseLong(time.get(1).toString());
    }

    private static Object acquire(String attempt, String mode, long alive, long grant) {
        long sent = micros();
        Object[] arguments = {attempt, mode, LONG, alive, grant, 1, sent, sent / 1_000 + LONG, "ch:", TOMBSTONE, 0};
        return run(LuaScript.ACQUIRE, arguments).get(0);
    }

    private static Object release(String attempt) {
        return run(LuaScript.RELEASE, attempt, 0, 0, "ch:", TOMBSTONE).get(0);
    }

    private static void renew(int readers) {
        List<Object> arguments = new ArrayList<>(List.of(TOMBSTONE));
        IntStream.range(0, readers).forEach(i -> arguments.addAll(List.of(attempt(i, 1), LONG, 0, 0)));
        List<?> reply = run(LuaScript.RENEW, readers, arguments.toArray());
        assertThat(reply.subList(1, reply.size())).hasSize(readers).allMatch(renewed -> renewed.equals(1L));
    }

    private static List<?> run(LuaScript script, Object... arguments) {
        return run(script, 1, arguments);
    }

    private static List<?> run(LuaScript script, int keys, Object... arguments) {
        List<String> command = new ArrayList<>(List.of("EVAL", script.source(), "" + keys));
        command.addAll(Collections.nCopies(keys, KEY));
        for (Object argument : arguments) {
            command.add(argument.toString());
        }
        return (List<?>) Objects.requireNonNull(connection.command(command.toArray(String[]::new)));
    }
}
