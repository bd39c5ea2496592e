/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.store.CallerThread;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisRequest;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol.Command;

/** Several connections for all threads: when there are how many, and what one does to the others. */
class CombinedConnectionsTest {

    private static final String CLIENT = "combined";
    private static final Duration LIMIT = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final RedisServer server = RedisServer.start();
    private final FaultProxy network = FaultProxy.inFrontOf(server);
    private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(1, DaemonThreads.factory("timer"));
    private final ExecutorService callers = Executors.newCachedThreadPool(DaemonThreads.factory("caller"));
    private CombinedConnections connections;

    @BeforeEach
    void open() {
        connections = new CombinedConnections(
                LIMIT,
                () -> new JedisLink(
                        new HostAndPort(network.host(), network.port()),
                        DefaultJedisClientConfig.builder().clientName(CLIENT).build()),
                timer,
                callers,
                System::nanoTime);
    }

    @AfterEach
    void stop() {
        connections.close();
        timer.shutdownNow();
        callers.shutdownNow();
        network.close();
        server.close();
    }

    private @Nullable Object ask(String text) {
        return CallerThread.waiting(() -> connections.call(Request.of(Command.ECHO, RedisNames.bytes(text))))
                .join();
    }

    private CompletableFuture<@Nullable Object> askOnAnotherThread(String text) {
        return CompletableFuture.supplyAsync(() -> ask(text), callers);
    }

    private Set<String> open(String name) {
        return Stream.of(String.valueOf(server.command("CLIENT", "LIST")).split("\n"))
                .filter(line -> line.contains(" name=" + name + " "))
                .map(line -> line.substring(0, line.indexOf(' ')))
                .collect(Collectors.toSet());
    }

    /** Keeps one connection taken until somebody has had to make another one, and so on. */
    private void openAll() {
        ask("first");
        for (int count = 2; count <= 3; count++) {
            int wanted = count;
            Awaitility.await().atMost(PATIENCE).until(() -> {
                Fault slow =
                        network.when(RedisRequest.containing("slow")).times(2).delayReply(Duration.ofMillis(50));
                List<CompletableFuture<@Nullable Object>> replies = Stream.generate(() -> askOnAnotherThread("slow"))
                        .limit(wanted + 1)
                        .toList();
                replies.forEach(CompletableFuture::join);
                slow.clear();
                return open(CLIENT).size() >= wanted;
            });
        }
        assertThat(open(CLIENT)).hasSize(3);
    }

    @Test
    void whoIsAloneUsesOneConnection() {
        for (int i = 0; i < 100; i++) {
            ask("text " + i);
        }
        assertThat(open(CLIENT)).hasSize(1);
    }

    @Test
    void aReplyThatIsSlowKeepsOnlyItsOwnConnection() {
        openAll();
        Fault slow = network.when(RedisRequest.containing("for long")).once().delayReply(Duration.ofSeconds(2));
        CompletableFuture<@Nullable Object> first = askOnAnotherThread("for long");
        slow.awaitHits(1, PATIENCE);
        for (int i = 0; i < 100; i++) {
            assertThat(ask("text " + i)).isEqualTo(RedisNames.bytes("text " + i));
        }
        assertThat(first).isNotDone();
        assertThat(first.join()).isEqualTo(RedisNames.bytes("for long"));
    }

    @Test
    void manyThreadsGetEachTheirOwnAnswer() {
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
        assertThat(open(CLIENT)).hasSizeBetween(1, 3);
    }

    @Test
    void whenOneFindsAReplicaAllAreMadeAnew() {
        openAll();
        Set<String> before = open(CLIENT);
        server.command("REPLICAOF", "127.0.0.1", "1");
        Request write = Request.of(Command.SET, RedisNames.bytes("key"), RedisNames.bytes("value"));
        assertThatExceptionOfType(CompletionException.class)
                .isThrownBy(() -> connections.call(write).join())
                .withCauseInstanceOf(StoreException.class)
                .withMessageContaining("READONLY");
        server.command("REPLICAOF", "NO", "ONE");
        ask("again");
        Awaitility.await().atMost(PATIENCE).untilAsserted(() -> {
            Set<String> left = new HashSet<>(open(CLIENT));
            left.retainAll(before);
            assertThat(left).isEmpty();
        });
    }

    @Test
    void aServerThatTakesNoFurtherConnectionCostsNobodyAnything() {
        ask("first");
        server.command("CONFIG", "SET", "maxclients", "3");
        List<CompletableFuture<Void>> all = Stream.generate(() -> CompletableFuture.runAsync(
                        () -> {
                            for (int i = 0; i < 500; i++) {
                                ask("text");
                            }
                        },
                        callers))
                .limit(8)
                .toList();
        all.forEach(CompletableFuture::join);
        server.command("CONFIG", "SET", "maxclients", "1000");
        assertThat(open(CLIENT)).hasSizeLessThanOrEqualTo(3);
    }

    @Test
    void whatIsOpenIsKeptAlive() throws InterruptedException {
        openAll();
        server.command("CONFIG", "SET", "timeout", "2");
        Set<String> before = open(CLIENT);
        assertThat(before).hasSize(3);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(4);
        Awaitility.await().atMost(PATIENCE).pollInterval(Duration.ofMillis(500)).until(() -> {
            connections.keepAlive();
            return System.nanoTime() > end;
        });
        assertThat(open(CLIENT)).isEqualTo(before);
    }
}
