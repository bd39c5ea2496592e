/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import redis.clients.jedis.Protocol.Command;

/**
 * A driver with a {@linkplain CombinedConnection connection of its own} for scripts, made as the application's Jedis is.
 * Everything that is rare goes over spring-data-redis, and so do scripts as long as it is not known where the key is.
 */
final class JedisDriver implements RedisDriver {

    private static final int ANSWERING_THREADS = 2;

    private final SpringDataRedisDriver general;
    private final JedisSettings settings;
    private final Duration commandTimeout;
    private final ScheduledExecutorService timer;
    private final Executor answers = DaemonThreads.limited("lockkeeper-redis-answers", ANSWERING_THREADS);
    private final Map<String, CombinedConnection> connections = new ConcurrentHashMap<>();

    private JedisDriver(
            SpringDataRedisDriver general,
            JedisSettings settings,
            Duration commandTimeout,
            ScheduledExecutorService timer) {
        this.general = general;
        this.settings = settings;
        this.commandTimeout = commandTimeout;
        this.timer = timer;
    }

    /** Returns a driver for a connection factory of Jedis: the general one where its servers need more than an address. */
    static RedisDriver over(
            RedisConnectionFactory factory,
            SpringDataRedisDriver general,
            Duration commandTimeout,
            ScheduledExecutorService timer) {
        JedisSettings settings = new JedisSettings((JedisConnectionFactory) factory, commandTimeout);
        return settings.areEnough() ? new JedisDriver(general, settings, commandTimeout, timer) : general;
    }

    @Override
    public CompletableFuture<List<Object>> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments) {
        CombinedConnection connection = connection();
        return connection == null
                ? general.eval(script, keys, arguments)
                : connection.call(Request.of(script, keys, arguments)).thenApply(reply -> list(script, reply));
    }

    @SuppressWarnings("unchecked") // All scripts of the store return arrays.
    private static List<Object> list(LuaScript script, @Nullable Object reply) {
        if (reply instanceof List<?> values) {
            return (List<Object>) values;
        }
        throw new StoreException("script " + script.name() + " gave no list: " + reply, null);
    }

    /** Returns the connection to the only server; null where there is none, or may be more. */
    private @Nullable CombinedConnection connection() {
        return general.servers().isSingle() ? connections.computeIfAbsent(Servers.ANY, this::open) : null;
    }

    private CombinedConnection open(String server) {
        return new CombinedConnection(
                ("lockkeeper-redis " + server).strip(),
                commandTimeout,
                () -> new JedisLink(settings.address(), settings.config()),
                timer,
                answers);
    }

    @Override
    public CompletableFuture<Long> prepare(List<LuaScript> scripts) {
        return general.prepare(scripts).thenCompose(time -> {
            CombinedConnection connection = connection();
            return connection == null
                    ? CompletableFuture.completedFuture(time)
                    // So that the first lock finds a warm connection. Whether it works is the first lock's affair.
                    : connection.call(Request.of(Command.PING)).handle((pong, failure) -> time);
        });
    }

    @Override
    public int slot(byte[] key) {
        return general.slot(key);
    }

    @Override
    public String serverOf(byte[] key) {
        return general.serverOf(key);
    }

    @Override
    public CompletableFuture<List<byte[]>> scan(byte[] pattern, int limit) {
        return general.scan(pattern, limit);
    }

    @Override
    public CompletableFuture<List<byte @Nullable []>> get(List<byte[]> keys) {
        return general.get(keys);
    }

    @Override
    public CompletableFuture<Map<String, Properties>> info() {
        return general.info();
    }

    @Override
    public CompletableFuture<Void> set(byte[] key, byte[] value, Duration timeToLive) {
        CombinedConnection connection = connection();
        if (connection == null) {
            return general.set(key, value, timeToLive);
        }
        // Also keeps the connection from being idle for long.
        byte[] seconds = RedisNames.bytes(Long.toString(Math.max(1, timeToLive.toSeconds())));
        return connection.call(Request.of(Command.SETEX, key, seconds, value)).thenAccept(done -> {});
    }

    @Override
    public CompletableFuture<Void> delete(byte[] key) {
        CombinedConnection connection = connection();
        return connection == null
                ? general.delete(key)
                : connection.call(Request.of(Command.DEL, key)).thenAccept(done -> {});
    }

    @Override
    public void subscribe(byte[] channel, Consumer<byte[]> onMessage, Runnable onSubscribed) {
        general.subscribe(channel, onMessage, onSubscribed);
    }

    @Override
    public @Nullable Instant subscribedSince() {
        return general.subscribedSince();
    }

    @Override
    public void close() {
        connections.values().forEach(CombinedConnection::close);
        general.close();
    }
}
