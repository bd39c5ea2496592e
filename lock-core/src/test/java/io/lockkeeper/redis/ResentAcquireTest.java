/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisRequest;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A command that took the lock, whose answer was lost with the connection, and which the driver sends again late. */
@Timeout(40)
class ResentAcquireTest {

    private static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(3);

    @ParameterizedTest
    @EnumSource
    void leavesNoHoldWithoutACaller(Connections driver) throws Exception {
        RedisLockStore.Options options = RedisLockStore.Options.defaults().withCommandTimeout(COMMAND_TIMEOUT);
        try (RedisServer server = RedisServer.start();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            RedisConnectionFactory connections = driver.to(network.port());
            try (LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, options))
                    .build()) {
                template.run("warm", lease -> {});
                Fault late = network.when(
                                RedisRequest.containing("lockkeeper:lock:stock").and(ScriptRequests.ACQUIRE))
                        .once()
                        .delayReply(COMMAND_TIMEOUT.multipliedBy(2));
                CompletableFuture<Optional<LockLease>> trying =
                        CompletableFuture.supplyAsync(() -> template.tryAcquire(LockRequest.of("stock")));
                late.awaitHits(1, Duration.ofSeconds(10));
                // More than half of its time goes by before the connection is lost.
                Awaitility.await()
                        .pollDelay(COMMAND_TIMEOUT.multipliedBy(6).dividedBy(10))
                        .untilAsserted(() -> assertThat(server.owner("lockkeeper:lock:stock"))
                                .isNotEmpty());
                network.disconnectClients();
                try {
                    LockLease lease = trying.get(10, TimeUnit.SECONDS).orElseThrow();
                    assertThat(lease.verify()).isTrue();
                    assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
                } catch (ExecutionException failure) {
                    // The connection that was made at once may have been closed with the others.
                    assertThat(failure).hasCauseInstanceOf(LockStoreException.class);
                }
                // Long before the lease ends.
                Awaitility.await().until(() -> template.tryRun("stock", held -> {}));
            } finally {
                Connections.close(connections);
            }
        }
    }
}
