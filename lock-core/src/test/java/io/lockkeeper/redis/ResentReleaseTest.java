/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.RedisClusterClient;

/** A release that ran, whose answer was lost with the connection, and which the driver sends again. */
@Timeout(40)
class ResentReleaseTest {

    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final RedisLockStore.Options PATIENT =
            RedisLockStore.Options.defaults().withCommandTimeout(Duration.ofSeconds(5));

    @ParameterizedTest
    @CsvSource({"JEDIS, 0", "LETTUCE, 0", "JEDIS, 1", "LETTUCE, 1"})
    void isNoLossAlthoughTheNextHolderHasComeAndGone(Connections driver, String acks) throws Exception {
        RedisLockStore.Options options = PATIENT.withReplicaAcks(acks, Duration.ofSeconds(2));
        try (RedisServer server = RedisServer.start("--repl-diskless-sync-delay", "0");
                RedisServer replica = RedisServer.start("--replicaof", server.host(), "" + server.port());
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            Awaitility.await().until(() -> String.valueOf(replica.command("INFO", "replication"))
                    .contains("master_link_status:up"));
            assertNoLoss(driver.to(server.port()), driver.to(network.port()), network, options);
        }
    }

    /** In a cluster the clients send again by themselves what had no answer. */
    @ParameterizedTest
    @EnumSource
    void isNoLossInAClusterEither(Connections driver) throws Exception {
        try (RedisServer server = RedisCluster.ofOne();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            server.command("CONFIG", "SET", "cluster-announce-port", "" + network.port());
            List<Integer> ports = List.of(network.port());
            assertNoLoss(driver.toCluster(ports), driver.toCluster(ports), network, PATIENT);
        }
    }

    /** Then Lettuce is used through Spring Data, as it is before its first connection. */
    @Test
    void isNoLossOverAConnectionOfLettuceThatIsNotShared() throws Exception {
        try (RedisServer server = RedisServer.start();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            LettuceConnectionFactory faulty = (LettuceConnectionFactory) Connections.LETTUCE.to(network.port());
            faulty.setShareNativeConnection(false);
            assertNoLoss(Connections.LETTUCE.to(server.port()), faulty, network, PATIENT);
        }
    }

    /** As a factory does that chooses among several, and never needs a client of its own. */
    @Test
    void isNoLossOverAFactoryThatGivesTheConnectionsOfAnother() throws Exception {
        LettuceConnectionFactory real = null;
        try (RedisServer server = RedisServer.start();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            LettuceConnectionFactory other = (LettuceConnectionFactory) Connections.LETTUCE.to(network.port());
            real = other;
            LettuceConnectionFactory routing = new LettuceConnectionFactory() {
                @Override
                public RedisConnection getConnection() {
                    return other.getConnection();
                }
            };
            assertNoLoss(Connections.LETTUCE.to(server.port()), routing, network, PATIENT);
        } finally {
            if (real != null) {
                Connections.close(real);
            }
        }
    }

    /** A connection that ends because its user closes it has nothing to send again. */
    @Test
    void isALossThoughAnotherConnectionOfLettuceWasClosed() throws Exception {
        try (RedisServer server = RedisServer.start();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            RedisConnectionFactory faulty = Connections.LETTUCE.to(network.port());
            assertLoss(faulty, server, network, () -> {
                RedisConnection transaction = faulty.getConnection();
                transaction.multi();
                transaction.discard();
                transaction.close();
                Awaitility.await().until(() -> !String.valueOf(server.command("CLIENT", "LIST"))
                        .contains("cmd=discard"));
            });
        }
    }

    /** A connection that was idle for too long had no command under way when its pool ended it. */
    @Test
    void isALossThoughThePoolOfJedisEndedAnIdleConnection() throws Exception {
        try (RedisServer server = RedisCluster.ofOne();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            server.command("CONFIG", "SET", "cluster-announce-port", "" + network.port());
            RedisConnectionFactory faulty = Connections.JEDIS.toCluster(List.of(network.port()));
            assertLoss(faulty, server, network, () -> {
                try (RedisConnection connection = faulty.getConnection()) {
                    RedisClusterClient client = (RedisClusterClient) connection.getNativeConnection();
                    for (ConnectionPool pool : client.getClusterNodes().values()) {
                        pool.setMinEvictableIdleDuration(Duration.ofNanos(1));
                        pool.addObject();
                        pool.evict();
                        assertThat(pool.getDestroyedByEvictorCount()).isPositive();
                    }
                }
            });
        }
    }

    /** A copy that a replica refused has not run: what Redis says to the next one is the answer. */
    @Test
    void isALossThoughAReplicaRefusedTheFirstCopy() throws Exception {
        try (RedisServer server = RedisServer.start();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            RedisConnectionFactory faulty = Connections.LETTUCE.to(network.port());
            try (LockTemplate template = template(faulty, PATIENT)) {
                LockLease lease = template.acquire("stock");
                network.when(ScriptRequests.RELEASE).once().delayRequest(Duration.ofMillis(1));
                Fault second = network.when(ScriptRequests.RELEASE).once().hold();
                server.command("REPLICAOF", "127.0.0.1", "1");
                CompletableFuture<ReleaseResult> released = CompletableFuture.supplyAsync(lease::release);
                second.awaitHits(1, PATIENCE);
                server.command("REPLICAOF", "NO", "ONE");
                server.command("FLUSHALL");
                second.deliver();

                assertThat(released.get(10, TimeUnit.SECONDS)).isEqualTo(ReleaseResult.LOST);
            } finally {
                Connections.close(faulty);
            }
        }
    }

    /** The refusal of the copy that Lettuce sent by itself tells nothing of the first one, which ran. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void isNoLossThoughAReplicaRefusedTheSecondCopy(boolean shares) throws Exception {
        try (RedisServer server = RedisServer.start();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            RedisConnectionFactory direct = Connections.JEDIS.to(server.port());
            LettuceConnectionFactory faulty = (LettuceConnectionFactory) Connections.LETTUCE.to(network.port());
            faulty.setShareNativeConnection(shares);
            try (LockTemplate other = template(direct, PATIENT);
                    LockTemplate template = template(faulty, PATIENT)) {
                Awaitility.await().ignoreExceptions().until(() -> template.tryRun("warm", lease -> {}));
                LockLease lease = template.acquire("stock");
                network.when(ScriptRequests.RELEASE).once().cutReply();
                Fault second = network.when(ScriptRequests.RELEASE).once().hold();
                Fault third = network.when(ScriptRequests.RELEASE).once().hold();
                CompletableFuture<ReleaseResult> released = CompletableFuture.supplyAsync(lease::release);
                second.awaitHits(1, PATIENCE);
                Awaitility.await().until(() -> other.tryRun("stock", next -> {}));
                server.command("REPLICAOF", "127.0.0.1", "1");
                second.deliver();
                third.awaitHits(1, PATIENCE);
                server.command("REPLICAOF", "NO", "ONE");
                third.deliver();

                assertThat(released.get(10, TimeUnit.SECONDS)).isEqualTo(ReleaseResult.UNKNOWN);
            } finally {
                Connections.close(faulty);
                Connections.close(direct);
            }
        }
    }

    /** Loses a lock, and does something while the answer to its release is on its way. */
    private static void assertLoss(
            RedisConnectionFactory faulty, RedisServer server, FaultProxy network, ThrowingRunnable meanwhile)
            throws Exception {
        try (LockTemplate template = template(faulty, PATIENT)) {
            Awaitility.await().ignoreExceptions().until(() -> template.tryRun("warm", lease -> {}));
            LockLease lease = template.acquire("stock");
            Fault held = network.when(ScriptRequests.RELEASE).once().hold();
            CompletableFuture<ReleaseResult> released = CompletableFuture.supplyAsync(lease::release);
            held.awaitHits(1, PATIENCE);
            server.command("FLUSHALL");
            try {
                meanwhile.run();
            } catch (Throwable failure) {
                throw new AssertionError(failure);
            }
            held.deliver();

            assertThat(released.get(10, TimeUnit.SECONDS)).isEqualTo(ReleaseResult.LOST);
        } finally {
            Connections.close(faulty);
        }
    }

    /** Cuts the reply to a release that has run, and keeps the second copy until another holder has come and gone. */
    private static void assertNoLoss(
            RedisConnectionFactory direct,
            RedisConnectionFactory faulty,
            FaultProxy network,
            RedisLockStore.Options options)
            throws Exception {
        try (LockTemplate other = template(direct, options);
                LockTemplate template = template(faulty, options)) {
            // A replica that has just come may need longer than an ack.
            Awaitility.await().ignoreExceptions().until(() -> template.tryRun("warm", lease -> {}));
            LockLease lease = template.acquire("stock");
            AtomicBoolean told = new AtomicBoolean();
            lease.onLost(loss -> told.set(true));
            Fault cut = network.when(ScriptRequests.RELEASE).once().cutReply();
            Fault second = network.when(ScriptRequests.RELEASE).once().hold();
            CompletableFuture<ReleaseResult> released = CompletableFuture.supplyAsync(lease::release);
            cut.awaitCompleted(1, PATIENCE);
            second.awaitHits(1, PATIENCE);
            Awaitility.await().until(() -> other.tryRun("stock", next -> {}));
            second.deliver();

            assertThat(released.get(10, TimeUnit.SECONDS)).isEqualTo(ReleaseResult.UNKNOWN);
            assertThat(told).isFalse();
            try (LockLease next = template.acquire("stock")) {
                assertThat(next.verify()).isTrue();
            }
        } finally {
            Connections.close(faulty);
            Connections.close(direct);
        }
    }

    private static LockTemplate template(RedisConnectionFactory connections, RedisLockStore.Options options) {
        return LockTemplate.builder(new RedisLockStore(connections, options))
                .shutdownWait(Duration.ZERO)
                .build();
    }
}
