/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.redis.replication.ReplicatedCommands;
import io.lockkeeper.redis.replication.ReplicatedCommands.Acks;
import io.lockkeeper.redis.replication.ReplicatedCommands.DedicatedConnection;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;

@Timeout(30)
class ReplicatedCommandsTest {

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

    @AfterEach
    void stop() {
        timer.shutdown();
    }

    @Test
    void theCommandTimeoutCountsWhileTheMasterIsAskedFor() {
        ReplicatedCommands commands = commands(Duration.ofMillis(100), key -> new CompletableFuture<>(), () -> {
            throw new AssertionError("no server is known");
        });
        CompletableFuture<Object> answer = scan(commands);

        assertThatThrownBy(() -> answer.get(10, TimeUnit.SECONDS))
                .cause()
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("did not answer to scan within 100 ms");
    }

    /** Those of all other masters would wait with it. */
    @Test
    void aMasterThatDoesNotAnswerIsNotWaitedForToKeepItsConnection() {
        CompletableFuture<RedisConnectionFactory> silent = new CompletableFuture<>();
        ReplicatedCommands commands =
                commands(Duration.ofSeconds(10), key -> CompletableFuture.completedFuture("master:1"), silent::join);

        assertThat(commands.keepAlive()).isCompleted();
        silent.cancel(false);
    }

    /** No one would close it. */
    @Test
    void noConnectionIsMadeToAMasterThatIsKnownAfterTheEnd() {
        CompletableFuture<String> master = new CompletableFuture<>();
        AtomicInteger connections = new AtomicInteger();
        ReplicatedCommands commands = commands(Duration.ofSeconds(10), key -> master, () -> {
            connections.incrementAndGet();
            throw new IllegalStateException("no connection");
        });
        // They run on the one thread of the master, the last one first.
        CompletableFuture<Object> late = scan(commands);
        commands.keepAlive();
        commands.close();

        master.complete("master:1");

        assertThatThrownBy(() -> late.get(10, TimeUnit.SECONDS)).hasMessageContaining("the lock store is closed");
        assertThat(connections).hasValue(0);
    }

    private ReplicatedCommands commands(
            Duration limit,
            Function<byte[], CompletableFuture<String>> masterOf,
            Supplier<RedisConnectionFactory> factory) {
        return new ReplicatedCommands(
                Acks.of("1", Duration.ofMillis(50)),
                limit,
                timer,
                masterOf,
                server -> new DedicatedConnection(factory) {
                    @Override
                    protected List<?> exchange(RedisConnection connection, List<byte[][]> commands) {
                        throw new AssertionError("there is no connection");
                    }
                },
                () -> {});
    }

    private static CompletableFuture<Object> scan(ReplicatedCommands commands) {
        return commands.eval(LuaScript.of("scan"), List.of(RedisNames.bytes("stock")), List.of(), 0);
    }
}
