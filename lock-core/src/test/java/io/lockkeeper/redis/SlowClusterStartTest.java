/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisRequest;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A cluster whose masters tell their names at the start, and their time only later. */
@Timeout(60)
class SlowClusterStartTest {

    @ParameterizedTest
    @EnumSource
    void locksWorkWhenTheMastersAnswerAgain(Connections driver) {
        try (RedisServer server = RedisCluster.ofOne();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            server.command("CONFIG", "SET", "cluster-announce-port", "" + network.port());
            Fault silent = network.when(RedisRequest.command("TIME")).swallow();
            RedisConnectionFactory connections = driver.toCluster(List.of(network.port()));
            RedisLockStore.Options options =
                    RedisLockStore.Options.defaults().withCommandTimeout(Duration.ofMillis(300));
            try (LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, options))
                    .shutdownWait(Duration.ZERO)
                    .build()) {
                assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> template.tryAcquire("name"));
                silent.clear();
                network.disconnectClients();
                Awaitility.await()
                        .atMost(Duration.ofSeconds(20))
                        .ignoreExceptions()
                        .until(() -> template.tryRun("name", lease -> {}));
            } finally {
                Connections.close(connections);
            }
        }
    }
}
