/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.contract.RecordingListener;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A server that dies and comes back with its data. One that forgets everything is another test's. */
@Timeout(40)
class RedisRestartTest {

    private static final Duration LEASE = Duration.ofSeconds(6);

    private final RecordingListener events = new RecordingListener();
    private final List<RedisConnectionFactory> factories = new ArrayList<>();

    private LockTemplate template(Connections driver, RedisServer server) {
        RedisConnectionFactory connections = driver.to(server.port());
        factories.add(connections);
        LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .listener(events)
                .build();
        Awaitility.await().ignoreExceptionsInstanceOf(LockStoreException.class).until(() -> {
            template.run("warm", lease -> {});
            return true;
        });
        return template;
    }

    @ParameterizedTest
    @EnumSource
    void aRestartWithItsDataCostsNeitherHoldsNorPlaces(Connections driver) throws Exception {
        try (RedisServer server = RedisServer.start("--appendonly", "yes", "--appendfsync", "always");
                LockTemplate template = template(driver, server);
                LockTemplate other = template(driver, server)) {
            LockLease lease = template.acquire("stock");
            CompletableFuture<LockLease> waiting = other.acquireAsync(LockRequest.of("stock"));
            Awaitility.await().until(() -> server.waiting("lockkeeper:lock:stock") > 0);
            int renewals = events.events(LockListener.Renewed.class).size();
            server.restart();
            assertThat(server.owner("lockkeeper:lock:stock")).isNotEmpty();
            Awaitility.await()
                    .atMost(LEASE)
                    .until(() -> events.events(LockListener.Renewed.class).size() > renewals);
            assertThat(lease.isHeld()).isTrue();
            assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
            LockLease next = waiting.get(LEASE.toSeconds(), TimeUnit.SECONDS);
            assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
            next.close();
            assertThat(events.events(LockListener.Lost.class)).isEmpty();
        } finally {
            factories.forEach(Connections::close);
        }
    }
}
