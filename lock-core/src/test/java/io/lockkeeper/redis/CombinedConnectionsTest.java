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
import io.lockkeeper.testing.RespConnection;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
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
import redis.clients.jedis.exceptions.JedisConnectionException;

/** Several connections for all threads: when there are how many, and what one does to the others. */
class CombinedConnectionsTest {

    private static final String CLIENT = "combined";
    private static final Duration LIMIT = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static final String USER = "locks";
    private static final String PASSWORD = "secret";

    private final RedisServer server = serverWithUser();
    private final FaultProxy network = FaultProxy.inFrontOf(server);
    private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(1, DaemonThreads.factory("timer"));
    private final ExecutorService callers = Executors.newCachedThreadPool(DaemonThreads.factory("caller"));
    private CombinedConnections connections;

    private static RedisServer serverWithUser() {
        RedisServer server = RedisServer.start();
        server.command("ACL", "SETUSER", USER, "on", ">" + PASSWORD, "~*", "&*", "+@all");
        return server;
    }

    @BeforeEach
    void open() {
        connections = connections(() -> link(network.port()));
    }

    private CombinedConnections connections(Supplier<JedisLink> connect) {
        return new CombinedConnections(LIMIT, connect, timer, callers, System::nanoTime);
    }

    private static JedisLink link(int port) {
        return new JedisLink(
                new HostAndPort("127.0.0.1", port),
                DefaultJedisClientConfig.builder()
                        .clientName(CLIENT)
                        .user(USER)
                        .password(PASSWORD)
                        .database(1)
                        .build());
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

    /** The connections to a server, but for the one that asks for them, as the server describes them. */
    private static Map<String, String> open(RedisServer server) {
        return Stream.of(String.valueOf(server.command("CLIENT", "LIST")).split("\n"))
                .filter(line -> !line.contains(" cmd=client"))
                .collect(Collectors.toMap(line -> line.substring(0, line.indexOf(' ')), line -> line));
    }

    /** Keeps connections taken until somebody has had to make further ones. */
    private void openAll() {
        Awaitility.await().atMost(PATIENCE).until(() -> {
            Fault slow = network.when(RedisRequest.containing("slow")).delayReply(Duration.ofMillis(50));
            List<CompletableFuture<@Nullable Object>> replies =
                    Stream.generate(() -> askOnAnotherThread("slow")).limit(6).toList();
            replies.forEach(CompletableFuture::join);
            slow.clear();
            return open(server).size() == 3;
        });
        assertThat(open(server).values())
                .allMatch(line -> line.contains(" name=" + CLIENT + " "))
                .allMatch(line -> line.contains(" user=" + USER + " "))
                .allMatch(line -> line.contains(" db=1 "));
    }

    @Test
    void whoIsAloneUsesOneConnection() {
        for (int i = 0; i < 100; i++) {
            ask("text " + i);
        }
        // The one that has made the user may not be gone yet.
        Awaitility.await().atMost(PATIENCE).until(() -> open(server).size() == 1);
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
        assertThat(open(server)).hasSizeBetween(1, 3);
    }

    /** A connection that was cut must be made as the first one was: with the password, the database and the name. */
    @Test
    void whenOneFindsAReplicaAllAreMadeAnew() {
        openAll();
        Set<String> before = open(server).keySet();
        server.command("REPLICAOF", "127.0.0.1", "1");
        Request write = Request.of(Command.SET, RedisNames.bytes("key"), RedisNames.bytes("value"));
        assertThatExceptionOfType(CompletionException.class)
                .isThrownBy(() -> connections.call(write).join())
                .withCauseInstanceOf(StoreException.class)
                .withMessageContaining("READONLY");
        server.command("REPLICAOF", "NO", "ONE");
        openAll();
        assertThat(open(server)).hasSize(3).doesNotContainKeys(before.toArray(String[]::new));
    }

    @Test
    void whatWasWrittenBeforeACutIsNotForgotten() {
        JedisLink link = link(server.port());
        PendingCommand first = new PendingCommand(Request.of(Command.TIME), LIMIT, null);
        PendingCommand second = new PendingCommand(Request.of(Command.DBSIZE), LIMIT, null);
        link.send(first);
        link.cut();
        assertThatExceptionOfType(JedisConnectionException.class).isThrownBy(() -> link.send(second));
        Awaitility.await().atMost(PATIENCE).until(() -> open(server).isEmpty());
    }

    @Test
    void allLeadToTheServerThatWasFoundLast() {
        RedisServer other = serverWithUser();
        try (other) {
            AtomicInteger made = new AtomicInteger();
            connections = connections(() -> link(made.getAndIncrement() == 0 ? other.port() : network.port()));
            ask("first");
            assertThat(open(other)).hasSize(1);
            openAll();
            assertThat(open(other)).isEmpty();
            assertThat(ask("again")).isEqualTo(RedisNames.bytes("again"));
        }
    }

    @Test
    void aServerThatTakesNoFurtherConnectionCostsNobodyAnything() {
        ask("first");
        RespConnection control = server.connect();
        control.command("CONFIG", "SET", "maxclients", "4");
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
        control.command("CONFIG", "SET", "maxclients", "1000");
        control.close();
        assertThat(open(server)).hasSizeLessThanOrEqualTo(3);
    }

    @Test
    void whereTheServerMayNotBeAskedThereIsOneConnection() {
        server.command("ACL", "SETUSER", USER, "-info");
        ask("first");
        Fault slow = network.when(RedisRequest.containing("slow")).delayReply(Duration.ofMillis(20));
        List<CompletableFuture<@Nullable Object>> replies =
                Stream.generate(() -> askOnAnotherThread("slow")).limit(20).toList();
        replies.forEach(reply -> assertThat(reply.join()).isEqualTo(RedisNames.bytes("slow")));
        slow.clear();
        Awaitility.await().atMost(PATIENCE).until(() -> open(server).size() == 1);
    }

    @Test
    void whatIsOpenIsKeptAlive() {
        openAll();
        server.command("CONFIG", "SET", "timeout", "2");
        Set<String> before = open(server).keySet();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(4);
        Awaitility.await().atMost(PATIENCE).pollInterval(Duration.ofMillis(500)).until(() -> {
            connections.keepAlive();
            return System.nanoTime() > end;
        });
        assertThat(open(server).keySet()).isEqualTo(before);
    }
}
