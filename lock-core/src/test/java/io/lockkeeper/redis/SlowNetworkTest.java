/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Redis is well, but a round trip to it takes a great part of the command timeout, and others use the lock all the
 * time.
 */
@Timeout(60)
class SlowNetworkTest {

    private static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(4);
    private static final Duration ROUND_TRIP = Duration.ofMillis(2_200);

    /** What a busy machine may add. */
    private static final Duration SLACK = Duration.ofMillis(1_500);

    private interface Scenario {
        void run(FaultProxy network, LockTemplate slow, LockTemplate other);
    }

    private static void over(Connections driver, Scenario scenario) {
        RedisLockStore.Options options = RedisLockStore.Options.defaults().withCommandTimeout(COMMAND_TIMEOUT);
        try (RedisServer server = RedisServer.start();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            RedisConnectionFactory direct = driver.to(server.port());
            RedisConnectionFactory delayed = driver.to(network.port());
            try (LockTemplate other = template(direct, options);
                    LockTemplate slow = template(delayed, options)) {
                network.when(ScriptRequests.ACQUIRE).delayRequest(ROUND_TRIP);
                Awaitility.await()
                        .atMost(Duration.ofMinutes(1))
                        .ignoreExceptions()
                        .until(() -> slow.tryRun("warm", lease -> {}));
                scenario.run(network, slow, other);
                network.clear();
            } finally {
                Connections.close(delayed);
                Connections.close(direct);
            }
        }
    }

    private static LockTemplate template(RedisConnectionFactory connections, RedisLockStore.Options options) {
        return LockTemplate.builder(new RedisLockStore(connections, options))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    /** Between two holds of others the lock is free for a moment: either answer is true. */
    @ParameterizedTest
    @EnumSource
    void aTryAtABusyLockHasATrueAnswerInTime(Connections driver) {
        over(driver, (network, slow, other) -> {
            AtomicBoolean over = new AtomicBoolean();
            CompletableFuture<Void> busy = CompletableFuture.runAsync(() -> {
                while (!over.get()) {
                    other.tryRun("busy", lease -> {});
                }
            });
            try {
                for (Duration wait : List.of(Duration.ZERO, Duration.ZERO, Duration.ZERO, Duration.ofMillis(6_200))) {
                    long begin = System.nanoTime();
                    Optional<LockLease> lease =
                            slow.tryAcquire(LockRequest.of("busy").withWaitTime(wait));
                    Duration time = Duration.ofNanos(System.nanoTime() - begin);
                    lease.ifPresent(held -> assertThat(held.isHeld()).isTrue());
                    lease.ifPresent(LockLease::close);
                    assertThat(time).isLessThan((wait.isZero() ? COMMAND_TIMEOUT : wait).plus(SLACK));
                }
            } finally {
                over.set(true);
                busy.join();
            }
        });
    }

    /** Without commands for some minutes the estimate falls behind as far: clocks may drift. */
    @ParameterizedTest
    @EnumSource
    void aFreeLockIsTakenAlsoWhereALateReplyMadeTheServersClockLookSlow(Connections driver) {
        over(driver, (network, slow, other) -> {
            network.clear();
            network.when(ScriptRequests.RELEASE).delayReply(ROUND_TRIP);
            slow.run("other", lease -> {});
            other.run("free", lease -> {});

            assertThat(slow.tryAcquire("free")).hasValueSatisfying(LockLease::close);
        });
    }

    /** What may be a late copy gets a short lease, and nothing where that would end before it can be renewed. */
    @ParameterizedTest
    @EnumSource
    void aLockThatOthersHadMeanwhileIsHeldForLongEnoughToBeRenewed(Connections driver) {
        Duration roundTrip = Duration.ofMillis(800);
        over(driver, (network, slow, other) -> {
            network.clear();
            Fault asked = network.when(ScriptRequests.ACQUIRE).delayRequest(roundTrip);
            for (LockRequest request : List.of(
                    LockRequest.of("one"),
                    LockRequest.of("read").withMode(LockMode.READ),
                    LockRequest.of("first", "second"))) {
                other.run(request, lease -> {});
                int before = asked.hits();
                CompletableFuture<Optional<LockLease>> outcome =
                        CompletableFuture.supplyAsync(() -> slow.tryAcquire(request));
                asked.awaitHits(before + 1, COMMAND_TIMEOUT);
                other.run(request, lease -> {});

                outcome.join().ifPresent(lease -> {
                    assertThat(lease.remaining()).isGreaterThan(roundTrip);
                    lease.close();
                });
            }
        });
    }
}
