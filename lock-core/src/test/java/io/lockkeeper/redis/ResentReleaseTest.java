/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A release that ran, whose answer was lost with the connection, and which the driver sends again. */
@Timeout(40)
class ResentReleaseTest {

    private static final Duration PATIENCE = Duration.ofSeconds(10);

    @ParameterizedTest
    @CsvSource({"JEDIS, 0", "LETTUCE, 0", "JEDIS, 1", "LETTUCE, 1"})
    void isNoLossAlthoughTheNextHolderHasComeAndGone(Connections driver, String acks) throws Exception {
        RedisLockStore.Options options = RedisLockStore.Options.defaults()
                .withCommandTimeout(Duration.ofSeconds(5))
                .withReplicaAcks(acks, Duration.ofSeconds(2));
        try (RedisServer server = RedisServer.start("--repl-diskless-sync-delay", "0");
                RedisServer replica = RedisServer.start("--replicaof", server.host(), "" + server.port());
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            Awaitility.await().until(() -> String.valueOf(replica.command("INFO", "replication"))
                    .contains("master_link_status:up"));
            RedisConnectionFactory direct = driver.to(server.port());
            RedisConnectionFactory faulty = driver.to(network.port());
            try (LockTemplate other = template(direct, options);
                    LockTemplate template = template(faulty, options)) {
                // A replica that has just come may need longer than an ack.
                Awaitility.await().ignoreExceptions().until(() -> template.tryRun("warm", lease -> {}));
                LockLease lease = template.acquire("stock");
                AtomicBoolean told = new AtomicBoolean();
                lease.onLost(loss -> told.set(true));
                Fault cut = network.when(ScriptRequests.RELEASE).once().cutReply();
                Fault second = network.when(ScriptRequests.RELEASE).once().hold();
                CompletableFuture<ReleaseResult> released = CompletableFuture.supplyAsync(lease::release);
                cut.awaitCompleted(1, PATIENCE);
                second.awaitHits(1, PATIENCE);
                Awaitility.await().until(() -> other.tryRun("stock", next -> {}));
                second.deliver();

                assertThat(released.get(10, TimeUnit.SECONDS)).isEqualTo(ReleaseResult.UNKNOWN);
                assertThat(told).isFalse();
                try (LockLease next = template.acquire("stock")) {
                    assertThat(next.verify()).isTrue();
                }
            } finally {
                Connections.close(faulty);
                Connections.close(direct);
            }
        }
    }

    private static LockTemplate template(RedisConnectionFactory connections, RedisLockStore.Options options) {
        return LockTemplate.builder(new RedisLockStore(connections, options))
                .shutdownWait(Duration.ZERO)
                .build();
    }
}
