/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.contract.RecordingListener;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** What happens to locks when something happens to a server that they are on. */
@Timeout(40)
class ServerEventsTest {

    private static final Duration LEASE = Duration.ofSeconds(6);
    private static final Duration LONG_LEASE = Duration.ofSeconds(30);
    private static final Duration LONG_POLL = Duration.ofSeconds(25);
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final RecordingListener events = new RecordingListener();
    private final List<RedisConnectionFactory> factories = new ArrayList<>();
    private RedisServer server;

    @BeforeEach
    void start() {
        server = RedisServer.start();
    }

    @AfterEach
    void stop() {
        factories.forEach(Connections::close);
        server.close();
    }

    private LockTemplate template(Connections driver) {
        return template(driver, LEASE);
    }

    private LockTemplate template(Connections driver, Duration lease) {
        RedisConnectionFactory connections = driver.to(server.port());
        factories.add(connections);
        RedisLockStore.Options options = RedisLockStore.Options.defaults();
        LockTemplate template = LockTemplate.builder(new RedisLockStore(
                        connections, lease.equals(LONG_LEASE) ? options.withPollInterval(LONG_POLL) : options))
                .leaseTime(lease)
                .shutdownWait(Duration.ZERO)
                .listener(events)
                .build();
        Awaitility.await().ignoreExceptionsInstanceOf(LockStoreException.class).until(() -> {
            template.run("warm", held -> {});
            return true;
        });
        return template;
    }

    /** Waits until a lock can be taken again, and returns how often that failed. */
    private static int failuresUntilTaken(LockTemplate template) {
        int[] failures = {0};
        Awaitility.await().atMost(PATIENCE).pollInterval(Duration.ofMillis(10)).until(() -> {
            try {
                template.run("again", lease -> {});
                return true;
            } catch (LockStoreException refused) {
                failures[0]++;
                return false;
            }
        });
        return failures[0];
    }

    @ParameterizedTest
    @EnumSource
    void aServerThatForgetsScriptsAgainAndAgainFailsNobody(Connections driver) {
        try (LockTemplate template = template(driver)) {
            for (int i = 0; i < 100; i++) {
                server.command("SCRIPT", "FLUSH");
                try (LockLease lease = template.acquire("stock")) {
                    assertThat(lease.verify()).isTrue();
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aRestartThatForgetsEverythingEndsHoldsAndNothingElse(Connections driver) {
        try (LockTemplate template = template(driver)) {
            LockLease lease = template.acquire("stock");
            long token = lease.fencingToken();
            server.restart();
            assertThat(failuresUntilTaken(template))
                    .as("callers who heard of it")
                    .isLessThanOrEqualTo(10);
            assertThat(lease.verify()).isFalse();
            Awaitility.await().atMost(LEASE).until(() -> !lease.isHeld());
            // Listeners hear of a loss after its callbacks.
            Awaitility.await().untilAsserted(() -> assertThat(events.events(LockListener.Lost.class))
                    .hasSize(1));
            assertThat(template.acquire("stock").fencingToken()).isGreaterThan(token);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aFlushEndsHoldsAndServesWaiters(Connections driver) throws Exception {
        try (LockTemplate template = template(driver, LEASE.dividedBy(2));
                LockTemplate other = template(driver, LEASE.dividedBy(2))) {
            LockLease lease = template.acquire("stock");
            CompletableFuture<LockLease> waiting = other.acquireAsync(LockRequest.of("stock"));
            Awaitility.await().until(() -> server.waiting("lockkeeper:lock:stock") > 0);
            server.command("FLUSHALL");
            LockLease next = waiting.get(2 * LEASE.toSeconds(), TimeUnit.SECONDS);
            assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
            Awaitility.await().atMost(LEASE).until(() -> !lease.isHeld());
            assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aReplicaRefusesAndHoldsGoOnWhenItIsTheMasterAgain(Connections driver) {
        try (LockTemplate template = template(driver)) {
            LockLease lease = template.acquire("stock");
            server.command("REPLICAOF", server.host(), "" + RedisServer.freePort());
            assertThatThrownBy(() -> template.acquire("other"))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("READONLY");
            Awaitility.await().until(() -> !events.events(LockListener.RenewalFailed.class)
                    .isEmpty());
            server.command("REPLICAOF", "NO", "ONE");
            assertThat(failuresUntilTaken(template)).isZero();
            Awaitility.await()
                    .until(() -> !events.events(LockListener.Renewed.class).isEmpty());
            assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    /** It may lead to a server that was the master once, and would never lead to another one by itself. */
    @ParameterizedTest
    @EnumSource
    void aConnectionThatFindsAReplicaIsMadeAnew(Connections driver) {
        try (LockTemplate template = template(driver)) {
            server.command("CONFIG", "SET", "slowlog-max-len", "100000");
            server.command("CONFIG", "SET", "slowlog-log-slower-than", "0");
            template.run("stock", lease -> {});
            assertThat(connectionsOfScripts()).isNotEmpty();
            server.command("REPLICAOF", server.host(), "" + RedisServer.freePort());
            // More than once: the address may move later.
            Awaitility.await().until(() -> {
                assertThatThrownBy(() -> template.acquire("other")).isInstanceOf(LockStoreException.class);
                return connectionsOfScripts().size() >= 3;
            });
            server.command("REPLICAOF", "NO", "ONE");
            Awaitility.await()
                    .ignoreExceptionsInstanceOf(LockStoreException.class)
                    .until(() -> template.tryRun("stock", lease -> {}));
        }
    }

    /** Returns the addresses from which scripts came, also those of connections that have ended since. */
    private Set<Object> connectionsOfScripts() {
        return ((List<?>) server.command("SLOWLOG", "GET", "100000"))
                .stream()
                        .map(entry -> (List<?>) entry)
                        .filter(entry -> ((List<?>) entry.get(3)).get(0).equals("EVALSHA"))
                        .map(entry -> entry.get(4))
                        .collect(Collectors.toSet());
    }

    @ParameterizedTest
    @EnumSource
    void aServerThatLoadsRefusesAndHoldsGoOn(Connections driver) {
        try (LockTemplate template = template(driver, LONG_LEASE);
                RespConnection reload = new RespConnection(server.host(), server.port(), LONG_LEASE)) {
            LockLease lease = template.acquire("stock");
            // Redis looks at its connections after every 2 MB that it has loaded.
            server.command("DEBUG", "POPULATE", "3000", "key", "10000");
            server.command("CONFIG", "SET", "rdbcompression", "no");
            server.command("CONFIG", "SET", "key-load-delay", "300");
            reload.send("DEBUG", "RELOAD");
            List<String> refusals = new ArrayList<>();
            Awaitility.await().atMost(LONG_LEASE.dividedBy(2)).until(() -> {
                try {
                    template.run("other", held -> {});
                } catch (LockStoreException refused) {
                    refusals.add(String.valueOf(refused.getMessage()));
                }
                return refusals.stream().anyMatch(refusal -> refusal.contains("LOADING"));
            });
            assertThat(reload.receive()).isEqualTo("OK");
            failuresUntilTaken(template);
            assertThat(lease.isHeld()).isTrue();
            assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aWaiterWhoseSubscriptionIsKilledHasItsTurnSoon(Connections driver) throws Exception {
        try (LockTemplate template = template(driver, LONG_LEASE);
                LockTemplate other = template(driver, LONG_LEASE)) {
            awaitSubscriptions(2);
            LockLease held = template.acquire("stock");
            CompletableFuture<LockLease> waiting = other.acquireAsync(LockRequest.of("stock"));
            Awaitility.await().until(() -> server.waiting("lockkeeper:lock:stock") > 0);
            server.command("CLIENT", "KILL", "TYPE", "pubsub");
            held.close();
            // A poll would come later.
            waiting.get(LONG_POLL.toSeconds() / 2, TimeUnit.SECONDS).close();
            awaitSubscriptions(2);
        }
    }

    private void awaitSubscriptions(int count) {
        Awaitility.await()
                .until(() ->
                        server.command("PUBSUB", "CHANNELS") instanceof List<?> channels && channels.size() == count);
    }

    @ParameterizedTest
    @EnumSource
    void withoutTheRightToChannelsPollingWorksAndIsSaidOnce(Connections driver) throws Exception {
        server.command("ACL", "SETUSER", "default", "resetchannels");
        Logger logger = (Logger) LoggerFactory.getLogger(GrantSubscription.class);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        logger.addAppender(lines);
        logger.setLevel(Level.WARN);
        try (LockTemplate template = template(driver, LEASE.dividedBy(2));
                LockTemplate other = template(driver, LEASE.dividedBy(2))) {
            LockLease held = template.acquire("stock");
            CompletableFuture<LockLease> waiting = other.acquireAsync(LockRequest.of("stock"));
            Awaitility.await().until(() -> server.waiting("lockkeeper:lock:stock") > 0);
            held.close();
            waiting.get(20, TimeUnit.SECONDS).close();
            Awaitility.await().during(Duration.ofMillis(700)).until(() -> lines.list.size() == 2);
            assertThat(lines.list).as("once for each instance").allMatch(line -> line.getFormattedMessage()
                    .contains("&lockkeeper:grants:*"));
        } finally {
            logger.setLevel(null);
            logger.detachAppender(lines);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"DEBUG SLEEP 1.5", "CLIENT PAUSE 1500 WRITE", "CLIENT PAUSE 1500 ALL"})
    void aStandstillShorterThanTheCommandTimeoutFailsNobody(String command) {
        try (LockTemplate jedis = template(Connections.JEDIS);
                LockTemplate lettuce = template(Connections.LETTUCE);
                RespConnection standstill = server.connect()) {
            LockLease one = jedis.acquire("one");
            LockLease two = lettuce.acquire("two");
            standstill.send(command.split(" "));
            jedis.run("three", lease -> {});
            lettuce.run("four", lease -> {});
            assertThat(one.release()).isEqualTo(ReleaseResult.RELEASED);
            assertThat(two.release()).isEqualTo(ReleaseResult.RELEASED);
            assertThat(events.events(LockListener.RenewalFailed.class)).isEmpty();
        }
    }
}
