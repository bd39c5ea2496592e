/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.lockkeeper.AcquisitionInterceptor;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockExtender;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** The provider does over Redis what ShedLock asks of one. */
class LockkeeperLockProviderTest {

    private static final Duration LONG = Duration.ofMinutes(5);
    private static final Duration SOON = Duration.ofSeconds(10);
    private static RedisServer server;
    private static RedisConnectionFactory connections;

    private final LockTemplate here = template();
    private final LockTemplate elsewhere = template();
    private final LockkeeperLockProvider provider = new LockkeeperLockProvider(here);
    private final LockkeeperLockProvider other = new LockkeeperLockProvider(elsewhere);
    private final String name;
    private final List<LockLease> leases = new ArrayList<>();

    LockkeeperLockProviderTest(TestInfo test) {
        name = test.getDisplayName();
    }

    @BeforeAll
    static void start() {
        server = RedisServer.start();
        connections = Connections.JEDIS.to(server.port());
    }

    @AfterAll
    static void stop() {
        Connections.close(connections);
        server.close();
    }

    private static LockTemplate template() {
        return LockTemplate.builder(new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    @AfterEach
    void close() {
        here.close();
        elsewhere.close();
    }

    private LockConfiguration task(Duration atMost, Duration atLeast) {
        return new LockConfiguration(Instant.now(), name, atMost, atLeast);
    }

    private SimpleLock lock(Duration atMost, Duration atLeast) {
        return provider.lock(task(atMost, atLeast)).orElseThrow();
    }

    private boolean isLocked() {
        return elsewhere.lock(name).isLocked();
    }

    @Test
    void oneInstanceHasTheLockUntilItUnlocks() {
        SimpleLock lock = lock(LONG, Duration.ZERO);
        assertThat(here.inspector().heldHere()).singleElement().satisfies(status -> {
            assertThat(status.name()).isEqualTo(name);
            assertThat(status.remaining()).isBetween(LONG.minusSeconds(20), LONG);
        });
        assertThat(provider.lock(task(LONG, Duration.ZERO))).isEmpty();
        assertThat(other.lock(task(LONG, Duration.ZERO))).isEmpty();
        CompletableFuture.runAsync(lock::unlock).join();
        assertThatIllegalStateException().isThrownBy(lock::unlock);
        assertThatIllegalStateException().isThrownBy(() -> lock.extend(LONG, Duration.ZERO));
        Optional<SimpleLock> next = other.lock(task(LONG, Duration.ZERO));
        assertThat(next).hasValueSatisfying(SimpleLock::unlock);
        assertThat(isLocked()).isFalse();
    }

    @Test
    void theLockEndsByItselfAndItsUnlockTakesNothingFromTheNext() {
        // Raised to 100 ms; less is refused.
        SimpleLock lock = lock(Duration.ofMillis(2), Duration.ZERO);
        Awaitility.await().until(() -> other.lock(task(LONG, Duration.ZERO)).isPresent());
        assertThat(lock.extend(LONG, Duration.ZERO)).isEmpty();
        assertThatIllegalStateException().isThrownBy(lock::unlock);
        assertThat(isLocked()).isTrue();
    }

    @Test
    void theUnlockOfALockThatHasEndedDoesNothing() {
        SimpleLock lock = lock(Duration.ZERO, Duration.ZERO);
        Awaitility.await().until(() -> other.lock(task(LONG, Duration.ZERO)).isPresent());
        lock.unlock();
        assertThat(isLocked()).isTrue();
    }

    @Test
    void theLockStaysTakenForItsMinimum() {
        long begun = System.nanoTime();
        Duration atLeast = Duration.ofMillis(700);
        lock(LONG, atLeast).unlock();
        assertThat(isLocked() || since(begun).compareTo(atLeast) >= 0).isTrue();
        Awaitility.await().until(() -> other.lock(task(LONG, Duration.ZERO)).isPresent());
        assertThat(since(begun)).isGreaterThanOrEqualTo(atLeast);
    }

    private static Duration since(long begun) {
        return Duration.ofNanos(System.nanoTime() - begun);
    }

    @Test
    void anExtensionTakesANewEndAndANewMinimum() {
        SimpleLock lock = lock(Duration.ofSeconds(5), Duration.ZERO);
        SimpleLock longer = lock.extend(LONG, LONG).orElseThrow();
        assertThatIllegalStateException().isThrownBy(lock::unlock);
        assertThat(here.inspector().heldHere().get(0).remaining()).isBetween(LONG.minusSeconds(20), LONG);
        longer.unlock();
        assertThat(isLocked()).isTrue();
        assertThat(elsewhere.inspector().forceRelease(name)).isTrue();

        SimpleLock again = lock(LONG, LONG);
        again.extend(LONG, Duration.ZERO).orElseThrow().unlock();
        assertThat(isLocked()).isFalse();
    }

    @Test
    void aNameThatThisThreadHoldsAlreadyIsTaken() {
        here.run(name, lease -> assertThat(provider.lock(task(LONG, Duration.ZERO)))
                .isEmpty());
        here.readWriteLock(name).readLock().lock();
        assertThat(provider.lock(task(LONG, Duration.ZERO))).isEmpty();
        here.readWriteLock(name).readLock().unlock();
        assertThat(provider.lock(task(LONG, Duration.ZERO))).hasValueSatisfying(SimpleLock::unlock);
    }

    @ParameterizedTest
    @MethodSource("switchedOff")
    void noNameIsTakenWhereLockingIsSwitchedOff(LockOperations operations) {
        LockkeeperLockProvider off = new LockkeeperLockProvider(operations);
        operations.run(name, lease -> {
            SimpleLock lock = off.lock(task(LONG, Duration.ZERO)).orElseThrow();
            assertThat(off.lock(task(LONG, Duration.ZERO))).hasValueSatisfying(SimpleLock::unlock);
            lock.extend(LONG, Duration.ZERO).orElseThrow().unlock();
        });
    }

    static Stream<LockOperations> switchedOff() {
        return Stream.of(LockTemplate.withoutLocking(), LockOperations.withoutLocking());
    }

    @Test
    void aNameThatATransactionHoldsOnIsTaken() {
        AcquisitionInterceptor transaction = (request, reentry) -> lease -> leases.add(lease);
        try (LockTemplate transactional = LockTemplate.builder(
                        new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .interceptor(transaction)
                .shutdownWait(Duration.ZERO)
                .build()) {
            LockkeeperLockProvider within = new LockkeeperLockProvider(transactional);
            transactional.run(name, lease -> assertThat(within.lock(task(LONG, Duration.ZERO)))
                    .isEmpty());
            leases.forEach(LockLease::release);
        }
    }

    @Test
    void theLockExtenderExtendsTheRunningTask() {
        new DefaultLockingTaskExecutor(provider)
                .executeWithLock(
                        (Runnable) () -> {
                            LockExtender.extendActiveLock(LONG, Duration.ZERO);
                            assertThat(here.inspector().heldHere().get(0).remaining())
                                    .isGreaterThan(LONG.minusSeconds(20));
                        },
                        task(Duration.ofSeconds(5), Duration.ZERO));
        assertThat(isLocked()).isFalse();
    }

    @Test
    void theKeepAliveProviderOfShedLockWrapsThisOne() {
        ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
        try {
            SimpleLock lock = new KeepAliveLockProvider(provider, scheduler)
                    .lock(task(Duration.ofSeconds(30), Duration.ZERO))
                    .orElseThrow();
            assertThat(isLocked()).isTrue();
            lock.unlock();
            assertThat(isLocked()).isFalse();
        } finally {
            scheduler.shutdownNow();
        }
    }

    @Test
    void noUpdateIsLostWhereTasksOfTwoInstancesCompete() {
        int[] counter = new int[1];
        CompletableFuture<?>[] workers = IntStream.range(0, 6)
                .mapToObj(worker -> CompletableFuture.runAsync(() -> {
                    DefaultLockingTaskExecutor executor =
                            new DefaultLockingTaskExecutor(worker % 2 == 0 ? provider : other);
                    int[] done = new int[1];
                    while (done[0] < 20) {
                        executor.executeWithLock(
                                (Runnable) () -> {
                                    int seen = counter[0];
                                    Thread.onSpinWait();
                                    counter[0] = seen + 1;
                                    done[0]++;
                                },
                                task(LONG, Duration.ofMillis(1)));
                    }
                }))
                .toArray(CompletableFuture<?>[]::new);
        assertThat(CompletableFuture.allOf(workers)).succeedsWithin(SOON.multipliedBy(3));
        assertThat(counter[0]).isEqualTo(120);
    }

    @Test
    void aStoreThatFailsIsNotAHolder() {
        try (RedisServer gone = RedisServer.start()) {
            RedisConnectionFactory lost = Connections.JEDIS.to(gone.port());
            try (LockTemplate template = LockTemplate.builder(
                            new RedisLockStore(lost, RedisLockStore.Options.defaults()))
                    .shutdownWait(Duration.ZERO)
                    .build()) {
                LockkeeperLockProvider failing = new LockkeeperLockProvider(template);
                failing.lock(task(LONG, Duration.ZERO)).orElseThrow().unlock();
                gone.kill();
                assertThatExceptionOfType(LockStoreException.class)
                        .isThrownBy(() -> failing.lock(task(LONG, Duration.ZERO)));
            }
            Connections.close(lost);
        }
    }

    @Test
    void aNameThatIsNoneIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> provider.lock(new LockConfiguration(Instant.now(), " ", LONG, Duration.ZERO)));
    }
}
