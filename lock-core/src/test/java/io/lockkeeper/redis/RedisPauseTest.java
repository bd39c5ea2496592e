/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.contract.RecordingListener;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A server that stops for a while: shorter than a lease, and longer. */
class RedisPauseTest {

    private static final Duration LEASE = Duration.ofSeconds(3);

    private RedisServer server;

    @BeforeEach
    void start() {
        server = RedisServer.start();
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private static LockTemplate template(RedisConnectionFactory connections, LockListener listener) {
        return LockTemplate.builder(new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .listener(listener)
                .build();
    }

    private static void awaitRenewals(RecordingListener events, int count) {
        Awaitility.await().until(() -> events.events(LockListener.Renewed.class).size() >= count);
    }

    @ParameterizedTest
    @EnumSource
    void aPauseShorterThanTheLeaseCostsNothing(Connections driver) {
        RedisConnectionFactory connections = driver.to(server.port());
        RecordingListener events = new RecordingListener();
        try (LockTemplate template = template(connections, events)) {
            LockLease lease = template.acquire("paused");
            awaitRenewals(events, 1);
            server.pause();
            int renewals = events.events(LockListener.Renewed.class).size();
            // The next renewal fails after a second, at two thirds of the lease.
            Awaitility.await().until(() -> !events.events(LockListener.RenewalFailed.class)
                    .isEmpty());
            server.resume();
            awaitRenewals(events, renewals + 2);
            assertThat(lease.isHeld()).isTrue();
            assertThat(lease.verify()).isTrue();
            assertThat(events.events(LockListener.Lost.class)).isEmpty();
            assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
        } finally {
            Connections.close(connections);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aLongerPauseLosesTheLockBeforeAnybodyElseHasIt(Connections driver) throws Exception {
        RedisConnectionFactory connections = driver.to(server.port());
        RedisConnectionFactory others = driver.to(server.port());
        RecordingListener events = new RecordingListener();
        try (LockTemplate template = template(connections, events);
                LockTemplate other = template(others, new RecordingListener())) {
            LockLease lease = template.acquire("paused");
            long deadline = System.nanoTime() + lease.remaining().toNanos();
            CompletableFuture<Long> lostAt = new CompletableFuture<>();
            lease.onLost(loss -> lostAt.complete(System.nanoTime()));
            CompletableFuture<LockLease> waiting =
                    other.acquireAsync(LockRequest.of("paused").withWaitTime(Duration.ofSeconds(20)));
            // One whose first question is not answered does not wait.
            Awaitility.await().until(() -> template.inspector().status("paused").stream()
                    .anyMatch(status -> !status.waiters().isEmpty()));
            server.pause();
            long lost = lostAt.get(5 * LEASE.toMillis(), TimeUnit.MILLISECONDS);
            assertThat(lease.isHeld()).isFalse();
            assertThat(Duration.ofNanos(lost - deadline)).isBetween(Duration.ofMillis(-20), Duration.ofSeconds(2));
            server.resume();
            LockLease next = waiting.get(5 * LEASE.toMillis(), TimeUnit.MILLISECONDS);
            assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
            assertThat(lease.isHeld()).isFalse();
            assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
            assertThat(next.verify()).isTrue();
            next.close();
            assertThat(events.events(LockListener.Lost.class)).hasSize(1);
        } finally {
            Connections.close(connections);
            Connections.close(others);
        }
    }
}
