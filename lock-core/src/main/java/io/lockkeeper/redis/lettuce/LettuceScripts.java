/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.lettuce;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisAdvancedClusterAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lockkeeper.redis.Failures;
import io.lockkeeper.redis.LuaScript;
import io.lockkeeper.redis.ScriptRunner;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * Runs scripts over the application's shared connection of Lettuce itself, where no thread waits for the answer.
 * Whenever that connection fails, the next script goes over spring-data-redis, on a thread that may wait until there is
 * a connection again.
 */
public final class LettuceScripts implements ScriptRunner {

    private static final long LEAST_STAY_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final LettuceConnectionFactory factory;
    private final boolean plain;
    private final boolean shares;
    private final Duration limit;
    private final ScheduledExecutorService timer;
    private final ScriptRunner general;
    private final Set<CompletableFuture<Object>> underWay = ConcurrentHashMap.newKeySet();

    /** The shared connection; null where it is not known to work. */
    private volatile @Nullable RedisClusterAsyncCommands<byte[], byte[]> shared;

    /** How often connections were lost, after which Lettuce sends again what had no answer. */
    private final AtomicLong losses = new AtomicLong();

    /** When the last one was left, on the monotonic clock. */
    private final AtomicLong leftNanos = new AtomicLong(System.nanoTime() - LEAST_STAY_NANOS);

    private final RedisConnectionStateListener listener = new RedisConnectionStateListener() {
        @Override
        public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
            // One that its user has closed sends nothing again.
            if (!connection.isClosed()) {
                losses.incrementAndGet();
            }
        }
    };

    /** Which tells of its losses; those of nodes of a cluster are told by the client alone. */
    private @Nullable AbstractRedisClient client;

    /** The latest connection that a subclass of the factory gave, which tells of its losses itself. */
    private @Nullable StatefulConnection<?, ?> foreign;

    private volatile boolean closed;

    /** Creates it without a connection yet; of a plain factory it uses the shared connection, if there is one. */
    public LettuceScripts(
            LettuceConnectionFactory factory,
            boolean plain,
            Duration limit,
            ScheduledExecutorService timer,
            ScriptRunner general) {
        this.factory = factory;
        this.plain = plain;
        this.shares = plain && factory.getShareNativeConnection();
        this.limit = limit;
        this.timer = timer;
        this.general = general;
    }

    @Override
    @SuppressWarnings("CollectionUndefinedEquality") // Futures are known by identity.
    public CompletableFuture<Object> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments, long waitNanos) {
        RedisClusterAsyncCommands<byte[], byte[]> open = shared;
        StatefulConnection<?, ?> connection = connectionOf(open);
        if (open == null || connection == null || !connection.isOpen()) {
            shared = null;
            return general.eval(script, keys, arguments, waitNanos);
        }
        CompletableFuture<Object> result = new CompletableFuture<>();
        underWay.add(result);
        // Told after this: what asks again at once must not meet the same connection.
        CompletableFuture<Object> answer = result.whenComplete((reply, failure) -> {
            underWay.remove(result);
            if (failure != null && !(failure.getCause() instanceof RedisCommandExecutionException)) {
                shared = null;
            } else if (Failures.says(failure, "READONLY")) {
                leave(open, connection);
            }
        });
        if (closed) {
            result.completeExceptionally(Failures.closed());
        } else {
            Failures.after(limit, timer, result, script.name(), () -> {});
            send(open, script, keys.toArray(byte[][]::new), arguments.toArray(byte[][]::new), result);
        }
        return answer;
    }

    /**
     * Has Redis end a connection that leads to a server that was a master once, whatever has its address now, and
     * Lettuce make it anew. Not at once again: the application uses it, too, and its address may move later.
     */
    private void leave(RedisClusterAsyncCommands<byte[], byte[]> commands, StatefulConnection<?, ?> connection) {
        long now = System.nanoTime();
        long last = leftNanos.get();
        if (connection.getOptions().isAutoReconnect()
                && now - last >= LEAST_STAY_NANOS
                && leftNanos.compareAndSet(last, now)) {
            commands.quit();
        }
    }

    /** Sends the script's hash, and its text where the server does not know that. */
    private void send(
            RedisClusterAsyncCommands<byte[], byte[]> commands,
            LuaScript script,
            byte[][] keys,
            byte[][] arguments,
            CompletableFuture<Object> result) {
        long lossesBefore = losses.get();
        CompletionStage<Object> byHash =
                send(() -> commands.evalsha(script.sha1(), ScriptOutputType.VALUE, keys, arguments), result);
        byHash.exceptionallyCompose(failure -> Failures.says(failure, "NOSCRIPT")
                        // Refused before it ran, so it is safe to send again.
                        ? send(() -> commands.eval(script.source(), ScriptOutputType.VALUE, keys, arguments), result)
                        : byHash)
                .whenComplete((reply, failure) -> {
                    if (failure != null) {
                        result.completeExceptionally(Failures.at(script.name(), failure));
                    } else if (Failures.isNotHeld(reply) && losses.get() != lossesBefore) {
                        result.completeExceptionally(Failures.mayHaveRunBefore());
                    } else {
                        result.complete(reply);
                    }
                });
    }

    private static CompletionStage<Object> send(
            Supplier<RedisFuture<Object>> command, CompletableFuture<Object> result) {
        try {
            RedisFuture<Object> sent = command.get();
            // Takes the command back where Lettuce still keeps it for a connection to come.
            result.whenComplete((reply, failure) -> sent.cancel(true));
            return sent;
        } catch (RuntimeException refusal) {
            return CompletableFuture.failedFuture(refusal);
        }
    }

    @SuppressWarnings("deprecation") // Spring Data gives nothing else that knows it.
    private static @Nullable StatefulConnection<?, ?> connectionOf(@Nullable Object commands) {
        return commands instanceof RedisAdvancedClusterAsyncCommands<?, ?> cluster
                ? cluster.getStatefulConnection()
                : commands instanceof RedisAsyncCommands<?, ?> single ? single.getStatefulConnection() : null;
    }

    @Override
    @SuppressWarnings("unchecked") // What Lettuce is given and gives are byte arrays.
    public void used(RedisConnection connection) {
        if (shares && shared == null && !closed) {
            losses(connection);
            shared = (RedisClusterAsyncCommands<byte[], byte[]>) connection.getNativeConnection();
        }
        if (closed) {
            shared = null;
        }
    }

    @Override
    public Object losses(RedisConnection connection) {
        // A subclass may give connections of another client, and never be started itself.
        StatefulConnection<?, ?> other = plain ? null : connectionOf(connection.getNativeConnection());
        synchronized (this) {
            if (other != null && other != foreign && !closed) {
                other.addListener(listener);
                foreign = other;
            }
            AbstractRedisClient present = factory.isRunning() ? factory.getNativeClient() : null;
            if (present != null && present != client && !closed) {
                present.addListener(listener);
                client = present;
            }
        }
        return losses.get();
    }

    @Override
    public synchronized void close() {
        closed = true;
        shared = null;
        AbstractRedisClient told = client;
        if (told != null) {
            told.removeListener(listener);
        }
        StatefulConnection<?, ?> other = foreign;
        if (other != null) {
            other.removeListener(listener);
        }
        underWay.forEach(result -> result.completeExceptionally(Failures.closed()));
    }
}
