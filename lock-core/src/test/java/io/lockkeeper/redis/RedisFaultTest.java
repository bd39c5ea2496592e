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
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.FaultProxy.Fault;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
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
    private static final Predicate<String> ACQUIRE = request -> request.contains(LuaScript.ACQUIRE.sha1());
    private static final Predicate<String> RELEASE = request -> request.contains(LuaScript.RELEASE.sha1());

    private RedisServer server;
    private FaultProxy network;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        network = new FaultProxy(server);
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

    /** Another instance gets the lock within the command timeout, and some time for the way. */
    private static void assertFreeSoon(LockTemplate sound) {
        long begin = System.nanoTime();
        sound.acquire(LockRequest.of(NAME).withWaitTime(LEASE.multipliedBy(2))).close();
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(COMMAND_TIMEOUT.plusMillis(500));
    }

    @ParameterizedTest
    @EnumSource
    void anAcquireWhoseReplyIsLostHoldsNothingForLong(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            // Lettuce sends the command again by itself and gets the lock; Jedis tells that it failed.
            network.next(1, ACQUIRE, Fault.CUT_REPLY);
            try (LockLease lease = faulty.acquire(NAME)) {
                assertThat(lease.verify()).isTrue();
            } catch (LockStoreException unknown) {
                assertThat(driver).isEqualTo(Connections.JEDIS);
            }
            network.awaitHits(1, Duration.ofSeconds(1));
            assertFreeSoon(sound);
        });
    }

    @ParameterizedTest
    @EnumSource
    void anAcquireThatArrivesAfterItsCallerGaveUpHoldsNothing(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            network.next(1, ACQUIRE, Fault.HOLD);
            assertThatThrownBy(() -> faulty.acquire(NAME)).isInstanceOf(LockStoreException.class);
            // Its notAfter has passed: the server refuses it.
            assertThat(network.deliver()).singleElement().asString().contains("LATE");
            assertThat(sound.tryAcquire(NAME)).hasValueSatisfying(LockLease::close);
        });
    }

    @ParameterizedTest
    @EnumSource
    void anAcquireThatOvertakesItsCancelIsGivenBackWithinTheCommandTimeout(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            network.next(1, ACQUIRE, Fault.HOLD);
            CompletableFuture<LockLease> waiting = faulty.acquireAsync(LockRequest.of(NAME));
            network.awaitHits(1, Duration.ofSeconds(2));
            waiting.cancel(true);
            network.deliver();
            assertFreeSoon(sound);
        });
    }

    @ParameterizedTest
    @EnumSource
    void aSecondCopyOfAnAcquireNeverTakesTheLock(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            network.next(1, ACQUIRE, Fault.REMEMBER);
            faulty.acquire(NAME).close();
            assertThat(network.deliver()).singleElement().asString().contains("ENDED");
            network.next(1, ACQUIRE, Fault.REMEMBER);
            faulty.acquire(NAME).close();
            sound.acquire(NAME).close();
            assertThat(network.deliver()).singleElement().asString().contains("RESEND");
            assertThat(sound.tryAcquire(NAME)).hasValueSatisfying(LockLease::close);
        });
    }

    @ParameterizedTest
    @EnumSource
    void aSecondCopyBehindAHolderGivesItsPlaceBack(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            network.next(1, ACQUIRE, Fault.REMEMBER);
            faulty.acquire(NAME).close();
            sound.acquire(NAME).close();
            LockLease held = sound.acquire(NAME);
            assertThat(network.deliver()).singleElement().asString().contains("QUEUED");
            held.close();
            assertFreeSoon(sound);
        });
    }

    @ParameterizedTest
    @EnumSource
    void aReleaseThatIsNotAnsweredIsRepeated(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            LockLease lease = faulty.acquire(NAME);
            network.next(1, RELEASE, Fault.HOLD);
            assertThat(lease.release()).isEqualTo(ReleaseResult.UNKNOWN);
            assertThat(lease.isHeld()).isFalse();
            assertFreeSoon(sound);
            LockLease next = sound.acquire(NAME);
            assertThat(network.deliver()).singleElement().asString().doesNotContain("RELEASED");
            assertThat(next.verify()).isTrue();
            next.close();
        });
    }

    @ParameterizedTest
    @EnumSource
    void anInterruptedCallerLeavesASilentStoreWithinTheCommandTimeout(Connections driver) throws Exception {
        over(driver, (faulty, sound) -> {
            network.next(Integer.MAX_VALUE, request -> true, Fault.HOLD);
            CompletableFuture<Boolean> flag = new CompletableFuture<>();
            Thread caller = new Thread(() -> {
                try {
                    faulty.acquire(NAME);
                } catch (LockInterruptedException interrupted) {
                    flag.complete(Thread.currentThread().isInterrupted());
                }
            });
            caller.start();
            network.awaitHits(1, Duration.ofSeconds(2));
            caller.interrupt();
            assertThat(flag.get(COMMAND_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS))
                    .isTrue();
            assertThat(server.field(KEY, "owner")).isNull();
        });
    }
}
