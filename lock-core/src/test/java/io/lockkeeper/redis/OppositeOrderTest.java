/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Two services ask for the same two locks in opposite orders, with many threads. Takes 3 s for each driver; longer with
 * {@code -Dlockkeeper.test.opposite-order-seconds=30}.
 */
class OppositeOrderTest {

    private static final int THREADS = 32;
    private static final long SECONDS = Long.getLong("lockkeeper.test.opposite-order-seconds", 3);

    private int inside;
    private int steps;
    private long lastOfA;
    private long lastOfB;
    private boolean broken;

    private void step(long tokenOfA, long tokenOfB) {
        inside++;
        broken |= inside != 1 || tokenOfA <= lastOfA || tokenOfB <= lastOfB;
        lastOfA = tokenOfA;
        lastOfB = tokenOfB;
        steps++;
        inside--;
    }

    @ParameterizedTest
    @EnumSource
    void nobodyWaitsForEverAndNothingIsLeft(Connections driver) throws Exception {
        try (RedisServer server = RedisServer.start()) {
            RedisConnectionFactory connections = driver.to(server.port());
            ExecutorService threads = Executors.newFixedThreadPool(2 * THREADS);
            RedisLockStore.Options options = RedisLockStore.Options.defaults().withTombstoneTime(Duration.ofSeconds(2));
            try (LockTemplate one = template(connections, options);
                    LockTemplate two = template(connections, options)) {
                long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
                List<Future<Integer>> workers = new ArrayList<>();
                for (int i = 0; i < THREADS; i++) {
                    workers.add(threads.submit(() -> work(one, LockRequest.of("a", "b"), end)));
                    workers.add(threads.submit(() -> work(two, LockRequest.of("b", "a"), end)));
                }
                int rounds = 0;
                for (Future<Integer> worker : workers) {
                    int mine = worker.get(SECONDS + 30, TimeUnit.SECONDS);
                    assertThat(mine).isPositive();
                    rounds += mine;
                }
                assertThat(broken).isFalse();
                assertThat(steps).isEqualTo(rounds);
                assertThat(one.inspector().find("*", 10)).isEmpty();
                System.out.println(driver + ": " + rounds + " pairs of locks in " + SECONDS + " s");
            } finally {
                threads.shutdownNow();
                Connections.close(connections);
            }
            Awaitility.await().atMost(Duration.ofSeconds(15)).until(() -> Long.valueOf(0)
                    .equals(server.command("DBSIZE")));
        }
    }

    private static LockTemplate template(RedisConnectionFactory connections, RedisLockStore.Options options) {
        return LockTemplate.builder(new RedisLockStore(connections, options))
                // The keys of names that are used again and again live for two leases and the tombstone's time.
                .leaseTime(Duration.ofSeconds(3))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    private int work(LockTemplate template, LockRequest request, long end) {
        int rounds = 0;
        while (System.nanoTime() < end) {
            template.run(request, lease -> step(lease.fencingToken("a"), lease.fencingToken("b")));
            rounds++;
        }
        return rounds;
    }
}
