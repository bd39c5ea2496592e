/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** What is left when nobody holds or wants anything. */
class RedisFootprintTest {

    /** More by -Dlockkeeper.test.names=100000. */
    private static final int NAMES = Integer.getInteger("lockkeeper.test.names", 20_000);

    @Test
    void manyNamesLeaveOnlyTombstonesThatExpire() {
        try (RedisServer server = RedisServer.start()) {
            RedisConnectionFactory connections = Connections.JEDIS.to(server.port());
            RedisLockStore.Options options = RedisLockStore.Options.defaults().withTombstoneTime(Duration.ofSeconds(3));
            LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, options))
                    // A plain release leaves the life of the key as it is: the lease and that of the tombstone.
                    .leaseTime(Duration.ofSeconds(3))
                    .build();
            try {
                for (int i = 0; i < NAMES; i++) {
                    template.acquire("name " + i).close();
                }
                assertThat(template.toString()).contains("held=0", "names=0");
                assertThat(server.command("PUBSUB", "CHANNELS"))
                        .asInstanceOf(InstanceOfAssertFactories.LIST)
                        .hasSize(1);
                Awaitility.await()
                        .atMost(Duration.ofSeconds(15))
                        .until(() -> server.keys().size() == 1);
                assertThat(server.keys()).singleElement().asString().startsWith("lockkeeper:instance:");
            } finally {
                template.close();
                Connections.close(connections);
            }
            assertThat(server.keys()).isEmpty();
        }
    }
}
