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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.data.redis.connection.RedisConnectionFactory;

@Timeout(60)
class JedisPipelinesTest {

    private final ExecutorService threads = Executors.newCachedThreadPool();

    @Test
    void aCallerDoesNotWaitForTheAnswersThatThreeOthersRead() {
        try (RedisServer server = RedisServer.start();
                FaultProxy network = FaultProxy.inFrontOf(server)) {
            RedisConnectionFactory connections = Connections.JEDIS.to(network.port());
            RedisLockStore store = new RedisLockStore(connections, RedisLockStore.Options.defaults());
            try (LockTemplate template = LockTemplate.builder(store).build()) {
                List<Fault> held = new ArrayList<>();
                List<CompletableFuture<LockLease>> slow = new ArrayList<>();
                for (String name : List.of("slow:1", "slow:2", "slow:3")) {
                    Fault one = network.when(
                                    RedisRequest.command("EVALSHA", "EVAL").and(RedisRequest.containing(name)))
                            .once()
                            .hold();
                    slow.add(CompletableFuture.supplyAsync(() -> template.acquire(name), threads));
                    one.awaitHits(1, Duration.ofSeconds(20));
                    held.add(one);
                }
                template.run("fast", lease -> assertThat(slow).noneMatch(CompletableFuture::isDone));
                held.forEach(Fault::deliver);
                assertThat(slow)
                        .allSatisfy(lease -> assertThat(lease.join().release()).isEqualTo(ReleaseResult.RELEASED));
            } finally {
                Connections.close(connections);
                threads.shutdown();
            }
        }
    }
}
