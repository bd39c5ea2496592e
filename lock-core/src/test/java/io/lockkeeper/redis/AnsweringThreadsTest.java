/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.IgnoredMessages;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** The threads that complete what nobody waits for. */
class AnsweringThreadsTest {

    @Test
    void theyEndWithTheirStore() {
        try (RedisServer redis = RedisServer.start()) {
            RedisLockStore store =
                    new RedisLockStore(Connections.JEDIS.to(redis.port()), RedisLockStore.Options.defaults());
            store.open(
                    StoredInstance.ofThisProcess("CLIENT000000", "test", ""),
                    Duration.ofSeconds(30),
                    new IgnoredMessages());
            Thread thread = Awaitility.await()
                    .until(() -> answering(store), found -> found.getName().startsWith("lockkeeper-redis-answers"));
            store.close();
            // They would end by themselves after 10 s.
            Awaitility.await().atMost(Duration.ofSeconds(6)).until(() -> !thread.isAlive());
            assertThat(thread.getState()).isEqualTo(Thread.State.TERMINATED);
        }
    }

    private static Thread answering(RedisLockStore store) {
        CompletableFuture<Thread> thread = store.inspect("stock").thenApply(found -> Thread.currentThread());
        return thread.join();
    }
}
