/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.DistributedReadWriteLock;
import io.lockkeeper.LockInstance;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.JavaProcess;
import io.lockkeeper.testing.RedisServer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** The exact number of requests of each path, which is the same on every machine. */
class RedisRequestCountTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private RedisServer server;

    @BeforeEach
    void start() {
        server = RedisServer.start();
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private static LockTemplate template(RedisConnectionFactory connections) {
        return LockTemplate.builder(new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    /** Waits until looks at the rights of a user, which are not about a lock, have come to their end. */
    private void awaitLooks(int templates) {
        Awaitility.await().pollDelay(Duration.ZERO).until(() -> server.calls("mget") == templates);
    }

    @ParameterizedTest
    @EnumSource
    void manyStatusesAtOnceAskOnceForTheInstanceThatHoldsAll(Connections driver) {
        RedisConnectionFactory connections = driver.to(server.port());
        try (LockTemplate holder = template(connections);
                LockTemplate template = template(connections)) {
            Awaitility.await()
                    .atMost(PATIENCE)
                    .until(() -> server.keys().stream()
                                    .filter(key -> key.startsWith("lockkeeper:instance:"))
                                    .count()
                            == 2);
            awaitLooks(2);
            IntStream.range(0, 100).forEach(i -> holder.acquire("held " + i));
            server.resetStatistics();
            List<LockStatus> found = template.inspector().find("held *", 100);
            assertThat(found).hasSize(100).allSatisfy(lock -> assertThat(lock.holders())
                    .singleElement()
                    .extracting(LockInstance::pid)
                    .isEqualTo(ProcessHandle.current().pid()));
            assertThat(server.calls("mget") + server.calls("get")).isBetween(1L, 9L);
        } finally {
            Connections.close(connections);
        }
    }

    @ParameterizedTest
    @EnumSource
    void anUncontendedAcquireIsOneRequestAReleaseOneAndAReentryNone(Connections driver) {
        RedisConnectionFactory connections = driver.to(server.port());
        try (LockTemplate template = template(connections)) {
            Awaitility.await()
                    .until(() ->
                            server.command("PUBSUB", "CHANNELS") instanceof List<?> channels && channels.size() == 1);
            awaitLooks(1);
            for (LockMode mode : LockMode.values()) {
                LockRequest request = LockRequest.of("counted").withMode(mode);
                for (int i = 0; i < 3; i++) {
                    server.resetStatistics();
                    template.run(request, outer -> {
                        assertThat(server.scriptCalls()).isEqualTo(1);
                        assertThat(template.inspector().heldHere()).hasSize(1);
                        assertThat(server.calls("mget") + server.calls("get")).isZero();
                        template.run(request, inner -> {});
                        if (mode != LockMode.READ) {
                            template.lock("counted").lock();
                            template.lock("counted").unlock();
                        }
                        assertThat(server.scriptCalls()).isEqualTo(1);
                    });
                    assertThat(server.scriptCalls()).isEqualTo(2);
                    assertThat(server.calls("publish")).isZero();
                }
            }
        } finally {
            Connections.close(connections);
        }
    }

    @ParameterizedTest
    @EnumSource
    void severalNamesAreOneRequestToAcquireAndOneToRelease(LockMode mode) {
        overJedis(template -> {
            LockRequest request = LockRequest.of("c", "a", "b").withMode(mode);
            template.run(request, outer -> {
                assertThat(server.scriptCalls()).isEqualTo(1);
                template.run(LockRequest.of("a", "b").withMode(mode), inner -> {});
                assertThat(server.scriptCalls()).isEqualTo(1);
            });
            assertThat(server.scriptCalls()).isEqualTo(2);
            LockLease blocker = template.acquire("b");
            server.resetStatistics();
            assertThat(template.tryAcquire(request)).isEmpty();
            assertThat(server.scriptCalls()).isEqualTo(1);
            blocker.close();
        });
    }

    @Test
    void readersOfOneProcessShareOneReader() {
        overJedis(template -> {
            LockRequest read = LockRequest.of("read").withMode(LockMode.READ);
            List<LockLease> readers = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                readers.add(template.acquire(read));
            }
            assertThat(server.scriptCalls()).isEqualTo(1);
            readers.forEach(LockLease::close);
            assertThat(server.scriptCalls()).isEqualTo(2);
            assertThat(server.calls("publish")).isZero();
        });
    }

    @Test
    void aDowngradeIsOneRequest() {
        overJedis(template -> {
            DistributedReadWriteLock lock = template.readWriteLock("downgraded");
            lock.writeLock().lock();
            lock.readLock().lock();
            assertThat(server.scriptCalls()).isEqualTo(1);
            lock.writeLock().unlock();
            assertThat(server.scriptCalls()).isEqualTo(2);
            lock.readLock().unlock();
            assertThat(server.scriptCalls()).isEqualTo(3);
        });
    }

    @Test
    void aMinimumHoldCostsNoFurtherRequest() {
        overJedis(template -> {
            template.run(LockRequest.of("kept").withMinHoldTime(Duration.ofSeconds(1)), lease -> {});
            assertThat(server.scriptCalls()).isEqualTo(2);
        });
    }

    /** Each costs Redis about a microsecond. */
    @Test
    void anUncontendedPairExecutesSevenCommandsInItsTwoScripts() {
        overJedis(template -> {
            template.run("counted", lease -> {});
            template.run("counted", lease -> {});
            server.resetStatistics();
            template.run("counted", lease -> {});
            assertThat(server.scriptCalls()).isEqualTo(2);
            for (String command : List.of("time", "hset")) {
                assertThat(server.calls(command)).as(command).isEqualTo(2);
            }
            // A release reads who owns the lock beside how it stands.
            assertThat(server.calls("hget")).isEqualTo(3);
            for (String command : List.of("pexpire", "hmget", "exists", "publish", "eval", "script|load")) {
                assertThat(server.calls(command)).as(command).isZero();
            }
        });
    }

    /** What is renewed together goes out together: 250 locks a request. */
    @Test
    void renewalsOfATickAreFewRequests() {
        renew(1_000, name -> "CLIENT00000000000001", answers -> {
            assertThat(answers).hasSize(1_000).containsOnly(false);
            assertThat(server.scriptCalls()).isEqualTo(4);
        });
    }

    /** Each renewal looks, and moves the end of the hold; that of the key seldom. */
    @Test
    void aRenewalOfAHeldLockExecutesTwoCommandsAndAtFirstAThird() {
        List<Long> ends = new ArrayList<>();
        renew(500, name -> String.valueOf(server.owner("lockkeeper:lock:" + name)), answers -> {
            assertThat(answers).hasSize(500).containsOnly(true);
            assertThat(server.scriptCalls()).isEqualTo(2);
            for (String command : List.of("hget", "hset")) {
                assertThat(server.calls(command)).as(command).isEqualTo(500);
            }
            ends.add(server.calls("pexpire"));
        });
        assertThat(ends).containsExactly(500L, 0L);
    }

    /**
     * Holds locks, and renews them twice for what is said to be their attempts; counts each time from the renewal on.
     */
    private void renew(int locks, UnaryOperator<String> attempts, Consumer<List<Boolean>> check) {
        RedisConnectionFactory connections = Connections.JEDIS.to(server.port());
        RedisLockStore store = new RedisLockStore(connections, RedisLockStore.Options.defaults());
        try (LockTemplate template = LockTemplate.builder(store)
                .leaseTime(Duration.ofSeconds(60))
                .shutdownWait(Duration.ZERO)
                .build()) {
            List<RenewCommand> renewals = new ArrayList<>();
            for (int i = 0; i < locks; i++) {
                template.acquire("renewed " + i);
                renewals.add(new RenewCommand("renewed " + i, attempts.apply("renewed " + i), 60_000, false, 0));
            }
            awaitLooks(1);
            for (int round = 0; round < 2; round++) {
                server.resetStatistics();
                check.accept(store.renew(renewals).stream()
                        .map(CompletableFuture::join)
                        .toList());
            }
        } finally {
            Connections.close(connections);
        }
    }

    private void overJedis(Consumer<LockTemplate> work) {
        RedisConnectionFactory connections = Connections.JEDIS.to(server.port());
        // Local callers share a hold for long, so that a slow machine counts the same.
        RedisLockStore store = new RedisLockStore(connections, RedisLockStore.Options.defaults());
        try (LockTemplate template = LockTemplate.builder(store)
                .handover(16, Duration.ofSeconds(5))
                .shutdownWait(Duration.ZERO)
                .build()) {
            awaitLooks(1);
            server.resetStatistics();
            work.accept(template);
        } finally {
            Connections.close(connections);
        }
    }

    @ParameterizedTest
    @EnumSource
    void theVeryFirstAcquireIsOneRequestToo(Connections driver) {
        RedisConnectionFactory connections = driver.to(server.port());
        try (LockTemplate template = template(connections)) {
            awaitLooks(1);
            server.resetStatistics();
            try (LockLease lease = template.acquire("first")) {
                assertThat(lease.isHeld()).isTrue();
                assertThat(server.scriptCalls()).isEqualTo(1);
            }
        } finally {
            Connections.close(connections);
        }
    }

    @Test
    void aThousandLocalCallersNeedThreeRequestsWhereNobodyElseWaits() {
        RedisConnectionFactory connections = Connections.JEDIS.to(server.port());
        try (LockTemplate template = patient(connections)) {
            template.run("shared", lease -> {});
            awaitLooks(1);
            server.resetStatistics();
            List<CompletableFuture<LockLease>> callers = callers(template, 1_000);
            callers.forEach(caller -> caller.join().close());
            assertThat(server.scriptCalls()).isEqualTo(3);
            assertThat(server.calls("publish")).isZero();
        } finally {
            Connections.close(connections);
        }
    }

    /** A hold that knows of nobody else passes on for long; one that may pass on 16 times needs no message. */
    @ParameterizedTest
    @CsvSource({"0, 0", "20, 1"})
    void aHolderIsToldOnceThatOthersWait(int passedOnBefore, int messages) {
        RedisConnectionFactory connections = Connections.JEDIS.to(server.port());
        try (LockTemplate here = patient(connections);
                LockTemplate there = patient(connections);
                LockTemplate elsewhere = patient(connections)) {
            List<CompletableFuture<LockLease>> waiting = new ArrayList<>(callers(here, 40));
            for (int i = 0; i < passedOnBefore; i++) {
                waiting.remove(0).join().close();
            }
            waiting.get(0).join();
            awaitLooks(3);
            server.resetStatistics();
            for (LockTemplate other : List.of(there, elsewhere)) {
                waiting.addAll(callers(other, 10));
                int queued = other == there ? 1 : 2;
                Awaitility.await()
                        .until(() -> here.inspector()
                                        .status("shared")
                                        .orElseThrow()
                                        .waiters()
                                        .size()
                                == queued);
            }
            assertThat(server.calls("publish")).isEqualTo(messages);

            CompletableFuture.allOf(waiting.stream()
                            .map(caller -> caller.thenAccept(LockLease::close))
                            .toArray(CompletableFuture<?>[]::new))
                    .join();
        } finally {
            Connections.close(connections);
        }
    }

    /** Returns a template whose holds pass on for as long as they may by their number. */
    private static LockTemplate patient(RedisConnectionFactory connections) {
        return LockTemplate.builder(new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .handover(16, Duration.ofSeconds(60))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    private static List<CompletableFuture<LockLease>> callers(LockTemplate template, int count) {
        return Stream.generate(() -> template.acquireAsync(LockRequest.of("shared")))
                .limit(count)
                .toList();
    }

    @Test
    void sixteenFairWaitersInFourProcessesNeedTwoRequestsAndOneMessageEach() throws Exception {
        List<JavaProcess> processes = new ArrayList<>();
        int rounds = 100;
        try {
            for (int i = 0; i < 4; i++) {
                processes.add(JavaProcess.start(FairWorker.class, "" + server.port(), "4", "" + rounds));
            }
            for (JavaProcess process : processes) {
                process.expect("ready", PATIENCE);
            }
            server.resetStatistics();
            processes.forEach(process -> process.send("go"));
            for (JavaProcess process : processes) {
                process.expect("done", PATIENCE);
            }
            double acquisitions = 4 * 4 * rounds;
            assertThat(server.scriptCalls() / acquisitions).isBetween(1.9, 2.1);
            assertThat(server.calls("publish") / acquisitions).isLessThanOrEqualTo(1.1);
            // The usual cases of both scripts.
            assertThat(server.calls("hmget") / acquisitions).isLessThanOrEqualTo(4.2);
            assertThat(server.calls("time") / acquisitions).isBetween(1.9, 2.1);
        } finally {
            processes.forEach(JavaProcess::close);
        }
    }

    /** A process whose threads take one fair lock in turn. */
    static final class FairWorker {

        private FairWorker() {}

        public static void main(String[] arguments) throws Exception {
            RedisConnectionFactory connections = Connections.JEDIS.to(Integer.parseInt(arguments[0]));
            int threads = Integer.parseInt(arguments[1]);
            int rounds = Integer.parseInt(arguments[2]);
            LockTemplate template = template(connections);
            template.run("warm " + ProcessHandle.current().pid(), lease -> {});
            ExecutorService executor = Executors.newFixedThreadPool(threads);
            System.out.println("ready");
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine();
            LockRequest request = LockRequest.of("fair").withMode(LockMode.FAIR);
            List<Future<?>> workers = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                workers.add(executor.submit(() -> {
                    for (int round = 0; round < rounds; round++) {
                        template.run(request, lease -> {});
                    }
                }));
            }
            for (Future<?> worker : workers) {
                worker.get();
            }
            System.out.println("done");
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine();
        }
    }
}
