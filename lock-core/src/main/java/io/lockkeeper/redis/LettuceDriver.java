/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisAdvancedClusterAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ScheduledExecutorService;
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

    private final LettuceConnectionFactory connections;
    private final Duration commandTimeout;
    private final CommandTimeout timeouts;

    /** The shared connection; null where it is not known to work. */
    private volatile @Nullable RedisClusterAsyncCommands<byte[], byte[]> shared;

    private volatile boolean closed;

    private LettuceDriver(
            SpringDataRedisDriver general,
            LettuceConnectionFactory connections,
            Duration commandTimeout,
            ScheduledExecutorService timer) {
        super(general);
        this.connections = connections;
        this.commandTimeout = commandTimeout;
        this.timeouts = new CommandTimeout(timer);
    }

    /** Returns a driver for a connection factory of Lettuce: the general one where it shares no connection. */
    static RedisDriver over(
            RedisConnectionFactory factory,
            SpringDataRedisDriver general,
            Duration commandTimeout,
            ScheduledExecutorService timer) {
        LettuceConnectionFactory connections = (LettuceConnectionFactory) factory;
        return connections.getShareNativeConnection()
                ? new LettuceDriver(general, connections, commandTimeout, timer)
                : general;
    }

    @Override
    public CompletableFuture<Long> prepare(List<LuaScript> scripts) {
        return general.prepare(scripts).thenApply(time -> {
            adopt();
            return time;
        });
    }

    @Override
    public CompletableFuture<List<Object>> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments) {
        RedisClusterAsyncCommands<byte[], byte[]> open = shared;
        if (open == null || !isOpen(open)) {
            shared = null;
            return general.eval(script, keys, arguments).thenApply(reply -> {
                adopt();
                return reply;
            });
        }
        general.refreshIfDue();
        CompletableFuture<List<Object>> result = new CompletableFuture<>();
        Script call = new Script(open, script, keys, arguments);
        try {
            RedisFuture<List<Object>> sent = call.byHash();
            timeouts.watch(result, script.name(), commandTimeout, () -> {
                shared = null;
                sent.cancel(true);
            });
            sent.whenComplete((reply, failure) -> {
                if (failure != null && Failures.says(failure, "NOSCRIPT")) {
                    // Refused before it ran, so it is safe to send again.
                    call.byText().whenComplete((again, refusal) -> complete(result, script, again, refusal));
                } else {
                    complete(result, script, reply, failure);
                }
            });
        } catch (RuntimeException refusal) {
            complete(result, script, null, refusal);
        }
        return result;
    }

    @SuppressWarnings("deprecation") // Spring Data gives nothing else that knows it.
    private static boolean isOpen(RedisClusterAsyncCommands<byte[], byte[]> commands) {
        return commands instanceof RedisAdvancedClusterAsyncCommands<byte[], byte[]> cluster
                ? cluster.getStatefulConnection().isOpen()
                : commands instanceof RedisAsyncCommands<byte[], byte[]> single
                        && single.getStatefulConnection().isOpen();
    }

    /** One run of a script. */
    private record Script(
            RedisClusterAsyncCommands<byte[], byte[]> commands,
            LuaScript script,
            List<byte[]> keys,
            List<byte[]> arguments) {

        /** A reply of one number is a list of one for Lettuce. */
        RedisFuture<List<Object>> byHash() {
            return commands.evalsha(script.sha1(), ScriptOutputType.MULTI, names(), script.briefly(arguments));
        }

        RedisFuture<List<Object>> byText() {
            return commands.eval(script.source(), ScriptOutputType.MULTI, names(), script.briefly(arguments));
        }

        private byte[][] names() {
            return keys.toArray(byte[][]::new);
        }
    }

    private void complete(
            CompletableFuture<List<Object>> result,
            LuaScript script,
            @Nullable List<Object> reply,
            @Nullable Throwable failure) {
        if (reply != null) {
            result.complete(reply);
            return;
        }
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (!(cause instanceof RedisCommandExecutionException)) {
            shared = null;
        }
        String why = cause == null ? "it gave no reply" : Failures.rootMessage(cause);
        result.completeExceptionally(new StoreException("Redis failed at " + script.name() + ": " + why, cause));
    }

    /** Spring Data has just used the connection, so there is nothing to wait for. */
    @SuppressWarnings("unchecked") // What Lettuce is given and gives are byte arrays.
    private void adopt() {
        if (shared == null && !closed) {
            try (RedisConnection connection = connections.getConnection()) {
                shared = (RedisClusterAsyncCommands<byte[], byte[]>) connection.getNativeConnection();
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        shared = null;
        super.close();
    }
}
