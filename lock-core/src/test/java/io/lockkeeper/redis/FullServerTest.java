/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A server without memory for anything new, which evicts nothing: what is held or waited for goes on. */
@Timeout(40)
class FullServerTest {

    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final long LEASE_MILLIS = LEASE.toMillis();
    private static final String KEY = "lockkeeper:lock:stock";

    private final RecordingListener events = new RecordingListener();
    private final List<RedisConnectionFactory> factories = new ArrayList<>();

    @AfterEach
    void stop() {
        factories.forEach(Connections::close);
    }

    private LockTemplate template(Connections driver, RedisServer server) {
        RedisConnectionFactory connections = driver.to(server.port());
        factories.add(connections);
        LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .listener(events)
                .build();
        Awaitility.await()
                .atMost(Duration.ofMinutes(1))
                .ignoreExceptionsInstanceOf(LockStoreException.class)
                .until(() -> template.tryRun("warm", lease -> {}));
        return template;
    }

    private static void limit(RedisServer server, String bytes) {
        server.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
        server.command("CONFIG", "SET", "maxmemory", bytes);
    }

    private static ReleaseResult use(LockLease lease) {
        assertThat(lease.verify()).isTrue();
        return lease.release();
    }

    @ParameterizedTest
    @CsvSource({"JEDIS, 6.2", "LETTUCE, 6.2", "JEDIS, 7.0", "LETTUCE, 7.0"})
    void renewalsAndReleasesAndGrantsWorkAndNewLocksAreRefused(Connections driver, String version) throws Exception {
        try (RedisServer server = RedisServer.startVersion(version);
                LockTemplate template = template(driver, server);
                LockTemplate other = template(driver, server)) {
            LockLease lease = template.acquire("stock");
            List<CompletableFuture<ReleaseResult>> waiting = new ArrayList<>();
            for (LockTemplate waits : List.of(template, other)) {
                waiting.add(waits.acquireAsync(LockRequest.of("stock")).thenApplyAsync(FullServerTest::use));
            }
            CompletableFuture<LockLease> gone = other.acquireAsync(LockRequest.of("stock"));
            Awaitility.await().until(() -> server.waiting(KEY) > 0);
            limit(server, "1");
            assertThatThrownBy(() -> template.acquire("new"))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("OOM");
            assertThatThrownBy(() -> template.acquire(LockRequest.of("new 1", "new 2")))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("OOM");
            long begin = System.nanoTime();
            Awaitility.await().until(() -> System.nanoTime() - begin > LEASE.toNanos() * 3 / 2);
            assertThat(lease.isHeld()).isTrue();
            assertThat(lease.verify()).isTrue();
            gone.cancel(true);
            assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
            for (CompletableFuture<ReleaseResult> served : waiting) {
                assertThat(served.get(10, TimeUnit.SECONDS)).isEqualTo(ReleaseResult.RELEASED);
            }
            assertThat(server.owner(KEY)).isEmpty();
            assertThat(events.events(LockListener.RenewalFailed.class)).isEmpty();
            assertThat(events.events(LockListener.Lost.class)).isEmpty();
            limit(server, "0");
            template.run("new", held -> {});
        }
    }

    /** A key that lives long enough gets no other end, so that the first write is one that a full server refuses. */
    @ParameterizedTest
    @ValueSource(strings = {"6.2", "7.0"})
    void aLockThatWasUsedBeforeIsTakenAndKeptAndHandedOnAndReleased(String version) {
        try (RedisServer server = RedisServer.startVersion(version)) {
            ScriptCalls calls = new ScriptCalls(server, KEY);
            for (String attempt : List.of(attempt(1), attempt(2))) {
                calls.acquire(attempt, "X", LEASE_MILLIS, 0, LEASE_MILLIS, 1, calls.micros());
                calls.release(attempt, 0, 0);
            }
            limit(server, "1");
            server.resetStatistics();
            calls.acquire(attempt(3), "X", LEASE_MILLIS, 0, LEASE_MILLIS, 1, calls.micros());
            assertThat(calls.record().owner()).isEqualTo(attempt(3));
            long until = calls.record().until();
            assertThat(ScriptCalls.texts(calls.renew(attempt(3), 2 * LEASE_MILLIS, false)))
                    .endsWith("1");
            assertThat(calls.record().until()).isGreaterThan(until);
            calls.handOver(attempt(3), 0, attempt(4), LEASE_MILLIS, 1);
            assertThat(calls.record().owner()).isEqualTo(attempt(4));
            calls.acquire(attempt(5), "F", LEASE_MILLIS, LEASE_MILLIS, LEASE_MILLIS, 1, calls.micros());
            assertThat(calls.record().waiting()).isEqualTo(1);
            calls.release(attempt(4), 0, 0);
            assertThat(calls.record().owner()).as("by a grant").isEqualTo(attempt(5));
            calls.release(attempt(5), 0, 0);
            assertThat(calls.record().owner()).isEmpty();
        }
    }

    private static String attempt(int number) {
        return "clientAAAAAA%08d".formatted(number);
    }
}
