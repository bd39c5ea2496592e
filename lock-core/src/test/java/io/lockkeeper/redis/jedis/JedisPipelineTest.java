/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.redis.RedisNames;
import io.lockkeeper.store.CommandNotExecutedException;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisRequest;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** One connection for all threads: who gets which answer, and what a failure of it does to them. */
@Timeout(60)
class JedisPipelineTest {

    private static final String CLIENT = "pipeline";
    private static final Duration LIMIT = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String USER = "locks";
    private static final String PASSWORD = "secret";

    private final RedisServer server = serverWithUser();
    private final FaultProxy network = FaultProxy.inFrontOf(server);
    private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(1, DaemonThreads.factory("timer"));
    private final ExecutorService callers = Executors.newCachedThreadPool(DaemonThreads.factory("caller"));
    private JedisPipeline pipeline = new JedisPipeline(LIMIT, () -> link(network.port()), new Reconnects(), timer);

    private static RedisServer serverWithUser() {
        RedisServer server = RedisServer.start();
        server.command("ACL", "SETUSER", USER, "on", ">" + PASSWORD, "~*", "&*", "+@all");
        return server;
    }

    private static JedisPipeline.Link link(int port) {
        return new JedisPipeline.Link(
                new HostAndPort("127.0.0.1", port),
                DefaultJedisClientConfig.builder()
                        .clientName(CLIENT)
                        .user(USER)
                        .password(PASSWORD)
                        .database(1)
                        .socketTimeoutMillis((int) LIMIT.toMillis())
                        .build());
    }

    @AfterEach
    void stop() {
        pipeline.close();
        timer.shutdownNow();
        callers.shutdownNow();
        network.close();
        server.close();
    }

    private JedisPipeline.Command command(String... words) {
        return command(0, words);
    }

    private JedisPipeline.Command command(long waitNanos, String... words) {
        return pipeline
        .new Command(
                waitNanos,
                words[0],
                null,
                Stream.of(words).map(RedisNames::bytes).toArray(byte[][]::new));
    }

    private @Nullable Object ask(String text) {
        return pipeline.call(command(Long.MAX_VALUE, "ECHO", text)).join();
    }

    /** The connections of pipelines, as the server describes them. */
    private static Map<String, String> open(RedisServer server) {
        return Stream.of(String.valueOf(server.command("CLIENT", "LIST")).split("\n"))
                .filter(line -> line.contains(" name=" + CLIENT + " "))
                .collect(Collectors.toMap(line -> line.substring(0, line.indexOf(' ')), line -> line));
    }

    @Test
    void hasOneConnectionAndEachThreadGetsItsOwnAnswer() {
        List<CompletableFuture<Void>> all = Stream.iterate(0, i -> i + 1)
                .limit(32)
                .map(caller -> CompletableFuture.runAsync(
                        () -> {
                            for (int i = 0; i < 200; i++) {
                                String text = caller + "/" + i;
                                assertThat(ask(text)).isEqualTo(RedisNames.bytes(text));
                            }
                        },
                        callers))
                .toList();
        all.forEach(CompletableFuture::join);
        assertThat(open(server).values()).singleElement().asString().contains(" user=" + USER + " ", " db=1 ");
    }

    /** A connection that was cut must be made as the first one was: with the password, the database and the name. */
    @Test
    void aConnectionThatFindsAReplicaIsMadeAnew() {
        ask("first");
        Set<String> before = open(server).keySet();
        server.command("REPLICAOF", "127.0.0.1", "1");
        assertThatExceptionOfType(CompletionException.class)
                .isThrownBy(() -> pipeline.call(command("SET", "key", "value")).join())
                .withCauseInstanceOf(CommandNotExecutedException.class)
                .withMessageContaining("READONLY");
        server.command("REPLICAOF", "NO", "ONE");
        assertThat(ask("again")).isEqualTo(RedisNames.bytes("again"));
        assertThat(open(server))
                .doesNotContainKeys(before.toArray(String[]::new))
                .values()
                .singleElement()
                .asString()
                .contains(" user=" + USER + " ", " db=1 ");
    }

    @Test
    void onlyWhatWasNeverSentIsSaidNotToHaveBeenExecuted() {
        AtomicBoolean down = new AtomicBoolean();
        pipeline = new JedisPipeline(
                LIMIT,
                () -> {
                    if (down.get()) {
                        throw new JedisConnectionException("refused");
                    }
                    return link(network.port());
                },
                new Reconnects(),
                timer);
        ask("first");
        CompletableFuture<Object> sent = withoutAnswer(() -> down.set(true));
        assertThat(failureOf(sent)).isExactlyInstanceOf(StoreException.class).hasMessageContaining("refused");
        assertThat(failureOf(pipeline.call(command("ECHO", "second"))))
                .isExactlyInstanceOf(CommandNotExecutedException.class)
                .hasMessageContaining("refused");
    }

    @Test
    void aRefusalSaysNothingOfAFirstCopyWithoutAnAnswer() {
        ask("first");
        CompletableFuture<Object> sent = withoutAnswer(() -> server.command("REPLICAOF", "127.0.0.1", "1"));
        assertThat(failureOf(sent)).isExactlyInstanceOf(StoreException.class);
    }

    /** Sends a command whose answer is lost with the connection, after a change. */
    private CompletableFuture<Object> withoutAnswer(Runnable change) {
        Fault silent = network.when(RedisRequest.command("SET")).once().swallow();
        CompletableFuture<Object> sent = pipeline.call(command("SET", "key", "value"));
        silent.awaitHits(1, PATIENCE);
        change.run();
        network.disconnectClients();
        return sent;
    }

    private static Throwable failureOf(CompletableFuture<?> call) {
        return call.<Throwable>handle((reply, failure) -> failure)
                .orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                .join();
    }

    @Test
    void whatWasWrittenBeforeACutIsNotForgotten() {
        JedisPipeline.Link link = link(server.port());
        link.send(new byte[][] {RedisNames.bytes("TIME")});
        link.cut();
        assertThatExceptionOfType(JedisConnectionException.class)
                .isThrownBy(() -> link.send(new byte[][] {RedisNames.bytes("DBSIZE")}));
        Awaitility.await().atMost(PATIENCE).until(() -> open(server).isEmpty());
    }

    /**
     * Each command is answered, or fails, within its time, whether its caller waits or not, and however often cuts
     * come.
     */
    @Test
    void whatIsUnderWayWhenConnectionsAreCutEndsInTime() {
        ask("first");
        AtomicBoolean over = new AtomicBoolean();
        AtomicInteger answered = new AtomicInteger();
        List<CompletableFuture<Duration>> longest = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            boolean waits = i % 2 == 0;
            longest.add(CompletableFuture.supplyAsync(() -> longestCall(over, waits, answered), callers));
        }
        for (int cut = 0; cut < 40; cut++) {
            int before = answered.get();
            // Some are cut while they are made.
            Awaitility.await()
                    .atMost(PATIENCE)
                    .pollInterval(Duration.ofMillis(1))
                    .until(() -> answered.get() > before);
            network.disconnectClients();
        }
        Fault silent = network.when(RedisRequest.command("ECHO")).hold();
        silent.awaitHits(1, PATIENCE);
        network.disconnectClients();
        silent.clear();
        over.set(true);
        assertThat(longest)
                .allSatisfy(call -> assertThat(call).succeedsWithin(PATIENCE).satisfies(time -> assertThat(time)
                        .isLessThan(LIMIT.plusSeconds(2))));
    }

    private Duration longestCall(AtomicBoolean over, boolean waits, AtomicInteger answered) {
        long longest = 0;
        for (int i = 0; !over.get(); i++) {
            String text = "text " + i;
            long begin = System.nanoTime();
            try {
                Object reply =
                        waits ? ask(text) : pipeline.call(command("ECHO", text)).join();
                assertThat(reply).isEqualTo(RedisNames.bytes(text));
                answered.incrementAndGet();
            } catch (CompletionException failure) {
                assertThat(failure).hasCauseInstanceOf(StoreException.class);
            }
            longest = Math.max(longest, System.nanoTime() - begin);
        }
        return Duration.ofNanos(longest);
    }

    /** A leader that answers a waiting caller leaves it to that caller to complete its future. */
    @Test
    void aCallerIsToldItsAnswerThoughThePipelineIsClosedMeanwhile() {
        AtomicBoolean armed = new AtomicBoolean();
        ScheduledThreadPoolExecutor closing = new ScheduledThreadPoolExecutor(1, DaemonThreads.factory("closing")) {
            @Override
            public ScheduledFuture<?> schedule(Runnable task, long delay, TimeUnit unit) {
                if (armed.getAndSet(false)) {
                    // The command is in the queue: this leader takes it along.
                    CompletableFuture.supplyAsync(() -> ask("leader"), callers).join();
                    pipeline.close();
                }
                return super.schedule(task, delay, unit);
            }
        };
        try {
            pipeline = new JedisPipeline(LIMIT, () -> link(network.port()), new Reconnects(), closing);
            ask("first");
            Awaitility.await().until(() -> closing.getCompletedTaskCount() == closing.getTaskCount());
            armed.set(true);
            assertThat(pipeline.call(command(Long.MAX_VALUE, "ECHO", "own")))
                    .succeedsWithin(LIMIT)
                    .isEqualTo(RedisNames.bytes("own"));
        } finally {
            closing.shutdownNow();
        }
    }

    /** There may be no room on the stack to schedule a look: the next command schedules one. */
    @Test
    void anErrorWhileALookIsScheduledLeavesOthersInCharge() {
        AtomicInteger failures = new AtomicInteger(1);
        ScheduledThreadPoolExecutor faulty = new ScheduledThreadPoolExecutor(1, DaemonThreads.factory("faulty")) {
            @Override
            public ScheduledFuture<?> schedule(Runnable task, long delay, TimeUnit unit) {
                if (failures.getAndDecrement() > 0) {
                    throw new StackOverflowError("no room");
                }
                return super.schedule(task, delay, unit);
            }
        };
        try {
            pipeline = new JedisPipeline(LIMIT, () -> link(network.port()), new Reconnects(), faulty);
            assertThatExceptionOfType(StackOverflowError.class).isThrownBy(() -> pipeline.call(command("TIME")));
            Fault silent = network.when(RedisRequest.command("ECHO")).hold();
            CompletableFuture<Object> held = pipeline.call(command("ECHO", "text"));
            assertThat(held)
                    .failsWithin(LIMIT.plusSeconds(5))
                    .withThrowableThat()
                    .withMessageContaining("did not answer to ECHO within");
            silent.clear();
        } finally {
            faulty.shutdownNow();
        }
    }

    @Test
    void oneWhoseAnswerWasNotAwaitedMayHaveRun() {
        JedisPipeline.Command command = command("TIME");
        command.send();
        assertThat(command.mayHaveRun).isFalse();
        command.notAwaited();
        command.send();
        assertThat(command.mayHaveRun).isTrue();
    }

    @Test
    void oneThatWasNotSentHasNotRun() {
        JedisPipeline.Command command = command("TIME");
        command.notAwaited();
        command.send();
        assertThat(command.mayHaveRun).isFalse();
        command.send();
        assertThat(command.mayHaveRun).isTrue();
    }

    @Test
    void sendsWhoseAnswersWereNotAwaitedDoNotCount() {
        JedisPipeline.Command command = command("TIME");
        for (int i = 0; i < 10; i++) {
            command.send();
            command.notAwaited();
        }
        assertThat(command.maySend()).isTrue();
    }
}
