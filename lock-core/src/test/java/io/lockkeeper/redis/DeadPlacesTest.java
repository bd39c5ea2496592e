/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * A script passes a few places of dead waiters at once: a caller with little stack gets through tens of thousands of
 * them.
 */
@Timeout(60)
class DeadPlacesTest {

    private static final String KEY = "lockkeeper:lock:stock";
    private static final String LIVE = "LIVELIVELIVE00000001";
    private static final int DEAD = 30_000;
    private static final long SMALL_STACK_BYTES = 256 * 1024;

    /** A release goes through a thousand scripts, one after the other. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** Puts dead waiters, and a live one behind them, into the queue of a lock. */
    private static final String QUEUE = """
            local record = redis.call('HGET', KEYS[1], 'lock')
            local dead, live = tonumber(ARGV[1]), ARGV[2]
            local function place(number, attempt, alive)
              redis.call('HSET', KEYS[1], number, 'F' .. attempt .. alive .. '000000600000000001', attempt, number)
            end
            for i = 1, dead do
              place(i, string.format('DEAD%08d00000001', i), '0000000000001')
            end
            place(dead + 1, live, '9999999999999')
            record = record .. string.format(' 1 %d %d 9999999999999 0', dead + 2, dead + 1)
            redis.call('HSET', KEYS[1], 'lock', record)
            """;

    private static <T> T onSmallStack(Supplier<T> call) throws Exception {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = new Thread(
                null,
                () -> {
                    try {
                        result.complete(call.get());
                    } catch (Throwable failure) {
                        result.completeExceptionally(failure);
                    }
                },
                "small stack",
                SMALL_STACK_BYTES);
        thread.start();
        return result.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    @ParameterizedTest
    @EnumSource
    void areGotThroughWithoutRecursion(Connections driver) throws Exception {
        try (RedisServer server = RedisServer.start()) {
            RedisConnectionFactory connections = driver.to(server.port());
            RedisLockStore.Options options = RedisLockStore.Options.defaults().withCommandTimeout(PATIENCE);
            try (RespConnection control = server.connect();
                    LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, options))
                            .leaseTime(PATIENCE.multipliedBy(3))
                            .build()) {
                LockLease held = template.acquire("stock");
                control.command("EVAL", QUEUE, "1", KEY, "" + DEAD, LIVE);
                server.resetStatistics();

                assertThat(onSmallStack(held::release)).isEqualTo(ReleaseResult.RELEASED);

                assertThat(server.owner(KEY)).isEqualTo(LIVE);
                assertThat(server.scriptCalls()).isGreaterThan(DEAD / 100);
                control.command("DEL", KEY);
                template.acquire("stock").close();
                control.command("EVAL", QUEUE, "1", KEY, "" + DEAD, LIVE);

                assertThat(onSmallStack(() -> template.tryAcquire("stock"))).isEmpty();

                assertThat(server.owner(KEY)).isEqualTo(LIVE);
            } finally {
                Connections.close(connections);
            }
        }
    }
}
