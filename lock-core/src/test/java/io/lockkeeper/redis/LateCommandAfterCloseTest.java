/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisRequest;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/** An acquisition that reaches Redis when its instance has closed in good order. */
@Timeout(40)
class LateCommandAfterCloseTest {

    private static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(4);
    private static final Duration LATE = Duration.ofSeconds(3);

    /**
     * Over a factory that has no native driver: it gives up a command whose connection is cut, and the others send it
     * again.
     */
    @Test
    void holdsALockForTheCommandTimeoutAtMost() throws Exception {
        RedisLockStore.Options options = RedisLockStore.Options.defaults().withCommandTimeout(COMMAND_TIMEOUT);
        try (RedisServer server = RedisServer.start();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            RedisConnectionFactory direct = Connections.JEDIS.to(server.port());
            RedisConnectionFactory faulty = withoutNativeDriver(network.port());
            try (LockTemplate other =
                    LockTemplate.builder(new RedisLockStore(direct, options)).build()) {
                other.run("warm", lease -> {});
                LockTemplate closing = LockTemplate.builder(new RedisLockStore(faulty, options))
                        .build();
                closing.run("warm", lease -> {});
                Fault late = network.when(
                                RedisRequest.containing("lockkeeper:lock:stock").and(ScriptRequests.ACQUIRE))
                        .delayRequest(LATE);
                CompletableFuture<LockLease> failing = closing.acquireAsync(LockRequest.of("stock"));
                late.awaitHits(1, Duration.ofSeconds(10));
                network.disconnectClients();
                Awaitility.await().atMost(LATE).until(failing::isCompletedExceptionally);
                late.clear();
                Awaitility.await()
                        .until(() -> server.command("PUBSUB", "CHANNELS") instanceof List<?> channels
                                && channels.size() == 2);
                closing.close();
                late.awaitCompleted(1, Duration.ofSeconds(20));
                Awaitility.await()
                        .during(Duration.ofMillis(300))
                        .atMost(Duration.ofSeconds(10))
                        .until(() -> {
                            String owner = server.owner("lockkeeper:lock:stock");
                            return owner == null || owner.isEmpty();
                        });
                assertThat(other.tryRun("stock", lease -> {})).isTrue();
            } finally {
                Connections.close(faulty);
                Connections.close(direct);
            }
        }
    }

    private static RedisConnectionFactory withoutNativeDriver(int port) {
        JedisConnectionFactory factory =
                new JedisConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", port)) {};
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }
}
