package io.lockkeeper.redis;

import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.ReturnType;
import org.springframework.data.redis.core.Cursor;
import org.springframework.data.redis.core.ScanOptions;

/**
 * A driver over spring-data-redis, for every client and topology that it has. Commands run on threads of their own, so
 * that the command timeout holds whatever the timeouts of the client are: a caller never waits longer for an answer, and
 * a thread that waits is interrupted.
 */
final class SpringDataRedisDriver implements RedisDriver {

    private static final int THREADS = 16;
    private static final int PREPARATION_FACTOR = 5;

    private final RedisConnectionFactory connections;
    private final Duration commandTimeout;
    private final ScheduledExecutorService timer;
    private final ExecutorService threads = DaemonThreads.limited("lockkeeper-redis", THREADS);
    private final GrantSubscription subscription;

    SpringDataRedisDriver(RedisConnectionFactory connections, Duration commandTimeout, ScheduledExecutorService timer) {
        this.connections = connections;
        this.commandTimeout = commandTimeout;
        this.timer = timer;
        this.subscription = new GrantSubscription(connections);
    }

    @Override
    public CompletableFuture<List<Object>> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments) {
        byte[][] keysAndArguments = new byte[keys.size() + arguments.size()][];
        for (int i = 0; i < keysAndArguments.length; i++) {
            keysAndArguments[i] = i < keys.size() ? keys.get(i) : arguments.get(i - keys.size());
        }
        return call(script.name(), connection -> run(connection, script, keys.size(), keysAndArguments));
    }

    private static List<Object> run(RedisConnection connection, LuaScript script, int keys, byte[][] arguments) {
        List<Object> reply;
        try {
            reply = connection.scriptingCommands().evalSha(script.sha1(), ReturnType.MULTI, keys, arguments);
        } catch (RuntimeException failure) {
            if (!isUnknownScript(failure)) {
                throw failure;
            }
            // Refused before it ran, so it is safe to send again.
            reply = connection.scriptingCommands().eval(bytes(script.source()), ReturnType.MULTI, keys, arguments);
        }
        if (reply == null) {
            throw new StoreException(
                    "script " + script.name() + " gave no reply: is the connection in a transaction?", null);
        }
        return reply;
    }

    @Override
    public CompletableFuture<Long> prepare(List<LuaScript> scripts) {
        // Opens the first connection, which may need more than a command: classes are loaded, names resolved.
        return call("prepare", commandTimeout.multipliedBy(PREPARATION_FACTOR), connection -> {
            scripts.forEach(script -> connection.scriptingCommands().scriptLoad(bytes(script.source())));
            Long time = connection.serverCommands().time(TimeUnit.MILLISECONDS);
            if (time == null) {
                throw new StoreException("the server did not tell its time", null);
            }
            return time;
        });
    }

    @Override
    public CompletableFuture<Void> set(byte[] key, byte[] value, Duration timeToLive) {
        return call("set", connection -> connection
                        .stringCommands()
                        .setEx(key, Math.max(1, timeToLive.toSeconds()), value))
                .thenAccept(done -> {});
    }

    @Override
    public CompletableFuture<List<byte @Nullable []>> get(List<byte[]> keys) {
        return call("get", connection -> connection.stringCommands().mGet(keys.toArray(byte[][]::new)));
    }

    @Override
    public CompletableFuture<List<byte[]>> scan(byte[] pattern, int limit) {
        return call("scan", connection -> {
            ScanOptions options =
                    ScanOptions.scanOptions().match(pattern).count(100).build();
            try (Cursor<byte[]> keys = connection.keyCommands().scan(options)) {
                return keys.stream().limit(limit).toList();
            }
        });
    }

    @Override
    public int slot(byte[] key) {
        return 0;
    }

    @Override
    public CompletableFuture<Void> delete(byte[] key) {
        return call("delete", connection -> connection.keyCommands().del(key)).thenAccept(done -> {});
    }

    @Override
    public void subscribe(byte[] channel, Consumer<byte[]> onMessage, Runnable onSubscribed) {
        subscription.start(channel, onMessage, onSubscribed);
    }

    @Override
    public @Nullable Instant subscribedSince() {
        return subscription.since();
    }

    @Override
    public void close() {
        subscription.close(commandTimeout);
        threads.shutdown();
    }

    private <T> CompletableFuture<T> call(String what, Function<RedisConnection, @Nullable T> command) {
        return call(what, commandTimeout, command);
    }

    private <T> CompletableFuture<T> call(String what, Duration limit, Function<RedisConnection, @Nullable T> command) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Future<?> running;
        try {
            running = threads.submit(() -> run(result, what, command));
        } catch (RejectedExecutionException closed) {
            result.completeExceptionally(new StoreException("the lock store is closed", closed));
            return result;
        }
        ScheduledFuture<?> timeout = timer.schedule(
                () -> {
                    StoreException silent = new StoreException(
                            "Redis did not answer to " + what + " within " + limit.toMillis() + " ms", null);
                    if (result.completeExceptionally(silent)) {
                        running.cancel(true);
                    }
                },
                limit.toNanos(),
                TimeUnit.NANOSECONDS);
        result.whenComplete((reply, failure) -> timeout.cancel(false));
        return result;
    }

    @SuppressWarnings("NullAway") // A null reply is as good as any where nobody reads it.
    private <T> void run(CompletableFuture<T> result, String what, Function<RedisConnection, @Nullable T> command) {
        if (result.isDone()) {
            return;
        }
        try (RedisConnection connection = connections.getConnection()) {
            result.complete(command.apply(connection));
        } catch (StoreException failure) {
            result.completeExceptionally(failure);
        } catch (RuntimeException | Error failure) {
            result.completeExceptionally(
                    new StoreException("Redis failed at " + what + ": " + rootMessage(failure), failure));
        }
    }

    /** Clients wrap the server's answer in different exceptions; its text is the same in all. */
    private static boolean isUnknownScript(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause.getMessage() != null && cause.getMessage().contains("NOSCRIPT")) {
                return true;
            }
        }
        return false;
    }

    private static String rootMessage(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return String.valueOf(root.getMessage());
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
