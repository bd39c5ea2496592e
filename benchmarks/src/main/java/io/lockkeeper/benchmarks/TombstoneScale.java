/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** What a released name keeps in Redis: {@code --tombstone} in s, longer than taking and releasing all names takes. */
final class TombstoneScale {

    private static final int AT_ONCE = 500;
    private static final int NAMES_A_SECOND = 10_000;
    private static final long DEFAULT_SECONDS =
            RedisLockStore.Options.defaults().tombstoneTime().toSeconds();

    private TombstoneScale() {}

    static void measure(Settings settings, Table table) {
        Duration tombstone = Duration.ofSeconds(settings.number("--tombstone", 90));
        table.begin(
                "tombstones of released names",
                "Names of " + ManyLocks.name(0).length()
                        + " characters, each locked and released once, with a tombstone"
                        + " time of " + tombstone.toSeconds()
                        + " s. Keys were counted and memory was read when all were"
                        + " released; gone is when the last key went, after the last release. The steady memory is that of "
                        + NAMES_A_SECOND + " other names in each second with the default of " + DEFAULT_SECONDS + " s.",
                "names",
                "bytes a name",
                "keys",
                "locking all, s",
                "gone after, s",
                "bytes a name left",
                "steady memory, MB");
        for (int names : settings.numbers("--names", "10000,100000,300000")) {
            try (RedisServer redis = RedisServer.start()) {
                row(redis, names, tombstone, table);
            }
        }
        table.plot();
    }

    private static void row(RedisServer redis, int names, Duration tombstone, Table table) {
        RedisConnectionFactory connections = Connections.jedis(redis.port());
        try (LockTemplate locks = LockTemplate.builder(new RedisLockStore(
                        connections, RedisLockStore.Options.defaults().withTombstoneTime(tombstone)))
                .shutdownWait(Duration.ZERO)
                .build()) {
            locks.acquire("first").release();
            ServerFigures before = ServerFigures.of(redis);
            long keysBefore = keys(redis);
            long begin = System.nanoTime();
            lockAll(locks, names);
            long end = System.nanoTime();
            double bytes = (double) ServerFigures.of(redis).since(before).memory() / names;
            long keys = keys(redis) - keysBefore;
            while (keys(redis) >= keysBefore) {
                Renewals.pause(TimeUnit.MILLISECONDS.toNanos(50));
            }
            table.row(
                    String.format("%,d", names),
                    true,
                    bytes,
                    keys,
                    (end - begin) / 1e9,
                    (System.nanoTime() - end) / 1e9,
                    (double) ServerFigures.of(redis).since(before).memory() / names,
                    bytes * NAMES_A_SECOND * DEFAULT_SECONDS / 1e6);
        } finally {
            Connections.close(connections);
        }
    }

    private static long keys(RedisServer redis) {
        return Long.parseLong(String.valueOf(redis.command("DBSIZE")));
    }

    private static void lockAll(LockTemplate locks, int names) {
        Semaphore room = new Semaphore(AT_ONCE);
        for (int i = 0; i < names; i++) {
            room.acquireUninterruptibly();
            CompletableFuture<LockLease> lease = locks.acquireAsync(LockRequest.of(ManyLocks.name(i)));
            lease.thenAcceptAsync(LockLease::close).whenComplete((done, failure) -> room.release());
        }
        room.acquireUninterruptibly(AT_ONCE);
    }
}
