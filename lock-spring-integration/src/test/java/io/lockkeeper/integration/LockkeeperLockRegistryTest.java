/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.integration.support.locks.DistributedLock;

/** The registry does over Redis what Spring Integration asks of one. */
class LockkeeperLockRegistryTest {

    private static final Duration SOON = Duration.ofSeconds(10);

    /** Within this, also a slow machine has the store's answer. */
    private static final Duration BRIEFLY = Duration.ofMillis(500);

    private static RedisServer server;
    private static RedisConnectionFactory connections;

    private final LockTemplate here = template();
    private final LockTemplate elsewhere = template();
    private final LockkeeperLockRegistry registry = new LockkeeperLockRegistry(here);
    private final LockkeeperLockRegistry other = new LockkeeperLockRegistry(elsewhere);
    private final String key;

    LockkeeperLockRegistryTest(TestInfo test) {
        key = test.getDisplayName();
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

    @Test
    void oneKeyIsOneLockInAllInstances() throws Exception {
        DistributedLock lock = registry.obtain(key);
        assertThat(registry.obtain(key)).isSameAs(lock);
        lock.lock();
        lock.lockInterruptibly();
        assertThat(other.obtain(key).tryLock()).isFalse();
        assertThat(other.obtain(key).tryLock(BRIEFLY.toMillis(), TimeUnit.MILLISECONDS))
                .isFalse();
        assertThat(other.obtain(key).tryLock(Duration.ofMillis(-1), SOON)).isFalse();
        assertThat(other.obtain(key + "'").tryLock()).isTrue();
        lock.unlock();
        assertThat(other.obtain(key).tryLock()).isFalse();
        lock.unlock();
        assertThat(other.obtain(key).tryLock(SOON.toMillis(), TimeUnit.MILLISECONDS))
                .isTrue();
        other.obtain(key).unlock();
    }

    @Test
    void aKeyIsTheNameOfTheLock() {
        registry.obtain(key).lock();
        here.run(key, lease -> assertThat(elsewhere.tryAcquire(key)).isEmpty());
        registry.obtain(key).unlock();
        here.run(key, lease -> {
            assertThat(registry.obtain(key).tryLock()).isTrue();
            registry.obtain(key).unlock();
            assertThatIllegalStateException()
                    .isThrownBy(() -> registry.obtain(key).unlock());
            assertThat(lease.isHeld()).isTrue();
        });
    }

    @Test
    void onlyTheThreadThatLockedUnlocks() {
        DistributedLock lock = registry.obtain(key);
        lock.lock();
        CompletableFuture<Void> stranger = CompletableFuture.runAsync(lock::unlock);
        assertThat(stranger)
                .failsWithin(SOON)
                .withThrowableThat()
                .withCauseInstanceOf(IllegalStateException.class)
                .withMessageContaining("You do not own lock at " + key);
        lock.unlock();
    }

    @Test
    void unlockSaysThatTheHoldWasLost() {
        DistributedLock lock = registry.obtain(key);
        lock.lock();
        assertThat(elsewhere.inspector().forceRelease(key)).isTrue();
        Awaitility.await().pollInSameThread().until(() -> !here.lock(key).isHeldByCurrentThread());
        assertThatExceptionOfType(ConcurrentModificationException.class)
                .isThrownBy(lock::unlock)
                .withMessageContaining("Lock was released in the store due to expiration.");
        takeBriefly(() -> lock.lock(Duration.ofMillis(100)));
        Awaitility.await().pollInSameThread().until(() -> !here.lock(key).isHeldByCurrentThread());
        assertThatExceptionOfType(ConcurrentModificationException.class).isThrownBy(lock::unlock);
        assertThatIllegalStateException().isThrownBy(lock::unlock);
    }

    @Test
    void aHoldThatWasLostIsNotEnteredAgain() {
        DistributedLock lock = registry.obtain(key);
        lock.lock();
        assertThat(here.inspector().forceRelease(key)).isTrue();
        assertThatExceptionOfType(CannotAcquireLockException.class).isThrownBy(lock::tryLock);
        assertThatExceptionOfType(ConcurrentModificationException.class).isThrownBy(lock::unlock);
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    @Test
    void aTimeToLiveEndsByItselfAndIsRenewedOnRequest() throws Exception {
        DistributedLock lock = registry.obtain(key);
        Duration timeToLive = Duration.ofSeconds(1);
        assertThat(lock.tryLock(SOON, timeToLive)).isTrue();
        registry.renewLock(key, SOON);
        assertThat(here.lock(key).remaining()).isBetween(SOON.dividedBy(2), SOON);
        registry.renewLock(key);
        assertThat(here.lock(key).remaining()).isLessThanOrEqualTo(timeToLive);
        Awaitility.await().pollInSameThread().until(() -> other.obtain(key).tryLock());
        other.obtain(key).unlock();
        assertThatIllegalStateException()
                .isThrownBy(() -> registry.renewLock(key))
                .withMessageContaining(key);
        assertThatExceptionOfType(ConcurrentModificationException.class).isThrownBy(lock::unlock);
    }

    @Test
    void onlyAHolderRenews() {
        assertThatIllegalStateException().isThrownBy(() -> registry.renewLock(key));
        registry.obtain(key).lock();
        registry.renewLock(key);
        assertThat(here.lock(key).remaining()).isGreaterThan(SOON);
        assertThat(CompletableFuture.runAsync(() -> registry.renewLock(key, SOON)))
                .failsWithin(SOON)
                .withThrowableThat()
                .withCauseInstanceOf(IllegalStateException.class);
        registry.obtain(key).unlock();
    }

    @Test
    void aTimeToLiveThatWasGivenLaterIsThatOfTheNextRenewal() {
        DistributedLock lock = registry.obtain(key);
        lock.lock();
        registry.renewLock(key, SOON);
        Awaitility.await()
                .pollInSameThread()
                .until(() -> here.lock(key).remaining().compareTo(SOON.dividedBy(2)) < 0);

        registry.renewLock(key);

        assertThat(here.lock(key).remaining()).isGreaterThan(SOON.dividedBy(2));
        lock.unlock();
        here.lock(key).lock();
        registry.renewLock(key);
        assertThat(here.lock(key).remaining()).as("the next hold is renewed").isGreaterThan(SOON);
        here.lock(key).unlock();
    }

    @Test
    void aHoldByALockThatTheRegistryHasForgottenIsRenewedForItsTimeToLive() {
        DistributedLock forgotten = registry.obtain(key);
        registry.expireUnusedOlderThan(0);
        assertThat(registry.obtain(key)).isNotSameAs(forgotten);
        forgotten.lock(SOON);
        awaitRemaining(SOON.dividedBy(2));

        registry.renewLock(key);

        assertThat(here.lock(key).remaining()).isGreaterThan(SOON.dividedBy(2));
        registry.obtain(key).unlock();
        assertThatIllegalStateException().isThrownBy(() -> registry.renewLock(key));
    }

    @Test
    void anUnlockOfALostHoldLeavesTheNextHoldItsTimeToLive() throws Exception {
        DistributedLock lock = registry.obtain(key);
        takeBriefly(() -> lock.lock(Duration.ofMillis(100)));
        Awaitility.await().pollInSameThread().until(() -> !here.lock(key).isHeldByCurrentThread());
        CountDownLatch locked = new CountDownLatch(1);
        CountDownLatch unlocked = new CountDownLatch(1);
        CompletableFuture<Duration> next = CompletableFuture.supplyAsync(() -> {
            lock.lock(SOON);
            locked.countDown();
            awaitHere(unlocked);
            awaitRemaining(SOON.minus(BRIEFLY));
            registry.renewLock(key);
            Duration renewed = here.lock(key).remaining();
            lock.unlock();
            return renewed;
        });
        assertThat(locked.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThatExceptionOfType(ConcurrentModificationException.class).isThrownBy(lock::unlock);
        unlocked.countDown();

        assertThat(next.get(2 * SOON.toSeconds(), TimeUnit.SECONDS)).isGreaterThan(SOON.minus(BRIEFLY));
    }

    private static void awaitHere(CountDownLatch latch) {
        try {
            assertThat(latch.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    private void awaitRemaining(Duration below) {
        Awaitility.await()
                .pollInSameThread()
                .until(() -> here.lock(key).remaining().compareTo(below) < 0);
    }

    @Test
    void ofSeveralTimesToLiveTheLongestIsGivenOnceMore() {
        DistributedLock lock = registry.obtain(key);
        lock.lock(Duration.ofSeconds(1));
        lock.lock(SOON);
        lock.lock(Duration.ofSeconds(2));
        awaitRemaining(SOON.minus(BRIEFLY));

        registry.renewLock(key);

        assertThat(here.lock(key).remaining()).isGreaterThan(SOON.minus(BRIEFLY));
        lock.unlock();
        lock.unlock();
        registry.renewLock(key);
        assertThat(here.lock(key).remaining()).isGreaterThan(SOON.minus(BRIEFLY));
        lock.unlock();
        lock.lock();
        lock.lock(Duration.ofSeconds(1));
        registry.renewLock(key);
        assertThat(here.lock(key).remaining()).as("a renewed hold stays so").isGreaterThan(SOON);
        lock.unlock();
        lock.unlock();
    }

    @Test
    void aHoldThatIsNotOfTheRegistryKeepsItsEndUnlessATimeIsGiven() {
        here.lock(key).lock(SOON);
        registry.obtain(key).lock();
        Duration before = here.lock(key).remaining();
        registry.renewLock(key);
        assertThat(here.lock(key).remaining()).isLessThanOrEqualTo(before);

        registry.renewLock(key, SOON.multipliedBy(2));
        awaitRemaining(SOON.multipliedBy(2).minus(BRIEFLY));
        registry.renewLock(key);

        assertThat(here.lock(key).remaining())
                .isGreaterThan(SOON.multipliedBy(2).minus(BRIEFLY));
        registry.obtain(key).unlock();
        here.lock(key).unlock();
        here.lock(key).lock();
        registry.obtain(key).lock(Duration.ofSeconds(1));
        registry.renewLock(key);
        assertThat(here.lock(key).remaining()).as("a renewed hold stays so").isGreaterThan(SOON);
        registry.obtain(key).unlock();
        here.lock(key).unlock();
    }

    /** Takes a lock for so short a time that on a busy machine the answer may come behind its end. */
    private static void takeBriefly(ThrowingRunnable lock) {
        Awaitility.await()
                .pollInSameThread()
                .ignoreExceptionsInstanceOf(CannotAcquireLockException.class)
                .untilAsserted(lock);
    }

    @Test
    void aShortTimeToLiveIsRaisedAndNoneIsRefused() throws Exception {
        DistributedLock lock = registry.obtain(key);
        Duration shortest = Duration.ofMillis(100);
        takeBriefly(() -> lock.lock(Duration.ofNanos(1)));
        assertThat(here.lock(key).remaining()).isLessThanOrEqualTo(shortest);
        Awaitility.await().pollInSameThread().until(() -> other.obtain(key).tryLock());
        other.obtain(key).unlock();
        assertThatExceptionOfType(ConcurrentModificationException.class).isThrownBy(lock::unlock);
        takeBriefly(() -> assertThat(lock.tryLock(SOON, Duration.ofMillis(50))).isTrue());
        Awaitility.await().pollInSameThread().until(() -> other.obtain(key).tryLock());
        other.obtain(key).unlock();
        assertThatExceptionOfType(ConcurrentModificationException.class).isThrownBy(lock::unlock);
        lock.lock();
        registry.renewLock(key, Duration.ofMillis(50));
        assertThat(here.lock(key).remaining()).isLessThanOrEqualTo(shortest);
        Awaitility.await().pollInSameThread().until(() -> other.obtain(key).tryLock());
        other.obtain(key).unlock();
        assertThatExceptionOfType(ConcurrentModificationException.class).isThrownBy(lock::unlock);
        for (Duration nonsense : List.of(Duration.ZERO, Duration.ofSeconds(-1))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> lock.lock(nonsense))
                    .withMessageContaining("time to live");
            assertThatIllegalArgumentException().isThrownBy(() -> lock.tryLock(SOON, nonsense));
        }
    }

    @Test
    void locksThatAreNotHeldAreForgotten() {
        DistributedLock held = registry.obtain(key);
        DistributedLock idle = registry.obtain(key + " idle");
        held.lock();
        registry.expireUnusedOlderThan(60_000);
        assertThat(registry.obtain(key + " idle")).isSameAs(idle);
        registry.expireUnusedOlderThan(-1);
        assertThat(registry.obtain(key)).isSameAs(held);
        assertThat(registry.obtain(key + " idle")).isNotSameAs(idle);

        registry.setCacheCapacity(1);
        for (int i = 0; i < 3; i++) {
            registry.obtain(key + i);
        }
        assertThat(registry.obtain(key)).isSameAs(held);
        // It has been forgotten, and works.
        idle.lock();
        assertThat(other.obtain(key + " idle").tryLock()).isFalse();
        idle.unlock();
        held.unlock();
        assertThatIllegalArgumentException().isThrownBy(() -> registry.setCacheCapacity(0));
    }

    @Test
    void workRunsLocked() throws Exception {
        registry.executeLocked(key, () -> {
            assertThat(elsewhere.tryAcquire(key)).isEmpty();
            assertThatExceptionOfType(TimeoutException.class)
                    .isThrownBy(() -> other.executeLocked(key, BRIEFLY, () -> {}));
        });
        assertThat(other.<String, RuntimeException>executeLocked(key, SOON, () -> "done"))
                .isEqualTo("done");
    }

    @Test
    void anInterruptEndsAWaitButNotLock() throws Exception {
        other.obtain(key).lock();
        Thread.currentThread().interrupt();
        assertThatExceptionOfType(InterruptedException.class)
                .isThrownBy(() -> registry.obtain(key).lockInterruptibly());
        Thread.currentThread().interrupt();
        assertThatExceptionOfType(InterruptedException.class)
                .isThrownBy(() -> registry.obtain(key).tryLock(1, TimeUnit.SECONDS));
        other.obtain(key).unlock();
        Thread.currentThread().interrupt();
        registry.obtain(key).lock();
        assertThat(Thread.interrupted()).isTrue();
        registry.obtain(key).unlock();
    }

    @Test
    void aStoreThatFailsIsNotAHolder() {
        try (RedisServer gone = RedisServer.start()) {
            RedisConnectionFactory lost = Connections.JEDIS.to(gone.port());
            try (LockTemplate template = LockTemplate.builder(
                            new RedisLockStore(lost, RedisLockStore.Options.defaults()))
                    .shutdownWait(Duration.ZERO)
                    .build()) {
                DistributedLock lock = new LockkeeperLockRegistry(template).obtain(key);
                lock.lock();
                lock.unlock();
                gone.kill();
                assertThatExceptionOfType(CannotAcquireLockException.class)
                        .isThrownBy(lock::tryLock)
                        .withMessageContaining(key);
                assertThatIllegalStateException().isThrownBy(lock::unlock);
            }
            Connections.close(lost);
        }
    }

    @Test
    void aKeyIsAName() {
        for (Object wrong : List.of(7, "", " ", new Object(), "x".repeat(513))) {
            assertThatIllegalArgumentException().isThrownBy(() -> registry.obtain(wrong));
        }
    }
}
