/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RedisSentinelTest {

    @Test
    @Tag("topology")
    void aReplicaTakesThePlaceOfADeadMaster() {
        try (RedisSentinel sentinel = RedisSentinel.start()) {
            RedisServer first = sentinel.master();
            assertThat(first).isSameAs(sentinel.servers().get(0));
            first.command("SET", "key", "value");
            Replication.await(first, 2);
            first.kill();
            sentinel.awaitOtherMaster(first);
            assertThat(sentinel.master()).isNotSameAs(first);
            assertThat(sentinel.master().command("GET", "key")).isEqualTo("value");
        }
    }

    @Test
    void serversOfBothVersionsComeWithTheTests() {
        for (String version : new String[] {"6.2", "7.0"}) {
            try (RedisServer server = RedisServer.startVersion(version)) {
                assertThat(String.valueOf(server.command("INFO", "server"))).contains("redis_version:" + version + ".");
            }
        }
    }
}
