/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisRequest;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.data.redis.connection.RedisConnectionFactory;

@Timeout(60)
class JedisPipelinesTest {

    @Test
    void aCallerDoesNotWaitForTheAnswerThatAnotherCallerReads() {
        try (RedisServer server = RedisServer.start();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            RedisConnectionFactory connections = Connections.JEDIS.to(network.port());
            RedisLockStore store = new RedisLockStore(connections, RedisLockStore.Options.defaults());
            try (LockTemplate template = LockTemplate.builder(store).build()) {
                Fault held = network.when(
                                RedisRequest.command("EVALSHA", "EVAL").and(RedisRequest.containing("slow")))
                        .once()
                        .hold();
                CompletableFuture<LockLease> slow = CompletableFuture.supplyAsync(() -> template.acquire("slow"));
                held.awaitHits(1, Duration.ofSeconds(20));
                template.run("fast", lease -> assertThat(slow).isNotDone());
                held.deliver();
                assertThat(slow.join().release()).isEqualTo(ReleaseResult.RELEASED);
            } finally {
                Connections.close(connections);
            }
        }
    }
}
