/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.topology.Topology.Driver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The short form of the contracts, in each build: both drivers, Sentinel and cluster, with replica acks. */
@Timeout(60)
class BootConnectionsTest {

    private static final int NAMES = 30;

    @ParameterizedTest
    @CsvSource({"JEDIS, false", "LETTUCE, false", "JEDIS, true", "LETTUCE, true"})
    void locksPassBetweenTheTemplateOfTheApplicationAndAnother(Driver driver, boolean cluster) throws Exception {
        String[] acks = {"lockkeeper.redis.replica-acks=1", "lockkeeper.redis.replica-ack-timeout=1s"};
        try (Topology topology = cluster ? Topology.cluster(driver, acks) : Topology.sentinel(driver, acks);
                LockTemplate other = LockTemplate.builder(
                                new RedisLockStore(topology.connections(), RedisLockStore.Options.defaults()))
                        .shutdownWait(Duration.ZERO)
                        .build()) {
            LockTemplate template = topology.template();
            List<LockLease> held = new ArrayList<>();
            List<CompletableFuture<LockLease>> next = new ArrayList<>();
            for (int i = 0; i < NAMES; i++) {
                held.add(template.acquire("name " + i));
                next.add(other.acquireAsync(LockRequest.of("name " + i)));
            }
            assertThat(held).allMatch(LockLease::verify);
            assertThat(next).noneMatch(CompletableFuture::isDone);
            for (int i = 0; i < NAMES; i++) {
                assertThat(held.get(i).release()).isEqualTo(ReleaseResult.RELEASED);
                CompletableFuture<LockLease> back = template.acquireAsync(LockRequest.of("name " + i));
                try (LockLease lease = next.get(i).get(15, TimeUnit.SECONDS)) {
                    assertThat(lease.fencingToken()).isGreaterThan(held.get(i).fencingToken());
                }
                back.get(15, TimeUnit.SECONDS).close();
            }
        }
    }
}
