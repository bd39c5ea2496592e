/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.replication.ReplicatedCommands.Acks;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** What is said at the start of servers that are set up so that locks suffer. */
@Timeout(30)
class ServerChecksTest {

    private static final String WHOLE_LINE = "ACL SETUSER <user> resetkeys ~lockkeeper:*"
            + " resetchannels &lockkeeper:grants:* +eval +evalsha"
            + " +script|load +time +exists +hget +hmget +hkeys +hset +hdel +unlink +pexpire +pttl +scan +publish +subscribe"
            + " +unsubscribe +setex +mget +del +info +hello +client (without the two resets the user keeps other keys and channels)";
    private static final String RIGHTS =
            "+eval +evalsha +time +exists +hget +hmget +hkeys +hset +hdel +unlink +pexpire +pttl +scan +publish +subscribe"
                    + " +unsubscribe +setex +mget +del +info +ping +hello +client ~lockkeeper:*";

    private final Logger logger = (Logger) LoggerFactory.getLogger(RedisLockStore.class);
    private final Logger subscription = (Logger) LoggerFactory.getLogger(GrantSubscription.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

    @BeforeEach
    void listen() {
        lines.start();
        logger.addAppender(lines);
        subscription.addAppender(lines);
        logger.setLevel(Level.WARN);
        subscription.setLevel(Level.WARN);
    }

    @AfterEach
    void stop() {
        logger.detachAppender(lines);
        subscription.detachAppender(lines);
        logger.setLevel(null);
        subscription.setLevel(null);
    }

    private List<String> said() {
        return List.copyOf(lines.list).stream()
                .map(ILoggingEvent::getFormattedMessage)
                .filter(line -> !line.startsWith("Redis does not answer yet"))
                .toList();
    }

    private static LockTemplate template(RedisConnectionFactory connections, String acks) {
        RedisLockStore.Options options =
                RedisLockStore.Options.defaults().withReplicaAcks(acks, Duration.ofMillis(500));
        return LockTemplate.builder(new RedisLockStore(connections, options))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    private void withUser(Connections driver, RedisServer server, String rights, Runnable work) {
        String reset = rights.startsWith("-") ? "" : "resetchannels ";
        server.command(("ACL SETUSER locks on >secret " + reset + rights).split(" "));
        RedisConnectionFactory connections = driver.to(server.port(), "locks", "secret");
        try (LockTemplate template = template(connections, "0")) {
            template.tryAcquire(LockRequest.of("stock")).ifPresent(lease -> lease.close());
            work.run();
        } catch (LockStoreException refused) {
            work.run();
        } finally {
            Connections.close(connections);
        }
    }

    /** Asserts that one line tells which rights a user lacks who cannot lock. */
    private void assertLack(Connections driver, RedisServer server, String rights, String missing) {
        server.command(("ACL SETUSER locks on >secret resetchannels " + rights).split(" "));
        RedisConnectionFactory connections = driver.to(server.port(), "locks", "secret");
        try (LockTemplate template = template(connections, "0")) {
            assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> template.tryAcquire("stock"));
            Awaitility.await().untilAsserted(() -> assertThat(said())
                    .filteredOn(line -> line.contains("lacks rights"))
                    .singleElement()
                    .asString()
                    .endsWith("are not known: " + missing + ". Give it all of these: " + WHOLE_LINE));
            // Closing would wait for seconds until what was asked for can be given back.
            server.command("ACL", "SETUSER", "locks", "allkeys", "+@all");
        } finally {
            Connections.close(connections);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aSoundServerIsNotTalkedAbout(Connections driver) {
        try (RedisServer server = RedisServer.start()) {
            RedisConnectionFactory connections = driver.to(server.port());
            try (LockTemplate template = template(connections, "0")) {
                template.run("stock", lease -> {});
            } finally {
                Connections.close(connections);
            }
        }
        assertThat(said()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"JEDIS, allkeys-lru, 7.0", "LETTUCE, volatile-ttl, 7.0", "JEDIS, volatile-lru, 6.2"})
    void anEvictingServerIsALine(Connections driver, String policy, String version) {
        try (RedisServer server = RedisServer.startVersion(version, "--maxmemory-policy", policy)) {
            RedisConnectionFactory connections = driver.to(server.port());
            try (LockTemplate template = template(connections, "0")) {
                template.run("stock", lease -> {});
            } finally {
                Connections.close(connections);
            }
        }
        assertThat(said())
                .singleElement()
                .asString()
                .startsWith("Redis: maxmemory-policy is " + policy)
                .contains("Set maxmemory-policy noeviction");
    }

    @ParameterizedTest
    @EnumSource
    void theMasterOfAClusterIsNamed(Connections driver) {
        try (RedisCluster cluster = RedisCluster.start()) {
            RedisServer evicting = cluster.masters().get(1);
            evicting.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu");
            RedisConnectionFactory connections = driver.toCluster(cluster.ports());
            try (LockTemplate template = template(connections, "0")) {
                template.run("stock", lease -> {});
            } finally {
                Connections.close(connections);
            }
            assertThat(said())
                    .singleElement()
                    .asString()
                    .startsWith("Redis 127.0.0.1:" + evicting.port() + ": maxmemory-policy is allkeys-lfu");
        }
    }

    @ParameterizedTest
    @EnumSource
    void replicaAcksWithoutLeastReplicasAreALine(Connections driver) {
        try (RedisServer server = RedisServer.start()) {
            RedisConnectionFactory connections = driver.to(server.port());
            try (LockTemplate template = template(connections, "1")) {
                assertThat(said())
                        .singleElement()
                        .asString()
                        .contains("although locks wait for acks of replicas", "Set min-replicas-to-write 1")
                        .doesNotContain("lockkeeper.redis");
            }
            lines.list.clear();
            server.command("CONFIG", "SET", "min-replicas-to-write", "1");
            try (LockTemplate template = template(connections, "1")) {
                assertThat(said()).isEmpty();
            } finally {
                Connections.close(connections);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"-5000, ahead of", "5000, behind", "-300, ahead of", "300, behind", "-20, ''", "20, ''"})
    void aClockThatIsFarAwayIsALine(long offset, String where) throws Exception {
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        try (RedisServer server = RedisServer.start()) {
            RedisConnectionFactory connections = Connections.JEDIS.to(server.port());
            try (RedisCommands driver = new RedisCommands(
                    connections, Duration.ofSeconds(2), timer, Acks.of("0", Duration.ofMillis(500)))) {
                driver.prepare(ScriptCalls.scripts(0, 0).all()).get(10, TimeUnit.SECONDS);
                InstantSource clock = () -> InstantSource.system().instant().plusMillis(offset);
                doctor(driver, clock).examine().get(10, TimeUnit.SECONDS);
            } finally {
                Connections.close(connections);
            }
        } finally {
            timer.shutdownNow();
        }
        if (where.isEmpty()) {
            assertThat(said()).isEmpty();
        } else {
            assertThat(said()).singleElement().asString().contains("its clock is", where, "Let NTP set both");
        }
    }

    private static ServerChecks doctor(RedisCommands driver, InstantSource clock) {
        return new ServerChecks(driver, new RedisNames("lockkeeper"), "CLIENT000000", false, clock);
    }

    @ParameterizedTest
    @CsvSource({"JEDIS, 6.2", "LETTUCE, 6.2", "JEDIS, 7.0", "LETTUCE, 7.0"})
    void rightsThatAreEnoughAreNotTalkedAbout(Connections driver, String version) {
        try (RedisServer server = RedisServer.startVersion(version)) {
            withUser(driver, server, RIGHTS + " &lockkeeper:grants:*", () -> assertThat(said())
                    .isEmpty());
        }
    }

    @ParameterizedTest
    @CsvSource({"JEDIS, 6.2", "LETTUCE, 6.2", "JEDIS, 7.0", "LETTUCE, 7.0"})
    void commandsThatTheUserMayNotRunAreNamed(Connections driver, String version) {
        try (RedisServer server = RedisServer.startVersion(version)) {
            assertLack(driver, server, RIGHTS + " &lockkeeper:grants:* -pexpire -scan -mget", "+mget +pexpire +scan");
        }
    }

    /** The line that is told works for every user as it is: also for one that has all channels, or all keys. */
    @ParameterizedTest
    @CsvSource({
        "JEDIS, 6.2, allchannels",
        "LETTUCE, 7.0, allchannels",
        "JEDIS, 7.0, allkeys",
        "LETTUCE, 6.2, allkeys &other:*"
    })
    void whoIsGivenTheLineThatIsToldCanLock(Connections driver, String version, String rights) {
        try (RedisServer server = RedisServer.startVersion(version)) {
            withUser(driver, server, rights + " +hello +client +ping", () -> {});
            String told = WHOLE_LINE.substring(0, WHOLE_LINE.indexOf(" (")).replace("<user>", "locks");
            assertThat(server.command(told.split(" "))).isEqualTo("OK");
            lines.list.clear();
            withUser(driver, server, "-ping", () -> assertThat(said()).isEmpty());
        }
    }

    @Test
    void theLineIsOfAPrefixAsItIsAndNotAsAPattern() {
        try (RedisServer server = RedisServer.start()) {
            server.command("ACL", "SETUSER", "locks", "on", ">secret", "+hello", "+client", "+ping");
            String prefix = "app[1]*";
            String told = new RedisNames(prefix).rights().replace("<user>", "locks");
            assertThat(server.command(told.substring(0, told.indexOf(" (")).split(" ")))
                    .isEqualTo("OK");
            RedisConnectionFactory connections = Connections.JEDIS.to(server.port(), "locks", "secret");
            RedisLockStore.Options options = RedisLockStore.Options.defaults().withKeyPrefix(prefix);
            try (LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, options))
                    .build()) {
                assertThat(template.tryRun("stock", lease -> {})).isTrue();
                assertThat(server.command("ACL", "DRYRUN", "locks", "GET", "app1x:lock:stock"))
                        .isNotEqualTo("OK");
            } finally {
                Connections.close(connections);
            }
        }
    }

    /** It is tried by the first script that has rights to look at. */
    @ParameterizedTest
    @EnumSource
    void theRightToRunAScriptByItsHashIsLookedAt(Connections driver) {
        try (RedisServer server = RedisServer.start()) {
            assertLack(driver, server, RIGHTS + " &lockkeeper:grants:* -evalsha", "+evalsha");
        }
    }

    @ParameterizedTest
    @CsvSource({"JEDIS, 6.2", "LETTUCE, 6.2", "JEDIS, 7.0", "LETTUCE, 7.0"})
    void keysThatTheUserMayNotTouchAreNamed(Connections driver, String version) {
        try (RedisServer server = RedisServer.startVersion(version)) {
            String others = RIGHTS.replace("~lockkeeper:*", "~other:*") + " &lockkeeper:grants:*";
            assertLack(driver, server, others, "~lockkeeper:*");
        }
    }

    @ParameterizedTest
    @CsvSource({"JEDIS, 6.2", "LETTUCE, 6.2", "JEDIS, 7.0", "LETTUCE, 7.0"})
    void aUserWhoMayNotAskIsToldNothing(Connections driver, String version) {
        try (RedisServer server = RedisServer.startVersion(version, "--maxmemory-policy", "allkeys-lru")) {
            withUser(driver, server, RIGHTS + " &lockkeeper:grants:* -info", () -> assertThat(said())
                    .isEmpty());
        }
    }

    /** There is no older server for tests. */
    @ParameterizedTest
    @CsvSource({"5.0.14, 1", "6.0.20, 1", "6.2.0, 0", "7.0.15, 0", "8.2.1, 0", "255.255.255, 0", "'', 0"})
    void anOldVersionIsALine(String version, int count) {
        try (RedisServer server = RedisServer.start()) {
            RedisConnectionFactory connections = Connections.JEDIS.to(server.port());
            ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
            try (RedisCommands driver = new RedisCommands(
                    connections, Duration.ofSeconds(2), timer, Acks.of("0", Duration.ofMillis(500)))) {
                Properties info = new Properties();
                info.setProperty("redis_version", version);
                doctor(driver, InstantSource.system()).warnOfServers(Map.of("", info), 0);
            } finally {
                timer.shutdownNow();
                Connections.close(connections);
            }
        }
        assertThat(said()).hasSize(count).allMatch(line -> line.endsWith("is 6.2: upgrade it."));
    }
}
