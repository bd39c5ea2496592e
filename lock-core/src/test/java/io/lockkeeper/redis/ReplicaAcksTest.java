/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.contract.RecordingListener;
import io.lockkeeper.redis.replication.ReplicatedCommands.Acks;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.LockRecord;
import io.lockkeeper.testing.RedisRequest;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Locks that count only when replicas have them, on a master with one replica or two. */
@Timeout(40)
@Execution(ExecutionMode.CONCURRENT)
class ReplicaAcksTest {

    private static final Duration LEASE = Duration.ofSeconds(6);

    /** Half the command timeout: on a busy machine a replica answers late. */
    private static final Duration ACK_TIMEOUT = Duration.ofSeconds(1);

    private final RecordingListener events = new RecordingListener();
    private final List<RedisServer> replicas = new ArrayList<>();
    private final List<RedisConnectionFactory> factories = new ArrayList<>();
    private RedisServer master;

    @BeforeEach
    void start() {
        master = RedisServer.start("--repl-diskless-sync-delay", "0");
        addReplica();
    }

    @AfterEach
    void stop() {
        factories.forEach(Connections::close);
        replicas.forEach(RedisServer::close);
        master.close();
    }

    private RedisServer addReplica() {
        RedisServer replica = RedisServer.start("--replicaof", master.host(), "" + master.port());
        replicas.add(replica);
        Awaitility.await()
                .until(() -> String.valueOf(master.command("INFO", "replication"))
                                        .lines()
                                        .filter(line -> line.contains("state=online"))
                                        .count()
                                == replicas.size()
                        && String.valueOf(replica.command("INFO", "replication"))
                                .contains("master_link_status:up"));
        return replica;
    }

    private LockTemplate template(Connections driver, int port, String acks) {
        return template(driver.to(port), acks);
    }

    private LockTemplate template(RedisConnectionFactory connections, String acks) {
        factories.add(connections);
        RedisLockStore.Options options = RedisLockStore.Options.defaults().withReplicaAcks(acks, ACK_TIMEOUT);
        LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, options))
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .listener(events)
                .build();
        // A replica that has just come may need longer than an ack.
        Awaitility.await().ignoreExceptionsInstanceOf(LockStoreException.class).until(() -> {
            template.run("warm", lease -> {});
            return true;
        });
        return template;
    }

    private static long until(RedisServer server) {
        return Objects.requireNonNull(LockRecord.of(server, "lockkeeper:lock:stock"))
                .until();
    }

    private static String owner(RedisServer server, String name) {
        return String.valueOf(server.owner("lockkeeper:lock:" + name));
    }

    @ParameterizedTest
    @EnumSource
    void aHolderBelievesWhenTheReplicaHasItsLock(Connections driver) {
        try (LockTemplate template = template(driver, master.port(), "1")) {
            for (int i = 0; i < 20; i++) {
                try (LockLease lease = template.acquire("stock " + i)) {
                    assertThat(owner(replicas.get(0), "stock " + i))
                            .isNotEmpty()
                            .isEqualTo(owner(master, "stock " + i));
                    assertThat(lease.verify()).isTrue();
                }
            }
            master.command("SCRIPT", "FLUSH");
            template.acquire("stock").close();
            // One request to acquire and one to release, as ever; and one WAIT.
            master.resetStatistics();
            template.acquire("stock").close();
            assertThat(master.scriptCalls()).isEqualTo(2);
            assertThat(master.calls("wait")).isEqualTo(1);
        }
    }

    /** What stands between a client and the server may forget a connection that is idle. */
    @ParameterizedTest
    @EnumSource
    void theConnectionIsUsedNowAndThen(Connections driver) {
        RedisConnectionFactory connections = driver.to(master.port());
        factories.add(connections);
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        try (RedisCommands commands =
                new RedisCommands(connections, Duration.ofSeconds(5), timer, Acks.of("1", ACK_TIMEOUT))) {
            commands.prepare(ScriptCalls.scripts(0, 0).all()).join();
            Awaitility.await().until(() -> master.calls("time") == 3);
            commands.keepAlive();
            Awaitility.await().until(() -> master.calls("time") == 4);
        } finally {
            timer.shutdownNow();
        }
    }

    @ParameterizedTest
    @EnumSource
    void tooFewAcksReleaseTheLockAndTellTheCaller(Connections driver) {
        try (LockTemplate template = template(driver, master.port(), "1")) {
            replicas.get(0).pause();
            assertThatThrownBy(() -> template.acquire("stock"))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("only 0 of 1 replicas had the lock within 1000 ms");
            Awaitility.await().until(() -> owner(master, "stock").isEmpty());
            replicas.get(0).resume();
            Awaitility.await()
                    .ignoreExceptionsInstanceOf(LockStoreException.class)
                    .until(() -> {
                        template.acquire("stock").close();
                        return true;
                    });
        }
    }

    @ParameterizedTest
    @EnumSource
    void aMasterThatWasCutOffCannotKeepALeaseAlive(Connections driver) {
        try (LockTemplate template = template(driver, master.port(), "1")) {
            LockLease lease = template.acquire("stock");
            Duration remaining = lease.remaining();
            // Not before the end: a thread may lose its processor between the two.
            Instant deadline = Instant.now().plus(remaining);
            long until = until(master);
            // The replica takes over, and the old master goes on answering.
            replicas.get(0).command("REPLICAOF", "NO", "ONE");
            Awaitility.await().until(() -> !events.events(LockListener.RenewalFailed.class)
                    .isEmpty());
            assertThat(until(master)).as("the old master renewed it").isGreaterThan(until);
            assertThat(Instant.now().plus(lease.remaining())).isBefore(deadline.plus(LEASE.dividedBy(10)));
            Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> !lease.isHeld());
            assertThat(events.events(LockListener.Renewed.class)).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void renewalsWithAcksKeepALeaseAlive(Connections driver) {
        try (LockTemplate template = template(driver, master.port(), "1")) {
            List<LockLease> leases = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                leases.add(template.acquire("stock " + i));
            }
            Awaitility.await()
                    .atMost(Duration.ofSeconds(20))
                    .until(() -> events.events(LockListener.Renewed.class).size() >= 150);
            assertThat(leases).allMatch(LockLease::isHeld);
            assertThat(leases).allMatch(lease -> lease.release() == ReleaseResult.RELEASED);
            assertThat(events.events(LockListener.RenewalFailed.class)).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void aGrantIsClaimedWithAcks(Connections driver) throws Exception {
        try (LockTemplate one = template(driver, master.port(), "1");
                LockTemplate two = template(driver, master.port(), "1")) {
            Awaitility.await()
                    .until(() ->
                            master.command("PUBSUB", "CHANNELS") instanceof List<?> channels && channels.size() == 2);
            LockLease held = one.acquire("stock");
            CompletableFuture<LockLease> next = two.acquireAsync(LockRequest.of("stock"));
            Awaitility.await().until(() -> master.waiting("lockkeeper:lock:stock") > 0);
            replicas.get(0).pause();
            held.close();
            assertThat(owner(master, "stock")).isNotEmpty();
            Awaitility.await().during(ACK_TIMEOUT.plusMillis(700)).until(() -> !next.isDone());
            replicas.get(0).resume();
            next.get(10, TimeUnit.SECONDS).close();
        }
    }

    @ParameterizedTest
    @EnumSource
    void allMeansThoseThatWereThere(Connections driver) {
        try (LockTemplate template = template(driver, master.port(), "all")) {
            template.run("stock", lease -> assertThat(owner(replicas.get(0), "stock"))
                    .isNotEmpty());
            RedisServer second = addReplica();
            // A replica that has just come may be slow with its first acknowledgement.
            Awaitility.await()
                    .ignoreExceptionsInstanceOf(LockStoreException.class)
                    .until(() -> {
                        template.run("stock", lease -> assertThat(owner(second, "stock"))
                                .isNotEmpty());
                        return true;
                    });
            second.pause();
            assertThatThrownBy(() -> template.acquire("stock"))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("only 1 of 2 replicas");
            second.resume();
            second.kill();
            Awaitility.await().until(() -> String.valueOf(master.command("INFO", "replication"))
                    .contains("connected_slaves:1"));
            assertThatThrownBy(() -> template.acquire("stock"))
                    .as("one that is gone is still missing")
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("only 1 of 2 replicas");
        }
    }

    @ParameterizedTest
    @EnumSource
    void anAckOfAnotherConnectionIsNoAck(Connections driver) throws Exception {
        try (FaultProxy network = FaultProxy.inFrontOf(master);
                LockTemplate template = template(driver, network.port(), "1")) {
            replicas.get(0).pause();
            // A new connection has written nothing: WAIT says at once how many replicas there are.
            Fault cut = network.when(RedisRequest.command("WAIT")).once().cutReply();
            assertThatThrownBy(() -> template.acquire("stock")).isInstanceOf(LockStoreException.class);
            cut.awaitCompleted(1, Duration.ofSeconds(5));
            Awaitility.await().until(() -> owner(master, "stock").isEmpty());
            replicas.get(0).resume();
        }
    }

    /** As it is where the application's own factory is stopped, set and started. */
    @ParameterizedTest
    @EnumSource
    void aPasswordThatHasChangedIsUsed(Connections driver) {
        master.command("ACL SETUSER locks on >old ~* &* +@all".split(" "));
        RedisConnectionFactory connections = driver.to(master.port(), "locks", "old");
        try (LockTemplate template = template(connections, "1")) {
            master.command("ACL SETUSER locks <old >new".split(" "));
            Connections.restart(connections, "new");
            master.command("CLIENT", "KILL", "USER", "locks");
            Awaitility.await()
                    .ignoreExceptionsInstanceOf(LockStoreException.class)
                    .until(() -> {
                        template.run("stock", lease -> {});
                        return true;
                    });
        }
    }

    @ParameterizedTest
    @EnumSource
    void aPasswordThatIsSetLaterIsUsed(Connections driver) {
        RedisConnectionFactory connections = driver.to(master.port());
        try (RespConnection operator = master.connect();
                LockTemplate template = template(connections, "1")) {
            // The connection of the replica stays.
            operator.command("CONFIG", "SET", "requirepass", "secret");
            operator.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
            assertThatThrownBy(() -> template.acquire("stock")).isInstanceOf(LockStoreException.class);
            Connections.restart(connections, "secret");
            Awaitility.await()
                    .ignoreExceptionsInstanceOf(LockStoreException.class)
                    .until(() -> template.tryRun("stock", lease -> {}));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aStoreMayBeClosedTwice(Connections driver) {
        RedisConnectionFactory connections = driver.to(master.port());
        factories.add(connections);
        RedisLockStore store = new RedisLockStore(
                connections, RedisLockStore.Options.defaults().withReplicaAcks("1", ACK_TIMEOUT));
        try (LockTemplate template = LockTemplate.builder(store).build()) {
            // A replica that has just come may need longer than an ack.
            Awaitility.await()
                    .ignoreExceptionsInstanceOf(LockStoreException.class)
                    .until(() -> template.tryRun("stock", lease -> {}));
        }
        assertThatCode(store::close).doesNotThrowAnyException();
    }

    @ParameterizedTest
    @EnumSource
    void aHundredCallersShareTheWaits(Connections driver) throws Exception {
        try (LockTemplate template = template(driver, master.port(), "1")) {
            master.resetStatistics();
            List<CompletableFuture<LockLease>> leases = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                leases.add(template.acquireAsync(LockRequest.of("stock " + i)));
            }
            for (CompletableFuture<LockLease> lease : leases) {
                assertThat(lease.get(10, TimeUnit.SECONDS).isHeld()).isTrue();
            }
            assertThat(master.calls("wait")).isLessThan(100);
            assertThat(master.scriptCalls()).isEqualTo(100);
        }
    }
}
