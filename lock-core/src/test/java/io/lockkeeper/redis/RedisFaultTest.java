/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.LockRecord;
import io.lockkeeper.testing.RedisRequest;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Commands that arrive late, twice, after their cancel, or not at all, over both drivers. */
class RedisFaultTest {

    private static final Duration LEASE = Duration.ofSeconds(6);
    private static final Duration COMMAND_TIMEOUT = Duration.ofMillis(800);
    private static final String NAME = "late {lock}";
    private static final String KEY = "lockkeeper:lock:" + NAME;
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration COPY_DELAY = Duration.ofMillis(400);

    private RedisServer server;
    private FaultProxy network;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        network = FaultProxy.inFrontOf(server);
    }

    @AfterEach
    void stop() {
        network.close();
        server.close();
    }

    private interface Scenario {
        void run(LockTemplate faulty, LockTemplate sound) throws Exception;
    }

    private void over(Connections driver, Scenario scenario) throws Exception {
        RedisConnectionFactory throughProxy = driver.to(network.port());
        RedisConnectionFactory direct = driver.to(server.port());
        try (LockTemplate faulty = template(throughProxy);
                LockTemplate sound = template(direct)) {
            faulty.run("warm", lease -> {});
            sound.run("warm", lease -> {});
            Awaitility.await()
                    .until(() ->
                            server.command("PUBSUB", "CHANNELS") instanceof List<?> channels && channels.size() == 2);
            scenario.run(faulty, sound);
        } finally {
            network.close();
            Connections.close(throughProxy);
            Connections.close(direct);
        }
    }

    private static LockTemplate template(RedisConnectionFactory connections) {
        RedisLockStore.Options options = RedisLockStore.Options.defaults().withCommandTimeout(COMMAND_TIMEOUT);
        return LockTemplate.builder(new RedisLockStore(connections, options))
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .build();
    }

    /**
     * Another instance gets the lock within the command timeout, and some time for the way, but before a lease or a
     * grant ends.
     */
    private static void assertFreeSoon(LockTemplate sound) {
        long begin = System.nanoTime();
        sound.acquire(LockRequest.of(NAME).withWaitTime(LEASE.multipliedBy(2))).close();
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(COMMAND_TIMEOUT.plusSeconds(2));
    }

    private void assertNobodyOwnsTheLock() {
        assertThat(server.owner(KEY)).isNullOrEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void anAcquireWhoseReplyIsLostHoldsNothingForLong(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            // Lettuce sends the command again by itself and gets the lock; Jedis tells that it failed.
            Fault lost = network.when(ScriptRequests.ACQUIRE).once().cutReply();
            try (LockLease lease = faulty.acquire(NAME)) {
                assertThat(lease.verify()).isTrue();
            } catch (LockStoreException unknown) {
                assertThat(driver).isEqualTo(Connections.JEDIS);
            }
            lost.awaitCompleted(1, PATIENCE);
            assertFreeSoon(sound);
        });
    }

    @ParameterizedTest
    @EnumSource
    void anAcquireThatArrivesAfterItsCallerGaveUpHoldsNothing(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            Fault late = network.when(ScriptRequests.ACQUIRE).once().hold();
            assertThatThrownBy(() -> faulty.acquire(NAME)).isInstanceOf(LockStoreException.class);
            late.deliver();
            late.awaitCompleted(1, PATIENCE);
            assertNobodyOwnsTheLock();
            assertThat(sound.tryAcquire(NAME)).hasValueSatisfying(LockLease::close);
        });
    }

    @ParameterizedTest
    @EnumSource
    void anAcquireThatArrivesAfterItsCallerLeftIsGivenBackWithinTheCommandTimeout(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            Fault late = network.when(ScriptRequests.ACQUIRE).once().hold();
            CompletableFuture<LockLease> waiting = faulty.acquireAsync(LockRequest.of(NAME));
            late.awaitHits(1, PATIENCE);
            waiting.cancel(true);
            late.deliver();
            assertFreeSoon(sound);
        });
    }

    @ParameterizedTest
    @EnumSource
    void aLateAcquireWhoseReplyIsLostIsGivenBackWithinTheCommandTimeout(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            Fault late = network.when(ScriptRequests.ACQUIRE).once().delayRequest(COMMAND_TIMEOUT.minusMillis(150));
            CompletableFuture<LockLease> waiting = faulty.acquireAsync(LockRequest.of(NAME));
            late.awaitHits(1, PATIENCE);
            network.disconnectClients();
            waiting.handle((lease, failure) -> {
                        if (lease != null) {
                            lease.close();
                        }
                        return null;
                    })
                    .get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            late.awaitCompleted(1, PATIENCE);
            assertFreeSoon(sound);
        });
    }

    @ParameterizedTest
    @EnumSource
    void aSecondCopyOfAnAcquireNeverTakesTheLock(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            Fault ended = network.when(ScriptRequests.ACQUIRE).once().duplicateAfter(COPY_DELAY);
            faulty.acquire(NAME).close();
            ended.awaitCompleted(1, PATIENCE);
            assertNobodyOwnsTheLock();
            Fault stale = network.when(ScriptRequests.ACQUIRE).once().duplicateAfter(COPY_DELAY);
            faulty.acquire(NAME).close();
            sound.acquire(NAME).close();
            stale.awaitCompleted(1, PATIENCE);
            assertNobodyOwnsTheLock();
            assertThat(sound.tryAcquire(NAME)).hasValueSatisfying(LockLease::close);
        });
    }

    @ParameterizedTest
    @EnumSource
    void aSecondCopyBehindAHolderGivesItsPlaceBack(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            Fault stale = network.when(ScriptRequests.ACQUIRE).once().duplicateAfter(COPY_DELAY);
            faulty.acquire(NAME).close();
            sound.acquire(NAME).close();
            LockLease held = sound.acquire(NAME);
            stale.awaitCompleted(1, PATIENCE);
            assertThat(server.waiting(KEY)).isPositive();
            held.close();
            assertFreeSoon(sound);
        });
    }

    @ParameterizedTest
    @EnumSource
    void aDistantCallerWhoOnlyTriesGetsALockThatOthersTakeInQuickTurns(Connections driver) throws Exception {
        over(driver, (distant, near) -> {
            network.when(ScriptRequests.ACQUIRE).delayRequest(Duration.ofMillis(20));
            AtomicBoolean over = new AtomicBoolean();
            Thread others = new Thread(() -> {
                while (!over.get()) {
                    near.acquire(NAME).close();
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
                }
            });
            others.start();
            int got = 0;
            for (int i = 0; i < 20; i++) {
                Optional<LockLease> lease = distant.tryAcquire(NAME);
                if (lease.isPresent()) {
                    got++;
                    assertThat(lease.get().verify()).isTrue();
                    lease.get().close();
                }
            }
            over.set(true);
            others.join();
            assertThat(got).isGreaterThanOrEqualTo(10);
        });
    }

    @ParameterizedTest
    @EnumSource
    void aReleaseThatIsNotAnsweredIsRepeated(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            LockLease lease = faulty.acquire(NAME);
            Fault held = network.when(ScriptRequests.RELEASE).once().hold();
            assertThat(lease.release()).isEqualTo(ReleaseResult.UNKNOWN);
            assertThat(lease.isHeld()).isFalse();
            held.deliver();
            assertFreeSoon(sound);
            try (LockLease next = sound.acquire(NAME)) {
                assertThat(next.verify()).isTrue();
            }
        });
    }

    @ParameterizedTest
    @EnumSource
    void anInterruptedCallerLeavesASilentStoreWithinTheCommandTimeout(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            Fault silence = network.when(RedisRequest.any()).swallow();
            CompletableFuture<Boolean> flag = new CompletableFuture<>();
            Thread caller = new Thread(() -> {
                try {
                    faulty.acquire(NAME);
                } catch (LockInterruptedException interrupted) {
                    flag.complete(Thread.currentThread().isInterrupted());
                }
            });
            caller.start();
            silence.awaitHits(1, PATIENCE);
            caller.interrupt();
            assertThat(flag.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
            assertNobodyOwnsTheLock();
        });
    }

    @ParameterizedTest
    @EnumSource
    void aCopyOfTheAcquireOfACallerWhoLeftTheQueueIsGivenBack(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            LockLease held = sound.acquire(NAME);
            Fault copy = network.when(ScriptRequests.ACQUIRE).once().duplicateAfter(COPY_DELAY);
            assertThat(faulty.tryAcquire(LockRequest.of(NAME).withWaitTime(COPY_DELAY.dividedBy(2))))
                    .isEmpty();
            held.close();
            copy.awaitCompleted(1, PATIENCE);
            assertFreeSoon(sound);
        });
    }

    @ParameterizedTest
    @EnumSource
    void anExtensionSurvivesARenewalThatArrivesAfterIt(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            LockLease lease = faulty.acquire(NAME);
            Fault slow = network.when(ScriptRequests.RENEW).once().duplicateAfter(COPY_DELAY);
            slow.awaitHits(1, PATIENCE);
            assertThat(lease.extend(LEASE.multipliedBy(5))).isTrue();
            slow.awaitCompleted(1, PATIENCE);
            assertThat(Objects.requireNonNull(LockRecord.of(server, KEY)).until())
                    .isGreaterThan(
                            System.currentTimeMillis() + LEASE.multipliedBy(4).toMillis());
            lease.close();
        });
    }
}
