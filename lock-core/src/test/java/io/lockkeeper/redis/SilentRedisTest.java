/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.DistributedReadWriteLock;
import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/**
 * Waits end in time while Redis does not answer. Those who wait have a command timeout that is far longer than their
 * wait, so that a slow machine is not taken for one who waits for the command.
 */
@Timeout(90)
@Execution(ExecutionMode.CONCURRENT)
class SilentRedisTest {

    private static final Duration LEASE = Duration.ofSeconds(60);
    private static final Duration LONG_COMMAND = Duration.ofSeconds(15);
    private static final Duration SHORT_COMMAND = Duration.ofSeconds(1);
    private static final Duration WAIT = Duration.ofMillis(500);

    /** Far from the wait and from the long command: no machine is so slow. */
    private static final Duration SOON = Duration.ofSeconds(7);

    private final RedisServer server = RedisServer.start();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void stop() {
        threads.shutdownNow();
        server.resume();
        server.close();
    }

    /** The ways to Redis. */
    enum Way {
        JEDIS,
        LETTUCE,
        SPRING_DATA;

        RedisConnectionFactory to(int port) {
            return this == SPRING_DATA
                    ? pooled(port, new GenericObjectPoolConfig<>())
                    : Connections.valueOf(name()).to(port);
        }
    }

    /** A factory that has no native driver. */
    private static JedisConnectionFactory pooled(int port, GenericObjectPoolConfig<?> pool) {
        JedisClientConfiguration client = JedisClientConfiguration.builder()
                .readTimeout(LONG_COMMAND)
                .usePooling()
                .poolConfig(pool)
                .build();
        JedisConnectionFactory factory =
                new JedisConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", port), client) {};
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    private static LockTemplate template(RedisConnectionFactory connections, Duration commandTimeout) {
        RedisLockStore.Options options = RedisLockStore.Options.defaults()
                .withCommandTimeout(commandTimeout)
                .withPollInterval(WAIT);
        return LockTemplate.builder(new RedisLockStore(connections, options))
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .build();
    }

    private interface Scenario {
        void run(LockTemplate template) throws Exception;
    }

    private void over(Way way, Duration commandTimeout, Scenario scenario) throws Exception {
        RedisConnectionFactory connections = way.to(server.port());
        try (LockTemplate template = template(connections, commandTimeout)) {
            template.run("warm", lease -> {});
            scenario.run(template);
            server.resume();
        } finally {
            Connections.close(connections);
        }
    }

    private interface Form {
        Object call(LockTemplate template, String name) throws Exception;
    }

    private static LockRequest waiting(String... names) {
        return LockRequest.of(names).withWaitTime(WAIT);
    }

    /** Whatever waits for a lock: all forms, modes and kinds. */
    private static Map<String, Form> forms() {
        Map<String, Form> forms = new TreeMap<>();
        for (LockMode mode : LockMode.values()) {
            forms.put(
                    "acquire " + mode,
                    (template, name) -> template.acquire(waiting(name).withMode(mode)));
        }
        forms.put("acquire several", (template, name) -> template.acquire(waiting(name, name + " too")));
        forms.put(
                "acquire fixed",
                (template, name) -> template.acquire(waiting(name).withLeaseTime(Duration.ofSeconds(1))));
        forms.put("tryAcquire", (template, name) -> template.tryAcquire(waiting(name)));
        forms.put("tryRun", (template, name) -> template.tryRun(waiting(name), lease -> {}));
        forms.put("execute", (template, name) -> template.execute(waiting(name), lease -> 1));
        forms.put("acquireAsync", (template, name) -> template.acquireAsync(waiting(name))
                .join());
        forms.put("executeAsync", (template, name) -> template.executeAsync(
                        waiting(name), CompletableFuture::completedFuture)
                .join());
        forms.put("lock", (template, name) -> template.lock(name).tryLock(WAIT));
        forms.put("lock fixed", (template, name) -> template.lock(name).tryLock(WAIT, Duration.ofSeconds(1)));
        forms.put("fairLock", (template, name) -> template.fairLock(name).tryLock(WAIT));
        forms.put(
                "writeLock",
                (template, name) -> template.readWriteLock(name).writeLock().tryLock(WAIT));
        return forms;
    }

    /** Returns after what time which call failed for the store; what came of it where it did not. */
    private Map<String, Object> failures(LockTemplate template, Map<String, Form> forms) throws Exception {
        Map<String, Future<Object>> calls = new TreeMap<>();
        forms.forEach((what, form) -> calls.put(what, threads.submit(() -> timeOfFailure(template, what, form))));
        // The same name twice: one has the question, the other waits for its answer, or for its turn.
        forms.forEach(
                (what, form) -> calls.put(what + " again", threads.submit(() -> timeOfFailure(template, what, form))));
        Map<String, Object> ended = new TreeMap<>();
        for (Map.Entry<String, Future<Object>> call : calls.entrySet()) {
            ended.put(call.getKey(), call.getValue().get());
        }
        return ended;
    }

    private static Object timeOfFailure(LockTemplate template, String what, Form form) throws Exception {
        long begin = System.nanoTime();
        try {
            return form.call(template, what);
        } catch (LockStoreException silent) {
            return Duration.ofNanos(System.nanoTime() - begin);
        } catch (CompletionException failure) {
            assertThat(failure).hasCauseInstanceOf(LockStoreException.class);
            return Duration.ofNanos(System.nanoTime() - begin);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aWaitEndsInTimeWhileRedisHangs(Way way) throws Exception {
        over(way, LONG_COMMAND, template -> {
            server.pause();
            assertThat(failures(template, forms()).values()).allSatisfy(SilentRedisTest::isInTime);
        });
    }

    private static void isInTime(Object time) {
        assertThat(time).isInstanceOfSatisfying(Duration.class, taken -> assertThat(taken)
                .isBetween(WAIT, SOON));
    }

    @ParameterizedTest
    @EnumSource
    void whoDoesNotWaitGivesAHangingRedisTheTimeOfOneCommand(Way way) throws Exception {
        over(way, SHORT_COMMAND, template -> {
            Map<String, Form> forms = new TreeMap<>();
            for (LockMode mode : LockMode.values()) {
                forms.put(
                        "try " + mode,
                        (own, name) -> own.tryAcquire(LockRequest.of(name).withMode(mode)));
            }
            forms.put("try several", (own, name) -> own.tryAcquire(LockRequest.of(name, name + " too")));
            forms.put("lock", (own, name) -> own.lock(name).tryLock());
            forms.put(
                    "retry", (own, name) -> own.tryAcquire(LockRequest.of(name).withRetries(20, Duration.ofMillis(1))));
            server.pause();
            assertThat(failures(template, forms).values()).allSatisfy(time -> assertThat(time)
                    .isInstanceOfSatisfying(
                            Duration.class, taken -> assertThat(taken).isLessThan(SHORT_COMMAND.plus(SOON))));
        });
    }

    @ParameterizedTest
    @EnumSource
    void aWaitInTheQueueEndsInTimeWhileRedisHangs(Way way) throws Exception {
        RedisConnectionFactory others = Connections.JEDIS.to(server.port());
        try (LockTemplate other = template(others, SHORT_COMMAND)) {
            over(way, LONG_COMMAND, template -> {
                LockLease held = other.acquire("queued");
                LockRequest request = LockRequest.of("queued").withWaitTime(Duration.ofSeconds(4));
                long begin = System.nanoTime();
                Future<LockLease> waiting = threads.submit(() -> template.acquire(request));
                Awaitility.await().until(() -> server.waiting("lockkeeper:lock:queued") > 0);
                server.pause();
                // A poll is under way that is not answered: nobody knows whether the lock is still held.
                assertThatThrownBy(waiting::get).hasCauseInstanceOf(LockStoreException.class);
                assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(SOON.plusSeconds(4));
                server.resume();
                held.close();
            });
        } finally {
            Connections.close(others);
        }
    }

    @ParameterizedTest
    @EnumSource
    void nothingIsHeldAfterwardsForOneWhoseWaitEnded(Way way) throws Exception {
        over(way, LONG_COMMAND, template -> {
            server.pause();
            assertThatThrownBy(() -> template.acquire(waiting("left"))).isInstanceOf(LockStoreException.class);
            server.resume();
            try (LockLease next = template.acquire(LockRequest.of("left").withWaitTime(Duration.ofSeconds(30)))) {
                assertThat(next.verify()).isTrue();
            }
            Awaitility.await().until(() -> {
                String owner = server.owner("lockkeeper:lock:left");
                return owner == null || owner.isEmpty();
            });
        });
    }

    @ParameterizedTest
    @EnumSource
    void aReleaseTakesTheTimeOfOneCommandAtMost(Way way) throws Exception {
        Duration command = Duration.ofSeconds(2);
        RedisConnectionFactory connections = way.to(server.port());
        RedisLockStore.Options options = RedisLockStore.Options.defaults().withCommandTimeout(command);
        try (LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, options))
                .handover(0, Duration.ZERO)
                .shutdownWait(Duration.ZERO)
                .build()) {
            template.run("warm", lease -> {});
            LockLease alone = template.acquire("alone");
            LockLease several = template.acquire(LockRequest.of("one", "another"));
            LockLease waitedFor = template.acquire("waited for");
            CompletableFuture<LockLease> next = template.acquireAsync(LockRequest.of("waited for"));
            Map<String, Callable<Object>> releases = new TreeMap<>();
            releases.put("alone", alone::release);
            releases.put("several", several::release);
            releases.put("handed over", waitedFor::release);
            CountDownLatch locked = new CountDownLatch(1);
            CountDownLatch paused = new CountDownLatch(1);
            Future<Duration> downgrade = threads.submit(() -> {
                DistributedReadWriteLock lock = template.readWriteLock("downgraded");
                lock.writeLock().lock();
                lock.readLock().lock();
                locked.countDown();
                paused.await();
                lock.writeLock().unlock();
                return timeOf(() -> {
                    lock.readLock().unlock();
                    return null;
                });
            });
            locked.await();
            server.pause();
            paused.countDown();
            Map<String, Future<Duration>> times = new TreeMap<>();
            releases.forEach((what, release) -> times.put(what, threads.submit(() -> timeOf(release))));
            times.put("downgraded", downgrade);
            for (Map.Entry<String, Future<Duration>> time : times.entrySet()) {
                assertThat(time.getValue().get()).as(time.getKey()).isLessThan(command.multipliedBy(2));
            }
            server.resume();
            next.get(60, TimeUnit.SECONDS).close();
        } finally {
            server.resume();
            Connections.close(connections);
        }
    }

    private static Duration timeOf(Callable<Object> call) throws Exception {
        long begin = System.nanoTime();
        call.call();
        return Duration.ofNanos(System.nanoTime() - begin);
    }

    /** Over Jedis those who leave cut connections on which others wait. */
    @ParameterizedTest
    @EnumSource
    void callersWhoLeaveASlowRedisCostThePatientOnesNothing(Way way) throws Exception {
        try (FaultProxy network = FaultProxy.inFrontOf(server)) {
            RedisConnectionFactory connections = way.to(network.port());
            try (LockTemplate template = template(connections, LONG_COMMAND)) {
                template.run("warm", lease -> {});
                Fault slow = network.when(ScriptRequests.ACQUIRE).delayReply(Duration.ofMillis(1_500));
                List<Future<LockLease>> patient = new ArrayList<>();
                for (int round = 0; round < 4; round++) {
                    String name = "slow " + round;
                    patient.add(threads.submit(() -> template.acquire(name)));
                    assertThatThrownBy(() -> template.acquire(
                                    LockRequest.of("left " + name).withWaitTime(Duration.ofMillis(300))))
                            .isInstanceOf(LockException.class);
                }
                slow.clear();
                for (Future<LockLease> waiting : patient) {
                    try (LockLease lease = waiting.get()) {
                        assertThat(lease.verify()).isTrue();
                    }
                }
            } finally {
                Connections.close(connections);
            }
        }
    }

    @Test
    void toBorrowFromAPoolCountsToo() throws Exception {
        GenericObjectPoolConfig<Object> pool = new GenericObjectPoolConfig<>();
        pool.setMaxTotal(2);
        JedisConnectionFactory connections = pooled(server.port(), pool);
        try (LockTemplate template = template(connections, LONG_COMMAND)) {
            template.run("warm", lease -> {});
            // The subscription has the other connection.
            threads.submit(() -> {
                try (RedisConnection taken = connections.getConnection()) {
                    return taken.listCommands().bLPop(30, RedisNames.bytes("never"));
                }
            });
            Awaitility.await().until(() -> String.valueOf(server.command("CLIENT", "LIST"))
                    .contains("cmd=blpop"));
            assertThat(failures(template, forms()).values()).allSatisfy(SilentRedisTest::isInTime);
            server.command("RPUSH", "never", "now");
        } finally {
            Connections.close(connections);
        }
    }

    /** A server that takes connections, and nothing else for a while, as one does that has no processor yet. */
    @ParameterizedTest
    @EnumSource
    void theFirstLockWaitsForTheFirstConnection(Way way) throws Exception {
        server.pause();
        RedisConnectionFactory connections = way.to(server.port());
        try (LockTemplate template = template(connections, SHORT_COMMAND)) {
            List<Future<LockLease>> waiting = new ArrayList<>();
            for (LockMode mode : LockMode.values()) {
                LockRequest request =
                        LockRequest.of("first " + mode).withMode(mode).withWaitTime(Duration.ofSeconds(60));
                waiting.add(threads.submit(() -> template.acquire(request)));
            }
            for (int i = 0; i < 3; i++) {
                long begin = System.nanoTime();
                assertThatThrownBy(() -> template.tryAcquire("at once")).isInstanceOf(LockStoreException.class);
                assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(SHORT_COMMAND.plus(SOON));
            }
            assertThatThrownBy(() -> template.acquire(waiting("short")))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("has not answered");
            assertThat(waiting).noneMatch(Future::isDone);

            server.resume();

            for (Future<LockLease> first : waiting) {
                try (LockLease lease = first.get(30, TimeUnit.SECONDS)) {
                    assertThat(lease.isHeld()).isTrue();
                }
            }
        } finally {
            server.resume();
            Connections.close(connections);
        }
    }
}
