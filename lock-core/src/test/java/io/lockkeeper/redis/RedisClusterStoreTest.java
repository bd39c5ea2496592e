/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.contract.RecordingListener;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.IgnoredMessages;
import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.RedisConnectionFailureException;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisScriptingCommands;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/** Locks in a cluster of three masters. */
@Timeout(30)
class RedisClusterStoreTest {

    private static final String NO_HOLDER = "CLIENT00000000000001";
    private static RedisCluster cluster;

    private final List<RedisConnectionFactory> factories = new ArrayList<>();

    @BeforeAll
    static void startCluster() {
        cluster = RedisCluster.start();
    }

    @AfterAll
    static void stopCluster() {
        cluster.close();
    }

    @AfterEach
    void closeConnections() {
        factories.forEach(Connections::close);
        cluster.masters().forEach(master -> master.command("FLUSHALL"));
    }

    private LockTemplate.Builder template(Connections driver) {
        return template(driver, RedisLockStore.Options.defaults());
    }

    private LockTemplate.Builder template(Connections driver, RedisLockStore.Options options) {
        RedisConnectionFactory connections = driver.toCluster(cluster.ports());
        factories.add(connections);
        // The first one loads the classes of the client, which takes longer than a short command timeout.
        connections.getConnection().close();
        return LockTemplate.builder(new RedisLockStore(connections, options)).shutdownWait(Duration.ZERO);
    }

    private static List<String> names(int count) {
        return IntStream.range(0, count).mapToObj(i -> "name " + i).toList();
    }

    private static RedisClusterConfiguration clusterConfiguration() {
        return new RedisClusterConfiguration(
                cluster.ports().stream().map(port -> "127.0.0.1:" + port).toList());
    }

    private static void awaitSubscriptions(int count) {
        Awaitility.await()
                .until(() -> cluster.masters().stream()
                                .mapToInt(master -> ((List<?>) List.of(master.command("PUBSUB", "CHANNELS"))
                                                .get(0))
                                        .size())
                                .sum()
                        == count);
    }

    @ParameterizedTest
    @EnumSource
    void threeHundredLocksAreTakenRenewedAndReleased(Connections driver) {
        Duration lease = Duration.ofSeconds(3);
        RecordingListener events = new RecordingListener();
        try (LockTemplate template =
                template(driver).leaseTime(lease).listener(events).build()) {
            List<LockLease> leases = names(300).stream().map(template::acquire).toList();
            Map<String, Integer> keys = cluster.keys();
            assertThat(keys.keySet())
                    .containsAll(names(300).stream()
                            .map(name -> "lockkeeper:lock:" + name)
                            .toList());
            assertThat(new HashSet<>(keys.values())).hasSize(3);
            Awaitility.await()
                    .atMost(lease.multipliedBy(10))
                    .until(() -> events.events(LockListener.Renewed.class).size() >= 900);
            assertThat(events.events(LockListener.RenewalFailed.class)).isEmpty();
            assertThat(leases).allMatch(LockLease::isHeld).allMatch(LockLease::verify);
            assertThat(leases).allMatch(held -> held.release() == ReleaseResult.RELEASED);
            assertThat(events.events(LockListener.Lost.class)).isEmpty();
        }
    }

    /** A part of a command that was not sent must not be taken for the whole. */
    @Test
    void whatIsTakenGoesBackWhereALaterPartCannotBeSent() {
        List<String> names = List.of("name 1", "name 2");
        String first = "lockkeeper:lock:name 1";
        assertThat(cluster.masterOf(first)).isNotSameAs(cluster.masterOf("lockkeeper:lock:name 2"));
        AtomicBoolean armed = new AtomicBoolean();
        JedisConnectionFactory connections = new JedisConnectionFactory(clusterConfiguration()) {
            @Override
            public RedisConnection getConnection() {
                if (armed.get() && !isFree(first) && armed.getAndSet(false)) {
                    throw new RedisConnectionFailureException("no connection is left");
                }
                return super.getConnection();
            }
        };
        connections.afterPropertiesSet();
        connections.start();
        factories.add(connections);
        try (LockTemplate template = LockTemplate.builder(
                        new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .build()) {
            names.forEach(name -> template.run(name, lease -> {}));
            armed.set(true);
            assertThatExceptionOfType(LockStoreException.class)
                    .isThrownBy(() -> template.acquire(LockRequest.of(names)))
                    .withMessageContaining("no connection is left");
            Awaitility.await().until(() -> isFree(first));
        }
    }

    /** It could not use them before it has the first one again. */
    @ParameterizedTest
    @EnumSource
    void aWaiterThatLosesTheFirstLockLetsGoOfThoseBehindIt(Connections driver) throws Exception {
        RedisLockStore.Options options = RedisLockStore.Options.defaults()
                .withCommandTimeout(Duration.ofSeconds(5))
                .withPollInterval(Duration.ofSeconds(1));
        List<String> names = List.of("name 1", "name 2", "name 3");
        List<String> keys =
                names.stream().map(name -> "lockkeeper:lock:" + name).toList();
        try (LockTemplate holder = template(driver, options).build();
                LockTemplate waiting = template(driver, options).build()) {
            LockLease last = holder.acquire("name 3");
            CompletableFuture<LockLease> all = waiting.acquireAsync(
                    LockRequest.of(names).withLeaseTime(Duration.ofMinutes(5)).withWaitTime(Duration.ofMinutes(1)));
            Awaitility.await().until(() -> cluster.masterOf(keys.get(2)).waiting(keys.get(2)) == 1);
            // As a failover does it.
            cluster.masterOf(keys.get(0)).command("DEL", keys.get(0));
            LockLease first = holder.acquire("name 1");
            Awaitility.await().until(() -> cluster.masterOf(keys.get(0)).waiting(keys.get(0)) == 1);

            Awaitility.await().until(() -> cluster.masterOf(keys.get(2)).waiting(keys.get(2)) == 0);
            holder.acquire(LockRequest.of("name 2").withWaitTime(Duration.ofSeconds(20)))
                    .close();

            last.close();
            holder.acquire(LockRequest.of("name 3").withWaitTime(Duration.ofSeconds(20)))
                    .close();
            first.close();
            LockLease lease = all.get(20, TimeUnit.SECONDS);
            assertThat(lease.verify()).isTrue();
            lease.close();
            Awaitility.await().until(() -> keys.stream().allMatch(RedisClusterStoreTest::isFree));
        }
    }

    /** A grant has a waiter ask again while an answer is under way, which knows nothing of it yet. */
    @Test
    void aWaiterKeepsItsPlacesWhereALaterAnswerOvertakesAnEarlierOne() throws Exception {
        List<String> names = List.of("name 1", "name 2", "name 3");
        String last = "lockkeeper:lock:name 3";
        CountDownLatch late = new CountDownLatch(1);
        AtomicBoolean armed = new AtomicBoolean();
        JedisConnectionFactory connections = new JedisConnectionFactory(clusterConfiguration()) {
            @Override
            public RedisConnection getConnection() {
                return delaying(super.getConnection(), "lockkeeper:lock:name 2", armed, late);
            }
        };
        connections.afterPropertiesSet();
        connections.start();
        factories.add(connections);
        RedisLockStore.Options options = RedisLockStore.Options.defaults().withCommandTimeout(Duration.ofSeconds(8));
        AcquireCommand question =
                new AcquireCommand(names, "CLIENT00000000000001", ClaimMode.EXCLUSIVE, 30_000, true, 1);
        try (LockTemplate holder = template(Connections.JEDIS).build();
                RedisLockStore store = new RedisLockStore(connections, options)) {
            store.open(
                    StoredInstance.ofThisProcess("CLIENT000000", "test", ""),
                    Duration.ofSeconds(30),
                    new IgnoredMessages());
            LockLease second = holder.acquire("name 2");
            holder.acquire("name 3");
            assertThat(store.acquire(question).get(5, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Queued.class);
            armed.set(true);
            CompletableFuture<AcquireReply> earlier = store.acquire(question);
            Awaitility.await().until(() -> !armed.get());
            second.close();
            assertThat(store.acquire(question).get(5, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Queued.class);
            assertThat(cluster.masterOf(last).waiting(last)).isEqualTo(1);

            late.countDown();

            assertThat(earlier).succeedsWithin(Duration.ofSeconds(5)).isInstanceOf(AcquireReply.Queued.class);
        }
    }

    /** Returns a connection that keeps the next reply to a script over a key until it is told to give it. */
    private static RedisConnection delaying(
            RedisConnection connection, String key, AtomicBoolean armed, CountDownLatch late) {
        RedisScriptingCommands scripts = intercepted(RedisScriptingCommands.class, (method, arguments) -> {
            Object reply = method.invoke(connection.scriptingCommands(), arguments);
            if (method.getName().equals("evalSha")
                    && key.equals(new String(((byte[][]) arguments[3])[0], StandardCharsets.UTF_8))
                    && armed.getAndSet(false)) {
                late.await();
            }
            return reply;
        });
        return intercepted(
                RedisClusterConnection.class,
                (method, arguments) ->
                        method.getName().equals("scriptingCommands") ? scripts : method.invoke(connection, arguments));
    }

    private interface Interception {
        @Nullable
        Object call(Method method, @Nullable Object[] arguments) throws Exception;
    }

    private static <T> T intercepted(Class<T> type, Interception interception) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    try {
                        return interception.call(method, arguments);
                    } catch (InvocationTargetException failure) {
                        throw failure.getTargetException();
                    }
                }));
    }

    private static boolean isFree(String key) {
        return "".equals(cluster.masterOf(key).owner(key));
    }

    @ParameterizedTest
    @EnumSource
    void anyNameIsALockAndIsGranted(Connections driver) throws Exception {
        List<String> names = List.of(
                "{",
                "}",
                "{}",
                "}{",
                "{a}b{c}",
                "a{}{b}",
                "{{a}}",
                "{ }",
                "a b",
                " a",
                "a:b::c",
                "*?[a]",
                "\\",
                "\"'",
                "🔒",
                "{🔒}:ü",
                "line\nbreak",
                "x".repeat(512));
        try (LockTemplate template = template(driver, RedisContracts.PATIENT).build();
                LockTemplate other = template(driver, RedisContracts.PATIENT).build()) {
            awaitSubscriptions(2);
            for (String name : names) {
                String key = "lockkeeper:lock:" + name;
                LockLease lease = template.acquire(name);
                assertThat(lease.verify()).as(name).isTrue();
                assertThat(other.tryAcquire(name)).as(name).isEmpty();
                assertThat(cluster.masterOf(key).owner(key)).as(name).isNotEmpty();
                assertThat(other.inspector().find("*", 10))
                        .extracting(LockStatus::name)
                        .containsExactly(name);
                CompletableFuture<LockLease> next = other.acquireAsync(LockRequest.of(name));
                Awaitility.await().until(() -> cluster.masterOf(key).waiting(key) > 0);
                assertThat(lease.release()).as(name).isEqualTo(ReleaseResult.RELEASED);
                // A poll would come later.
                assertThat(next.get(20, TimeUnit.SECONDS).release()).as(name).isEqualTo(ReleaseResult.RELEASED);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aGrantReachesAWaiterWhateverNodeItListensTo(Connections driver) throws Exception {
        try (RespConnection listener = cluster.masters().get(0).connect();
                LockTemplate holder = template(driver, RedisContracts.PATIENT).build();
                LockTemplate waiting = template(driver, RedisContracts.PATIENT).build()) {
            awaitSubscriptions(2);
            List<LockLease> held = names(30).stream().map(holder::acquire).toList();
            assertThat(held)
                    .extracting(lease -> cluster.masterOf("lockkeeper:lock:" + lease.name()))
                    .containsAll(cluster.masters());
            List<CompletableFuture<Void>> next = names(30).stream()
                    .map(name -> waiting.acquireAsync(LockRequest.of(name).withWaitTime(Duration.ofSeconds(20)))
                            .thenAccept(LockLease::close))
                    .toList();
            Awaitility.await().until(() -> names(30).stream()
                    .map(name -> "lockkeeper:lock:" + name)
                    .noneMatch(key -> cluster.masterOf(key).waiting(key) == 0));
            listener.command("PSUBSCRIBE", "lockkeeper:grants:*");
            cluster.resetStatistics();
            held.forEach(LockLease::close);
            // Polls come every 25 s.
            CompletableFuture.allOf(next.toArray(CompletableFuture<?>[]::new)).get(20, TimeUnit.SECONDS);
            assertThat(grants(listener)).isEqualTo(30);
            assertThat(cluster.scriptCalls()).isEqualTo(60);
        }
    }

    /** Counts the messages that grant a lock among all, of which an instance sends some to itself now and then. */
    private static int grants(RespConnection listener) {
        cluster.masters().forEach(master -> master.command("PUBLISH", "lockkeeper:grants:all", "end"));
        int grants = 0;
        for (int ends = 0; ends < cluster.masters().size(); ) {
            String message = String.valueOf(listener.receive());
            grants += message.contains("grant ") ? 1 : 0;
            ends += message.endsWith(" end]") ? 1 : 0;
        }
        return grants;
    }

    @ParameterizedTest
    @EnumSource
    void scriptsThatANodeHasForgottenAreSentAgain(Connections driver) {
        try (LockTemplate template = template(driver).build()) {
            template.run("warm", lease -> {});
            cluster.masters().forEach(master -> master.command("SCRIPT", "FLUSH"));
            cluster.resetStatistics();
            for (String name : names(30)) {
                try (LockLease lease = template.acquire(name)) {
                    assertThat(lease.verify()).isTrue();
                }
            }
            // Acquire, inspect and release are texts once on each of the three masters.
            assertThat(cluster.calls("eval")).isEqualTo(9);
            assertThat(cluster.calls("evalsha")).isEqualTo(90);
        }
    }

    @ParameterizedTest
    @EnumSource
    void theFirstLockOnEachMasterIsOneRequest(Connections driver) {
        cluster.masters().forEach(master -> master.command("SCRIPT", "FLUSH"));
        try (LockTemplate template = template(driver).build()) {
            cluster.resetStatistics();
            Set<RedisServer> used = new HashSet<>();
            for (String name : names(30)) {
                template.run(name, lease -> {});
                used.add(cluster.masterOf("lockkeeper:lock:" + name));
            }
            assertThat(used).hasSize(3);
            assertThat(cluster.calls("evalsha")).isEqualTo(60);
            assertThat(cluster.calls("eval")).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource
    void holdsOfOneSlotAreRenewedByOneRequest(Connections driver) throws Exception {
        RedisConnectionFactory connections = driver.toCluster(cluster.ports());
        factories.add(connections);
        List<String> together =
                IntStream.range(0, 300).mapToObj(i -> "{one slot} " + i).toList();
        List<String> apart = List.of("b", "c", "d", "e");
        try (LockTemplate template = template(driver).build();
                RedisLockStore store = new RedisLockStore(connections, RedisLockStore.Options.defaults())) {
            store.open(
                    StoredInstance.ofThisProcess("CLIENT000000", "test", ""),
                    Duration.ofSeconds(30),
                    new IgnoredMessages());
            List<RenewCommand> commands = new ArrayList<>();
            for (int i = 0; i < 300; i++) {
                String name = together.get(i);
                boolean held = i % 3 == 0;
                commands.add(
                        new RenewCommand(name, held ? ownerAfterAcquire(template, name) : NO_HOLDER, 30_000, false, 0));
            }
            for (int i = 0; i < apart.size(); i++) {
                commands.add(
                        100 * i,
                        new RenewCommand(apart.get(i), ownerAfterAcquire(template, apart.get(i)), 30_000, false, 0));
            }
            cluster.resetStatistics();
            List<CompletableFuture<Boolean>> answers = store.renew(commands);
            for (int i = 0; i < commands.size(); i++) {
                assertThat(answers.get(i).get(5, TimeUnit.SECONDS))
                        .as(commands.get(i).name())
                        .isEqualTo(!commands.get(i).attempt().equals(NO_HOLDER));
            }
            // 250 and 50 of one slot, and one for each of the others.
            assertThat(cluster.scriptCalls()).isEqualTo(2 + apart.size());
        }
    }

    private static String ownerAfterAcquire(LockTemplate template, String name) {
        template.acquire(name);
        String key = "lockkeeper:lock:" + name;
        return String.valueOf(cluster.masterOf(key).owner(key));
    }
}
