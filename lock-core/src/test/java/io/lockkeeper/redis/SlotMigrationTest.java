/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.data.redis.connection.ClusterSlotHashUtil;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** A slot that moves between masters, again and again, while its locks are taken. */
@Timeout(60)
class SlotMigrationTest {

    private static final int MOVES = 8;
    private static final int THREADS = 4;
    private static final int LEAST_TAKEN = 100;
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final String NAME = "{moving} ";

    private static final String FIRST = "FIRSTCLIENT100000001";

    /** How long places and grants last, ms. */
    private static final long ALIVE = 20_000;

    private static final long GRANT = 3_000;

    private static RedisCluster cluster;

    @BeforeAll
    static void startCluster() {
        cluster = RedisCluster.start(1);
    }

    @AfterAll
    static void stopCluster() {
        cluster.close();
    }

    @ParameterizedTest
    @CsvSource({"JEDIS, 0", "LETTUCE, 0", "JEDIS, 1", "LETTUCE, 1"})
    void nobodyNoticesThatASlotMoves(Connections driver, String acks) throws Exception {
        RedisConnectionFactory connections = driver.toCluster(cluster.ports());
        RedisLockStore.Options options = RedisLockStore.Options.defaults()
                .withCommandTimeout(Duration.ofSeconds(5))
                .withReplicaAcks(acks, Duration.ofSeconds(2));
        AtomicBoolean over = new AtomicBoolean();
        AtomicInteger taken = new AtomicInteger();
        AtomicIntegerArray rounds = new AtomicIntegerArray(THREADS);
        Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
        try (LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, options))
                .shutdownWait(Duration.ZERO)
                .build()) {
            Awaitility.await()
                    .ignoreExceptionsInstanceOf(LockStoreException.class)
                    .until(() -> {
                        template.run(NAME, lease -> {});
                        return true;
                    });
            LockLease kept = template.acquire(NAME + "kept");
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                int thread = i;
                threads.add(new Thread(() -> {
                    for (int round = 0; !over.get(); round++) {
                        try (LockLease lease = template.acquire(NAME + thread + " " + round % 50)) {
                            lease.ensureHeld();
                            if (lease.release() == ReleaseResult.RELEASED) {
                                taken.incrementAndGet();
                            }
                        } catch (RuntimeException failure) {
                            failures.add(failure);
                        }
                        rounds.incrementAndGet(thread);
                    }
                }));
            }
            threads.forEach(Thread::start);
            RedisServer home = cluster.masterOf("lockkeeper:lock:" + NAME);
            RedisServer away = cluster.masters().get(home == cluster.masters().get(0) ? 1 : 0);
            long end = System.nanoTime() + PATIENCE.toNanos();
            for (int i = 0; i < MOVES || (taken.get() < LEAST_TAKEN && System.nanoTime() < end); i += 2) {
                cluster.moveSlot(NAME, home, away);
                awaitAnswers(rounds);
                awaitKnown(connections, away);
                cluster.moveSlot(NAME, away, home);
                awaitAnswers(rounds);
                awaitKnown(connections, home);
            }
            over.set(true);
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(failures).isEmpty();
            assertThat(taken).hasValueGreaterThanOrEqualTo(LEAST_TAKEN);
            assertThat(kept.verify()).isTrue();
        } finally {
            over.set(true);
            Connections.close(connections);
        }
    }

    // Permission to ask the other master (ASK) is meant for one move: a command that is older than the last move would
    // use it while the slot is on its way there once more.
    private static void awaitAnswers(AtomicIntegerArray rounds) {
        int[] before = IntStream.range(0, THREADS).map(rounds::get).toArray();
        Awaitility.await().pollInterval(Duration.ofMillis(1)).until(() -> IntStream.range(0, THREADS)
                .allMatch(i -> rounds.get(i) > before[i] + 1));
    }

    // Lettuce sends ASKING and its command in two steps (its issue 3353). A command of another thread that comes in
    // between
    // takes the permission; if it is on its way to a master that had the slot before, it runs there while its key is
    // still
    // at the other one. No command is, once Lettuce knows who has the slot. Jedis has a connection for each command.
    private static void awaitKnown(RedisConnectionFactory connections, RedisServer owner) {
        if (connections instanceof LettuceConnectionFactory lettuce) {
            RedisClusterClient client = (RedisClusterClient) lettuce.getRequiredNativeClient();
            Awaitility.await().pollInterval(Duration.ofMillis(1)).until(() -> {
                client.refreshPartitions();
                RedisClusterNode known =
                        client.getPartitions().getPartitionBySlot(ClusterSlotHashUtil.calculateSlot(NAME));
                return known != null && known.getUri().getPort() == owner.port();
            });
        }
    }

    /** Of several names some have their key at one master, and some at the other or nowhere. */
    @ParameterizedTest
    @CsvSource({"JEDIS, 0", "LETTUCE, 0", "JEDIS, 1", "LETTUCE, 1"})
    void severalNamesAreTakenAndReleasedWhileTheirSlotMoves(Connections driver, String acks) {
        RedisConnectionFactory connections = driver.toCluster(cluster.ports());
        RedisLockStore.Options options = RedisLockStore.Options.defaults()
                .withCommandTimeout(Duration.ofSeconds(5))
                .withReplicaAcks(acks, Duration.ofSeconds(2));
        RedisServer from = cluster.masterOf("lockkeeper:lock:" + NAME);
        RedisServer to = cluster.masters().get(from == cluster.masters().get(0) ? 1 : 0);
        String there = NAME + "there " + driver + acks;
        String elsewhere = "elsewhere " + driver + acks;
        try (LockTemplate template =
                LockTemplate.builder(new RedisLockStore(connections, options)).build()) {
            Awaitility.await()
                    .ignoreExceptionsInstanceOf(LockStoreException.class)
                    .until(() -> template.tryRun(there, lease -> {}));
            cluster.beginMove(NAME, from, to);
            for (String name : List.of(NAME + "new " + driver + acks, NAME + "also new " + driver + acks)) {
                LockLease lease = template.acquire(LockRequest.of(there, elsewhere, name));
                assertThat(lease.verify()).isTrue();
                assertThat(template.tryAcquire(name)).isEmpty();
                assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
                assertThat(template.tryAcquire(LockRequest.of(name, there))).hasValueSatisfying(LockLease::close);
            }
        } finally {
            cluster.finishMove(NAME, from, to);
            cluster.moveSlot(NAME, to, from);
            Connections.close(connections);
        }
    }

    /** In such a slot a script may not write to a key that is gone: one that it took away itself, as well. */
    @Test
    void aHolderKeepsItsLockWhenTheLastWaiterOfAGoneClientLeavesWhileTheSlotMoves() {
        String holder = "HOLDCLIENT1100000001";
        String last = "LASTCLIENT1100000001";
        ScriptCalls moved = moving(
                "queue of the gone",
                calls -> {
                    acquire(calls, FIRST, 0, 1);
                    acquire(calls, "GONECLIENT1100000001", ALIVE, 1);
                    acquire(calls, holder, ALIVE, 1);
                    acquire(calls, last, ALIVE, 1);
                    calls.release(FIRST, 0, 0);
                    // The grant of the second one has lapsed: its client is gone.
                    Awaitility.await().until(() -> {
                        acquire(calls, holder, ALIVE, 1);
                        return calls.record().owner().equals(holder)
                                && calls.record().state() == 'H';
                    });
                },
                calls -> {
                    assertThat(ScriptCalls.texts(calls.release(last, 0, 0)).get(0))
                            .isEqualTo("LEFT");
                    assertThat(calls.record().owner()).isEqualTo(holder);
                    assertThat(calls.record().waiting()).isZero();
                    assertThat(calls.server().command("HLEN", calls.key())).isEqualTo(2L);
                });
        assertThat(moved.record().owner()).isEqualTo(holder);
    }

    @Test
    void aLockOfWhichAllWaitersAreDeadIsTakenWhileItsSlotMoves() {
        String next = "NEXTCLIENT1100000001";
        ScriptCalls moved = moving(
                "queue of the dead",
                calls -> {
                    acquire(calls, FIRST, 0, GRANT);
                    for (int i = 1; i <= 100; i++) {
                        acquire(calls, String.format("DEADCLIENT11%08d", i), 1, GRANT);
                    }
                },
                calls -> {
                    long before = calls.record().token();
                    calls.release(FIRST, 0, 0);
                    assertThat(calls.record().owner()).isEmpty();
                    assertThat(calls.record().token()).isEqualTo(before);
                    acquire(calls, next, 0, GRANT);
                    assertThat(calls.record().owner()).isEqualTo(next);
                    assertThat(calls.record().token()).isGreaterThan(before);
                    assertThat(calls.server().command("HLEN", calls.key())).isEqualTo(2L);
                });
        assertThat(moved.record().owner()).isEqualTo(next);
    }

    @Test
    void readersKeepTheirLockWhenAllWritersBehindThemAreDeadWhileItsSlotMoves() {
        String reader = "READCLIENT1100000001";
        String other = "READCLIENT1100000002";
        ScriptCalls moved = moving(
                "queue behind readers",
                calls -> {
                    calls.acquire(reader, "R", 20_000, 0, GRANT, 1, calls.micros());
                    calls.acquire(other, "R", 20_000, 0, GRANT, 1, calls.micros());
                    calls.acquire("DEADCLIENT1100000001", "W", 20_000, 1, GRANT, 1, calls.micros());
                },
                calls -> {
                    calls.release(other, 0, 0);
                    assertThat(calls.record().waiting()).isZero();
                    assertThat(calls.server().field(calls.key(), "readers")).startsWith(reader);
                    assertThat(calls.server().command("HLEN", calls.key())).isEqualTo(3L);
                });
        assertThat(moved.server().field(moved.key(), "readers")).startsWith(reader);
    }

    /** Acts on a lock before its slot moves, and while it does; returns the scripts at the new master. */
    private static ScriptCalls moving(String name, Consumer<ScriptCalls> before, Consumer<ScriptCalls> during) {
        String key = "lockkeeper:lock:" + name;
        RedisServer from = cluster.masterOf(key);
        RedisServer to = cluster.masters().get(from == cluster.masters().get(0) ? 1 : 0);
        ScriptCalls calls = new ScriptCalls(from, key);
        before.accept(calls);
        cluster.beginMove(key, from, to);
        try {
            during.accept(calls);
        } finally {
            cluster.finishMove(key, from, to);
        }
        return new ScriptCalls(to, key);
    }

    private static void acquire(ScriptCalls calls, String attempt, long alive, long grant) {
        calls.acquire(attempt, "X", 20_000, alive, grant, 1, calls.micros());
    }
}
