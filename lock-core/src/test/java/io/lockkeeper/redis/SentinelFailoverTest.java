/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.contract.RecordingListener;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisSentinel;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.Replication;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Sentinel names another master: asked for, or because the first one died. */
@Timeout(90)
@Tag("topology")
class SentinelFailoverTest {

    private static final Logger log = LoggerFactory.getLogger(SentinelFailoverTest.class);
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final int LOCKS = 50;

    @ParameterizedTest
    @EnumSource
    void holdsOutliveFailovers(Connections driver) {
        RecordingListener events = new RecordingListener();
        try (RedisSentinel sentinel = RedisSentinel.start()) {
            RedisConnectionFactory connections = driver.toSentinel(sentinel);
            RedisLockStore.Options options =
                    RedisLockStore.Options.defaults().withReplicaAcks("1", Duration.ofSeconds(1));
            try (LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, options))
                            .leaseTime(LEASE)
                            .shutdownWait(Duration.ZERO)
                            .listener(events)
                            .build();
                    LockTemplate without = LockTemplate.builder(
                                    new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                            .leaseTime(LEASE)
                            .shutdownWait(Duration.ZERO)
                            .build()) {
                List<LockLease> leases = IntStream.range(0, LOCKS)
                        .mapToObj(i -> (i % 2 == 0 ? template : without).acquire("name " + i))
                        .toList();
                sentinel.failover();
                awaitServed(template, sentinel.master(), "asked for", driver);
                awaitServed(without, sentinel.master(), "asked for, without acks", driver);
                assertThat(leases).allMatch(LockLease::isHeld).allMatch(LockLease::verify);
                RedisServer dead = sentinel.master();
                Replication.await(dead, 2);
                dead.kill();
                awaitServed(template, null, "after a death", driver);
                awaitServed(without, null, "after a death, without acks", driver);
                sentinel.awaitOtherMaster(dead);
                assertThat(leases).allMatch(LockLease::isHeld).allMatch(LockLease::verify);
                assertThat(events.events(LockListener.Lost.class)).isEmpty();
                assertThat(leases).allMatch(lease -> lease.release().name().equals("RELEASED"));
            } finally {
                Connections.close(connections);
            }
        }
    }

    private static void awaitServed(
            LockTemplate template, @Nullable RedisServer master, String what, Connections driver) {
        long begin = System.nanoTime();
        int[] failures = {0};
        Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> {
            try {
                template.run("served", lease -> {});
                return true;
            } catch (LockStoreException refused) {
                failures[0]++;
                return false;
            }
        });
        log.info(
                "{}, {}: served after {} ms, {} refusals",
                driver,
                what,
                (System.nanoTime() - begin) / 1_000_000,
                failures[0]);
        if (master != null) {
            assertThat(master.keys()).contains("lockkeeper:lock:served");
        }
    }
}
