/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;

@Timeout(60)
class RedisClusterTest {

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @ParameterizedTest
    @EnumSource
    void keysGoToTheMasterOfTheirSlot(Connections driver) {
        try (RedisCluster cluster = RedisCluster.start()) {
            RedisConnectionFactory connections = driver.toCluster(cluster.ports());
            try (RedisConnection connection = connections.getConnection()) {
                for (int i = 0; i < 100; i++) {
                    connection.stringCommands().set(bytes("key " + i), bytes("" + i));
                }
            } finally {
                Connections.close(connections);
            }
            Map<String, Integer> keys = cluster.keys();
            assertThat(keys).hasSize(100);
            assertThat(keys.values()).contains(0, 1, 2);
            keys.forEach((key, master) ->
                    assertThat(cluster.masterOf(key)).isSameAs(cluster.masters().get(master)));
            assertThat(cluster.calls("set")).isEqualTo(100);
        }
    }

    @Test
    void aReplicaTakesThePlaceOfItsMaster() {
        try (RedisCluster cluster = RedisCluster.start(1, "--cluster-node-timeout", "1000")) {
            assertThat(cluster.ports()).hasSize(6).doesNotHaveDuplicates();
            RedisServer master = cluster.masters().get(1);
            RedisServer replica = cluster.replicas().get(1);
            String key = IntStream.range(0, 100)
                    .mapToObj(i -> "key " + i)
                    .filter(candidate -> cluster.masterOf(candidate) == master)
                    .findFirst()
                    .orElseThrow();
            master.command("SET", key, "kept");
            Replication.await(master, 1);
            master.kill();
            Awaitility.await()
                    .until(() -> String.valueOf(replica.command("ROLE")).startsWith("[master"));
            cluster.awaitServing();
            assertThat(replica.command("GET", key)).isEqualTo("kept");
        }
    }

    @Test
    void theOtherMastersServeWhileOneIsGoneAndClosingEndsAllNodes() {
        RedisCluster cluster = RedisCluster.start();
        List<RedisServer> masters = cluster.masters();
        try {
            masters.get(0).pause();
            assertThat(masters.get(1).command("CLUSTER", "KEYSLOT", "b")).isEqualTo(3300L);
            assertThat(cluster.masters().get(2).command("SET", "a", "1")).isEqualTo("OK");
            assertThatThrownBy(() -> masters.get(1).command("SET", "a", "1"))
                    .isInstanceOf(RespConnection.ErrorReply.class)
                    .hasMessageStartingWith("MOVED 15495 127.0.0.1:");
        } finally {
            cluster.close();
        }
        assertThat(masters).noneMatch(RedisServer::isRunning);
    }
}
