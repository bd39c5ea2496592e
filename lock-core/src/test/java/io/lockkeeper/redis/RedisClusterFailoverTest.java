/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.contract.RecordingListener;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.Replication;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** A master dies for good, and its replica takes its place. */
@Timeout(60)
class RedisClusterFailoverTest {

    @ParameterizedTest
    @EnumSource
    void holdsOutliveAFailoverThatIsFasterThanTheirLease(Connections driver) {
        RecordingListener events = new RecordingListener();
        try (RedisCluster cluster = RedisCluster.start(1, "--cluster-node-timeout", "1500")) {
            RedisConnectionFactory connections = driver.toCluster(cluster.ports());
            try (LockTemplate template = LockTemplate.builder(
                            new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                    .leaseTime(Duration.ofSeconds(20))
                    .shutdownWait(Duration.ZERO)
                    .listener(events)
                    .build()) {
                List<LockLease> leases = IntStream.range(0, 60)
                        .mapToObj(i -> template.acquire("name " + i))
                        .toList();
                RedisServer dead = cluster.masters().get(1);
                Replication.await(dead, 1);
                dead.kill();
                List<String> names = IntStream.range(0, 60)
                        .mapToObj(i -> "after " + i)
                        .filter(name -> cluster.masterOf("lockkeeper:lock:" + name) == dead)
                        .toList();
                assertThat(names).isNotEmpty();
                Awaitility.await()
                        .atMost(Duration.ofSeconds(15))
                        .ignoreExceptionsInstanceOf(LockException.class)
                        .until(() -> {
                            names.forEach(name -> template.run(name, lease -> {}));
                            return true;
                        });
                assertThat(cluster.replicas().get(1).keys()).anyMatch(key -> key.startsWith("lockkeeper:lock:after"));
                assertThat(leases).allMatch(LockLease::isHeld).allMatch(LockLease::verify);
                assertThat(events.events(LockListener.Lost.class)).isEmpty();
            } finally {
                Connections.close(connections);
            }
        }
    }

    /** Asked for: the master hands over; then its successor is deposed without being asked. */
    @ParameterizedTest
    @EnumSource
    @Tag("topology")
    void holdsOutliveFailoversThatAreAskedFor(Connections driver) {
        RecordingListener events = new RecordingListener();
        try (RedisCluster cluster = RedisCluster.start(1)) {
            RedisConnectionFactory connections = driver.toCluster(cluster.ports());
            RedisLockStore.Options acks = RedisLockStore.Options.defaults().withReplicaAcks("1", Duration.ofSeconds(1));
            try (LockTemplate template = template(connections, RedisLockStore.Options.defaults(), events);
                    LockTemplate acked = template(connections, acks, events)) {
                List<LockLease> leases = IntStream.range(0, 60)
                        .mapToObj(i -> (i % 2 == 0 ? template : acked).acquire("name " + i))
                        .toList();
                RedisServer master = cluster.masters().get(1);
                RedisServer replica = cluster.replicas().get(1);
                takeOver(replica, master, "CLUSTER", "FAILOVER");
                awaitServed(cluster, master, template, acked);
                takeOver(master, replica, "CLUSTER", "FAILOVER", "TAKEOVER");
                awaitServed(cluster, master, template, acked);
                assertThat(leases).allMatch(LockLease::isHeld).allMatch(LockLease::verify);
                assertThat(events.events(LockListener.Lost.class)).isEmpty();
            } finally {
                Connections.close(connections);
            }
        }
    }

    /** Lettuce looks for masters itself only where it is told to, which it is not here. */
    private static RedisConnectionFactory withoutRefresh(Connections driver, List<Integer> ports) {
        if (driver == Connections.JEDIS) {
            return driver.toCluster(ports);
        }
        ClusterClientOptions options = ClusterClientOptions.builder()
                .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                        .enablePeriodicRefresh(false)
                        .disableAllAdaptiveRefreshTriggers()
                        .build())
                .build();
        LettuceConnectionFactory factory = new LettuceConnectionFactory(
                new RedisClusterConfiguration(
                        ports.stream().map(port -> "127.0.0.1:" + port).toList()),
                LettuceClientConfiguration.builder().clientOptions(options).build());
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    @ParameterizedTest
    @EnumSource
    void connectionsOfReplicaAcksToAFormerMasterEnd(Connections driver) {
        try (RedisCluster cluster = RedisCluster.start(1)) {
            RedisConnectionFactory connections = withoutRefresh(driver, cluster.ports());
            RedisLockStore.Options acks = RedisLockStore.Options.defaults().withReplicaAcks("1", Duration.ofSeconds(1));
            try (LockTemplate acked = template(connections, acks, new RecordingListener())) {
                RedisServer master = cluster.masters().get(1);
                awaitServed(cluster, master, acked);
                assertThat(clientsWithScripts(master)).isPositive();
                takeOver(cluster.replicas().get(1), master, "CLUSTER", "FAILOVER");
                Awaitility.await()
                        .atMost(Duration.ofSeconds(30))
                        .ignoreExceptionsInstanceOf(LockException.class)
                        .until(() -> {
                            awaitServed(cluster, master, acked);
                            return clientsWithScripts(master) == 0;
                        });
            } finally {
                Connections.close(connections);
            }
        }
    }

    private static long clientsWithScripts(RedisServer server) {
        return String.valueOf(server.command("CLIENT", "LIST"))
                .lines()
                .filter(line -> line.contains(" cmd=eval") || line.contains(" cmd=wait"))
                .count();
    }

    private static LockTemplate template(
            RedisConnectionFactory connections, RedisLockStore.Options options, RecordingListener events) {
        return LockTemplate.builder(new RedisLockStore(connections, options))
                .leaseTime(Duration.ofSeconds(20))
                .shutdownWait(Duration.ZERO)
                .listener(events)
                .build();
    }

    private static void takeOver(RedisServer next, RedisServer before, String... command) {
        Awaitility.await().until(() -> offset(next) == offset(before));
        next.command(command);
        Awaitility.await().until(() -> String.valueOf(before.command("INFO", "replication"))
                .contains("role:slave"));
        Awaitility.await().until(() -> String.valueOf(before.command("INFO", "replication"))
                .contains("master_link_status:up"));
    }

    private static long offset(RedisServer server) {
        return String.valueOf(server.command("INFO", "replication"))
                .lines()
                .filter(line -> line.startsWith("master_repl_offset:"))
                .mapToLong(line ->
                        Long.parseLong(line.substring(line.indexOf(':') + 1).strip()))
                .findFirst()
                .orElseThrow();
    }

    private static void awaitServed(RedisCluster cluster, RedisServer once, LockTemplate... templates) {
        List<String> names = IntStream.range(0, 60)
                .mapToObj(i -> "after " + i)
                .filter(name -> cluster.masterOf("lockkeeper:lock:" + name) == once)
                .toList();
        for (LockTemplate template : templates) {
            Awaitility.await()
                    .atMost(Duration.ofSeconds(15))
                    .ignoreExceptionsInstanceOf(LockException.class)
                    .until(() -> {
                        names.forEach(name -> template.run(name, lease -> {}));
                        return true;
                    });
        }
    }
}
