/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisRequest;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.data.redis.connection.RedisConnectionFactory;

@Timeout(60)
class JedisPipelinesTest {

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final RedisServer server = RedisServer.start();
    private final FaultProxy network = FaultProxy.inFrontOf(server);
    private final RedisConnectionFactory connections = Connections.JEDIS.to(network.port());
    private final LockTemplate template = LockTemplate.builder(
                    new RedisLockStore(connections, RedisLockStore.Options.defaults()))
            .build();

    @AfterEach
    void close() {
        template.close();
        Connections.close(connections);
        network.close();
        server.close();
        threads.shutdown();
    }

    @Test
    void aCallerDoesNotWaitForTheAnswersThatThreeOthersRead() {
        Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> {
            runTogether(4, 20);
            return clients("cmd=evalsha") >= 4;
        });
        List<Fault> held = new ArrayList<>();
        List<CompletableFuture<LockLease>> slow = new ArrayList<>();
        for (String name : List.of("slow:1", "slow:2", "slow:3")) {
            Fault one = network.when(RedisRequest.command("EVALSHA", "EVAL").and(RedisRequest.containing(name)))
                    .once()
                    .hold();
            slow.add(CompletableFuture.supplyAsync(() -> template.acquire(name), threads));
            one.awaitHits(1, Duration.ofSeconds(20));
            held.add(one);
        }
        template.run("fast", lease -> assertThat(slow).noneMatch(CompletableFuture::isDone));
        held.forEach(Fault::deliver);
        assertThat(slow).allSatisfy(lease -> assertThat(lease.join().release()).isEqualTo(ReleaseResult.RELEASED));
    }

    @Test
    void nobodyFailsBecauseTheServerHasNoFurtherConnectionToGive() {
        template.run("stock", lease -> {});
        // The client that asks for it is one of them.
        server.command("CONFIG", "SET", "maxclients", "" + (clients("addr=") - 1));
        runTogether(3, 200);
        runTogether(1, 50);
    }

    /** Callers who ask again at once must not storm the server; when it takes clients again, they get through soon. */
    @Test
    void aServerThatRefusesConnectionsIsAskedNowAndThenAndUsedAsSoonAsItTakesThem() {
        template.run("stock", lease -> {});
        try (RespConnection control = server.connect()) {
            control.command("CONFIG", "SET", "maxclients", "1");
            control.command("CLIENT", "KILL", "TYPE", "normal");
            long begin = System.nanoTime();
            AtomicBoolean back = new AtomicBoolean();
            List<CompletableFuture<Long>> callers = IntStream.range(0, 8)
                    .mapToObj(i -> CompletableFuture.supplyAsync(() -> firstSuccess("stock:" + i, back), threads))
                    .toList();
            Awaitility.await()
                    .pollInterval(Duration.ofMillis(50))
                    .until(() ->
                            System.nanoTime() - begin > Duration.ofSeconds(2).toNanos());
            // Of these the subscription asks for a few, too.
            long refused = statistic(control, "rejected_connections");
            long seconds = Duration.ofNanos(System.nanoTime() - begin).toSeconds() + 1;
            control.command("CONFIG", "SET", "maxclients", "1000");
            long open = System.nanoTime();
            back.set(true);
            assertThat(callers).allSatisfy(success -> assertThat(Duration.ofNanos(success.join() - open))
                    .isLessThan(Duration.ofSeconds(2)));
            assertThat(refused).isBetween(2L, 60 * seconds);
        }
    }

    /** Asks for a lock again and again; returns when it was first given after the server was back. */
    private long firstSuccess(String name, AtomicBoolean back) {
        while (true) {
            try {
                template.run(name, lease -> {});
                if (back.get()) {
                    return System.nanoTime();
                }
            } catch (LockStoreException refused) {
                assertThat(refused).hasMessageContaining("Redis");
            }
        }
    }

    private static long statistic(RespConnection control, String name) {
        return String.valueOf(control.command("INFO", "stats"))
                .lines()
                .filter(line -> line.startsWith(name + ":"))
                .mapToLong(
                        line -> Long.parseLong(line.substring(name.length() + 1).strip()))
                .sum();
    }

    private void runTogether(int callers, int times) {
        List<CompletableFuture<Void>> running = IntStream.range(0, callers)
                .mapToObj(i -> CompletableFuture.runAsync(
                        () -> IntStream.range(0, times).forEach(j -> template.run("stock:" + i, lease -> {})), threads))
                .toList();
        running.forEach(CompletableFuture::join);
    }

    private long clients(String what) {
        return String.valueOf(server.command("CLIENT", "LIST"))
                .lines()
                .filter(line -> line.contains(what))
                .count();
    }
}
