/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.lockkeeper.redis.replication.ReplicatedCommands.Acks;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisServer;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/** Reading and searching, on one server and in a cluster. */
@Timeout(30)
class RedisCommandsTest {

    private static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(5);

    private static RedisServer server;
    private static RedisCluster cluster;

    private final ScheduledExecutorService timer = new ScheduledThreadPoolExecutor(1, DaemonThreads.factory("timer"));
    private @Nullable RedisConnectionFactory connections;
    private @Nullable RedisCommands driver;

    @BeforeAll
    static void start() {
        server = RedisServer.start();
        cluster = RedisCluster.start();
    }

    @AfterAll
    static void stop() {
        server.close();
        cluster.close();
    }

    static Stream<Arguments> topologies() {
        return Stream.of(Connections.values())
                .flatMap(client -> Stream.of(Arguments.of(client, false), Arguments.of(client, true)));
    }

    private RedisCommands open(Connections client, boolean inCluster) {
        RedisConnectionFactory factory = inCluster ? client.toCluster(cluster.ports()) : client.to(server.port());
        connections = factory;
        RedisCommands opened = new RedisCommands(factory, COMMAND_TIMEOUT, timer, Acks.of("0", Duration.ofMillis(500)));
        driver = opened;
        assertThat(get(opened.prepare(ScriptCalls.scripts(0, 0).all())))
                .isCloseTo(System.currentTimeMillis(), within(5_000L));
        nodes(inCluster).forEach(node -> node.command("FLUSHALL"));
        nodes(inCluster).forEach(RedisServer::resetStatistics);
        return opened;
    }

    @AfterEach
    void close() {
        if (driver != null) {
            driver.close();
        }
        if (connections != null) {
            Connections.close(connections);
        }
        timer.shutdownNow();
    }

    private static List<RedisServer> nodes(boolean inCluster) {
        return inCluster ? cluster.masters() : List.of(server);
    }

    private static <T> T get(CompletableFuture<T> answer) {
        return answer.orTimeout(10, TimeUnit.SECONDS).join();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static List<String> texts(List<byte[]> keys) {
        return keys.stream().map(key -> new String(key, StandardCharsets.UTF_8)).toList();
    }

    private static void fill(RedisCommands driver, List<String> keys) {
        List<CompletableFuture<?>> writes = new ArrayList<>();
        for (String key : keys) {
            writes.add(driver.set(bytes(key), bytes("value of " + key), Duration.ofMinutes(1)));
        }
        writes.forEach(RedisCommandsTest::get);
    }

    private static List<String> names(String begin, int count) {
        return IntStream.range(0, count).mapToObj(i -> begin + i).toList();
    }

    @ParameterizedTest
    @MethodSource("topologies")
    void aSearchFindsAllKeysOnAllServersAPageAtATime(Connections client, boolean inCluster) {
        RedisCommands open = open(client, inCluster);
        fill(open, names("found:🔒 ", 700));
        fill(open, names("another:", 1_800));
        assertThat(get(open.scan(bytes("found:*"), 10_000)))
                .containsExactlyInAnyOrderElementsOf(names("found:🔒 ", 700));
        assertThat(nodes(inCluster)).allMatch(node -> node.calls("scan") > 1).allMatch(node -> node.calls("keys") == 0);
        assertThat(get(open.scan(bytes("found:🔒 69?"), 10_000)))
                .containsExactlyInAnyOrderElementsOf(names("found:🔒 69", 10));
        assertThat(get(open.scan(bytes("nobody:*"), 10_000))).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("topologies")
    void aSearchEndsWhenEnoughIsFound(Connections client, boolean inCluster) {
        RedisCommands open = open(client, inCluster);
        fill(open, names("found:", 2_500));
        nodes(inCluster).forEach(RedisServer::resetStatistics);
        assertThat(get(open.scan(bytes("found:*"), 10)))
                .hasSize(10)
                .doesNotHaveDuplicates()
                .isSubsetOf(names("found:", 2_500));
        assertThat(nodes(inCluster)).allMatch(node -> node.calls("scan") <= 1);
        assertThat(get(open.scan(bytes("found:*"), 0))).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("topologies")
    void aPrefixWithAHashTagIsSoughtWhereItsKeysAre(Connections client, boolean inCluster) {
        RedisCommands open = open(client, inCluster);
        fill(open, names("{shop}:", 20));
        fill(open, names("{shop:", 20));
        nodes(inCluster).forEach(RedisServer::resetStatistics);
        assertThat(get(open.scan(bytes("{shop}:*"), 100))).containsExactlyInAnyOrderElementsOf(names("{shop}:", 20));
        assertThat(nodes(inCluster)).filteredOn(node -> node.calls("scan") > 0).hasSize(1);
        assertThat(get(open.scan(bytes("{shop:*"), 100))).containsExactlyInAnyOrderElementsOf(names("{shop:", 20));
        assertThat(get(open.scan(bytes("*"), 100))).hasSize(40);
    }

    @ParameterizedTest
    @MethodSource("topologies")
    void textsAreReadWhereverTheyAre(Connections client, boolean inCluster) {
        RedisCommands open = open(client, inCluster);
        fill(open, names("text:", 50));
        get(open.eval(
                new LuaScript("hash", "redis.call('HSET', KEYS[1], 'a', 'b') return ''", "0".repeat(40)),
                List.of(bytes("hash")),
                List.of(),
                0));
        List<byte[]> keys = new ArrayList<>(
                names("text:", 50).stream().map(RedisCommandsTest::bytes).toList());
        keys.add(7, bytes("missing"));
        keys.add(20, bytes("hash"));
        assertThat(texts(get(open.get(keys)))).containsExactlyInAnyOrderElementsOf(names("value of text:", 50));
        assertThat(get(open.get(List.of()))).isEmpty();
        assertThat(nodes(inCluster)).allMatch(node -> node.calls("mget") > 0);
        if (!inCluster) {
            assertThat(server.calls("mget")).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @MethodSource("topologies")
    void slotsTellWhichKeysAScriptMayName(Connections client, boolean inCluster) {
        RedisCommands open = open(client, inCluster);
        assertThat(open.topology.slot(bytes("a")) == open.topology.slot(bytes("b")))
                .isEqualTo(!inCluster);
        assertThat(open.topology.slot(bytes("{a}b"))).isEqualTo(open.topology.slot(bytes("a")));
        LuaScript script = new LuaScript("two", "return KEYS[1] .. KEYS[2]", "0".repeat(40));
        assertThat(get(open.eval(script, List.of(bytes("a"), bytes("{a}b")), List.of(), 0)))
                .isEqualTo(bytes("a{a}b"));
        if (inCluster) {
            assertThat(open.topology.slot(bytes("a{}{b}")))
                    .isEqualTo(
                            cluster.masters().get(0).command("CLUSTER", "KEYSLOT", "a{}{b}") instanceof Long slot
                                    ? slot.intValue()
                                    : -1);
            CompletableFuture<?> refused = open.eval(script, List.of(bytes("a"), bytes("b")), List.of(), 0);
            assertThatThrownBy(() -> get(refused)).hasCauseInstanceOf(StoreException.class);
        }
    }

    /** As where the application stops its factory meanwhile. */
    @Test
    void aReplyCountsWhereTheClientDoesNotTellOfItsConnections() {
        JedisConnectionFactory factory =
                new JedisConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", server.port())) {
                    @Override
                    public RedisConnection getConnection() {
                        RedisConnection real = super.getConnection();
                        return (RedisConnection) Proxy.newProxyInstance(
                                getClass().getClassLoader(),
                                new Class<?>[] {RedisConnection.class},
                                (proxy, method, arguments) -> {
                                    if (method.getName().equals("getNativeConnection")) {
                                        throw new IllegalStateException("stopped");
                                    }
                                    return method.invoke(real, arguments);
                                });
                    }
                };
        factory.afterPropertiesSet();
        factory.start();
        connections = factory;
        RedisCommands commands = new RedisCommands(factory, COMMAND_TIMEOUT, timer, Acks.of("0", COMMAND_TIMEOUT));
        driver = commands;
        LuaScript script = new LuaScript("one", "return KEYS[1]", "0".repeat(40));

        assertThat(get(commands.eval(script, List.of(bytes("key")), List.of(), 0)))
                .isEqualTo(bytes("key"));
    }
}
