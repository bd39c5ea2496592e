/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** What a failover costs that comes before a replica has a hold: what the documentation promises, and not more. */
@Timeout(60)
class UnackedFailoverTest {

    private static final Duration LEASE = Duration.ofSeconds(15);

    private static LockTemplate template(RedisConnectionFactory connections, String acks) {
        RedisLockStore.Options options =
                RedisLockStore.Options.defaults().withReplicaAcks(acks, Duration.ofMillis(500));
        return LockTemplate.builder(new RedisLockStore(connections, options))
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .build();
    }

    @ParameterizedTest
    @EnumSource
    void aHoldThatNoReplicaHasIsLostAtItsNextRenewalOrNeverGiven(Connections driver) throws Exception {
        try (RedisCluster cluster = RedisCluster.start(1, "--cluster-node-timeout", "60000")) {
            RedisConnectionFactory connections = driver.toCluster(cluster.ports());
            try (LockTemplate template = template(connections, "0");
                    LockTemplate other = template(connections, "0");
                    LockTemplate acked = template(connections, "1")) {
                acked.run("stock", lease -> {});
                RedisServer master = cluster.masterOf("lockkeeper:lock:stock");
                RedisServer replica = cluster.replicas().get(cluster.masters().indexOf(master));
                replica.pause();
                assertThatThrownBy(() -> acked.acquire("stock"))
                        .isInstanceOf(LockStoreException.class)
                        .hasMessageContaining("only 0 of 1 replicas");
                Awaitility.await().until(() -> "".equals(master.owner("lockkeeper:lock:stock")));
                // What is on its way to a stopped process arrives when it goes on.
                master.command("CLIENT", "KILL", "TYPE", "replica");
                LockLease lost = template.acquire("stock");
                long begin = System.nanoTime();
                CompletableFuture<Long> told = new CompletableFuture<>();
                lost.onLost(loss -> told.complete(System.nanoTime()));
                master.kill();
                replica.resume();
                replica.command("CLUSTER", "FAILOVER", "TAKEOVER");
                LockLease next = Awaitility.await()
                        .atMost(LEASE)
                        .ignoreExceptionsInstanceOf(LockException.class)
                        .until(() -> other.acquire("stock"), lease -> true);
                assertThat(next.fencingToken()).isGreaterThan(lost.fencingToken());
                // A third of the lease, and the retries of a renewal that met nobody.
                assertThat(Duration.ofNanos(told.get(LEASE.toMillis(), TimeUnit.MILLISECONDS) - begin))
                        .isLessThan(LEASE.dividedBy(3).multipliedBy(2));
                assertThat(lost.isHeld()).isFalse();
                assertThat(next.verify()).isTrue();
            } finally {
                Connections.close(connections);
            }
        }
    }
}
