/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.redis.replication.ReplicatedCommands;
import io.lockkeeper.redis.replication.ReplicatedCommands.Acks;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ReplicatedCommandsTest {

    @Test
    void theCommandTimeoutCountsWhileTheMasterIsAskedFor() {
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        ReplicatedCommands commands = new ReplicatedCommands(
                Acks.of("1", Duration.ofMillis(50)),
                Duration.ofMillis(100),
                timer,
                key -> new CompletableFuture<>(),
                server -> {
                    throw new AssertionError("no server is known");
                },
                () -> {});
        CompletableFuture<Object> answer =
                commands.eval(LuaScript.of("scan"), List.of(RedisNames.bytes("stock")), List.of(), 0);

        assertThatThrownBy(() -> answer.get(10, TimeUnit.SECONDS))
                .cause()
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("did not answer to scan within 100 ms");
        timer.shutdown();
    }
}
