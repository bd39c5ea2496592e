/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisAdvancedClusterAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * A driver that gives scripts to the application's shared connection of Lettuce itself, where no thread waits for the
 * answer. Whenever that connection fails, the next script goes over spring-data-redis, on a thread that may wait until
 * there is a connection again.
 */
final class LettuceDriver extends DelegatingDriver {

    private final Duration commandTimeout;
    private final CommandTimeout timeouts;
    private final Set<LettuceCall> underWay = ConcurrentHashMap.newKeySet();

    /** The shared connection; null where it is not known to work. */
    private volatile @Nullable RedisClusterAsyncCommands<byte[], byte[]> shared;

    private final AtomicLong losses = new AtomicLong();
    private final RedisConnectionStateListener listener = new RedisConnectionStateListener() {
        @Override
        public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
            losses.incrementAndGet();
        }
    };
    private volatile boolean closed;

    private LettuceDriver(SpringDataRedisDriver general, Duration commandTimeout, ScheduledExecutorService timer) {
        super(general);
        this.commandTimeout = commandTimeout;
        this.timeouts = new CommandTimeout(timer);
    }

    /** Returns a driver for a connection factory of Lettuce: the general one where it shares no connection. */
    static RedisDriver over(
            RedisConnectionFactory factory,
            SpringDataRedisDriver general,
            Duration commandTimeout,
            ScheduledExecutorService timer) {
        if (!((LettuceConnectionFactory) factory).getShareNativeConnection()) {
            return general;
        }
        LettuceDriver driver = new LettuceDriver(general, commandTimeout, timer);
        general.onUsed(driver::adopt);
        return driver;
    }

    @Override
    public CompletableFuture<List<Object>> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments) {
        RedisClusterAsyncCommands<byte[], byte[]> open = shared;
        if (open == null || !isOpen(open)) {
            shared = null;
            return general.eval(script, keys, arguments);
        }
        general.refreshIfDue();
        LettuceCall call = new LettuceCall(open, script, keys, arguments, losses::get);
        underWay.add(call);
        // Told after this: what asks again at once must not meet the same connection.
        CompletableFuture<List<Object>> answer = call.result.whenComplete((reply, failure) -> {
            underWay.remove(call);
            if (failure != null && !(failure.getCause() instanceof RedisCommandExecutionException)) {
                shared = null;
            }
        });
        if (closed) {
            call.result.completeExceptionally(closing());
        } else {
            timeouts.watch(call.result, script.name(), commandTimeout, call::cancel);
            call.send();
        }
        return answer;
    }

    private static StoreException closing() {
        return new StoreException("the lock store is closed", null);
    }

    private static boolean isOpen(RedisClusterAsyncCommands<byte[], byte[]> commands) {
        StatefulConnection<?, ?> connection = connectionOf(commands);
        return connection != null && connection.isOpen();
    }

    @SuppressWarnings("deprecation") // Spring Data gives nothing else that knows it.
    private static @Nullable StatefulConnection<?, ?> connectionOf(RedisClusterAsyncCommands<byte[], byte[]> commands) {
        return commands instanceof RedisAdvancedClusterAsyncCommands<byte[], byte[]> cluster
                ? cluster.getStatefulConnection()
                : commands instanceof RedisAsyncCommands<byte[], byte[]> single ? single.getStatefulConnection() : null;
    }

    /** Takes the connection over which a command was answered, on a thread that may wait. */
    @SuppressWarnings("unchecked") // What Lettuce is given and gives are byte arrays.
    private void adopt(RedisConnection connection) {
        if (shared == null && !closed) {
            var commands = (RedisClusterAsyncCommands<byte[], byte[]>) connection.getNativeConnection();
            // Lettuce tells a listener once for each time that it was added.
            StatefulConnection<?, ?> open = connectionOf(commands);
            if (open != null) {
                open.removeListener(listener);
                open.addListener(listener);
            }
            shared = commands;
        }
        if (closed) {
            shared = null;
        }
    }

    @Override
    public void close() {
        closed = true;
        shared = null;
        underWay.forEach(call -> call.result.completeExceptionally(closing()));
        super.close();
    }
}
