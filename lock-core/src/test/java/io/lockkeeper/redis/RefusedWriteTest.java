/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * A server that reads and publishes but takes no writes: a deposed master, or one that was cut off from its replicas.
 */
@Timeout(40)
class RefusedWriteTest {

    private static final Duration LEASE = Duration.ofSeconds(9);
    private static final String KEY = "lockkeeper:lock:stock";

    private final List<RedisConnectionFactory> factories = new ArrayList<>();
    private RedisServer server;

    @BeforeEach
    void start() {
        server = RedisServer.start();
    }

    @AfterEach
    void stop() {
        factories.forEach(Connections::close);
        server.close();
    }

    private LockTemplate template(Connections driver) {
        RedisConnectionFactory connections = driver.to(server.port());
        factories.add(connections);
        LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .build();
        Awaitility.await().ignoreExceptionsInstanceOf(LockStoreException.class).until(() -> {
            template.run("warm", lease -> {});
            return true;
        });
        return template;
    }

    private void refuse(boolean replica) {
        if (replica) {
            server.command("REPLICAOF", server.host(), "" + RedisServer.freePort());
        } else {
            server.command("CONFIG", "SET", "min-replicas-to-write", "1");
        }
    }

    private void accept() {
        server.command("REPLICAOF", "NO", "ONE");
        server.command("CONFIG", "SET", "min-replicas-to-write", "0");
    }

    /**
     * A grant that was published but not written would let the waiter hold the lock together with whomever takes it
     * next.
     */
    @ParameterizedTest
    @CsvSource({"JEDIS, true", "LETTUCE, true", "JEDIS, false", "LETTUCE, false"})
    void aReleaseThatIsRefusedGrantsNothing(Connections driver, boolean replica) throws Exception {
        try (LockTemplate holder = template(driver);
                LockTemplate other = template(driver)) {
            Awaitility.await()
                    .until(() ->
                            server.command("PUBSUB", "CHANNELS") instanceof List<?> channels && channels.size() == 2);
            LockLease held = holder.acquire("stock");
            CompletableFuture<LockLease> waiting = other.acquireAsync(LockRequest.of("stock"));
            Awaitility.await().until(() -> server.waiting(KEY) > 0);
            refuse(replica);
            assertThat(held.release()).isEqualTo(ReleaseResult.UNKNOWN);
            Awaitility.await()
                    .during(Duration.ofMillis(500))
                    .atMost(Duration.ofSeconds(10))
                    .until(() -> !waiting.isDone());
            accept();
            LockLease next = waiting.get(LEASE.toSeconds(), TimeUnit.SECONDS);
            assertThat(next.verify()).isTrue();
            assertThat(next.fencingToken()).isGreaterThan(held.fencingToken());
            assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    /** It has never heard of a hold that the master which follows it gave, or that was given before it was cut off. */
    @ParameterizedTest
    @CsvSource({"JEDIS, true", "LETTUCE, true", "JEDIS, false", "LETTUCE, false"})
    void aServerThatTakesNoWritesDoesNotSayThatAHoldIsLost(Connections driver, boolean replica) {
        try (LockTemplate holder = template(driver)) {
            LockLease held = holder.acquire("stock");
            server.command("DEL", KEY);
            refuse(replica);

            Awaitility.await()
                    .during(LEASE.dividedBy(3).plusSeconds(1))
                    .atMost(LEASE)
                    .until(held::isHeld);
            assertThat(held.release()).isEqualTo(ReleaseResult.UNKNOWN);
            // Closing would wait for seconds until the release can be repeated.
            accept();
        }
    }

    /** The grant that it waits for may come from the master which follows it, and be lost. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aServerThatTakesNoWritesDoesNotSayThatAPlaceIsKept(boolean replica) {
        ScriptCalls calls = new ScriptCalls(server, KEY);
        calls.acquire("holder-holder-holder", "X", 20_000, 0, 3_000, 1, calls.micros());
        Supplier<String> poll =
                () -> "" + calls.acquire("waiter-waiter-waiter", "X", 20_000, 20_000, 3_000, 1, calls.micros());
        assertThat(poll.get()).startsWith("QUEUED");
        assertThat(poll.get()).startsWith("QUEUED");
        refuse(replica);

        assertThatExceptionOfType(RespConnection.ErrorReply.class).isThrownBy(poll::get);
        accept();
        assertThat(poll.get()).startsWith("QUEUED");
    }

    /** The record that it has may be of a hold that ended at the master which follows it. */
    @ParameterizedTest
    @CsvSource({"JEDIS, true", "LETTUCE, true", "JEDIS, false", "LETTUCE, false"})
    void aServerThatTakesNoWritesDoesNotTellWhoHoldsALock(Connections driver, boolean replica) {
        try (LockTemplate holder = template(driver);
                LockTemplate other = template(driver)) {
            LockLease held = holder.acquire("stock");
            LockLease gone = holder.acquire("gone");
            server.command("DEL", KEY.replace("stock", "gone"));
            refuse(replica);

            assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> other.tryAcquire("stock"));
            assertThatExceptionOfType(LockStoreException.class)
                    .isThrownBy(() -> other.inspector().status("stock"));
            assertThatExceptionOfType(LockStoreException.class).isThrownBy(gone::verify);
            assertThat(gone.isHeld()).isTrue();
            accept();
            assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
        }
    }
}
