/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import redis.clients.jedis.Protocol.Command;

/**
 * A driver with {@linkplain CombinedConnections connections of its own} for scripts, made as the application's Jedis is.
 * Everything that is rare goes over spring-data-redis, and so do scripts as long as it is not known where the key is.
 */
final class JedisDriver extends DelegatingDriver {

    private static final int ANSWERING_THREADS = 2;

    private final ExecutorService answering = DaemonThreads.limited("lockkeeper-redis-answers", ANSWERING_THREADS);
    private final CombinedConnections connections;

    private JedisDriver(
            SpringDataRedisDriver general,
            JedisSettings settings,
            Duration commandTimeout,
            ScheduledExecutorService timer) {
        super(general);
        this.connections = new CombinedConnections(
                commandTimeout,
                () -> new JedisLink(settings.address(), settings.config()),
                timer,
                answer -> complete(answer, timer),
                System::nanoTime);
    }

    /** Where no thread can be had, or none any more, the timer completes futures, or else the thread that has the answer. */
    private void complete(Runnable answer, ScheduledExecutorService timer) {
        try {
            answering.execute(answer);
        } catch (RejectedExecutionException | Error noThread) {
            onTimer(timer, answer);
        }
    }

    private static void onTimer(ScheduledExecutorService timer, Runnable answer) {
        try {
            timer.execute(answer);
        } catch (RejectedExecutionException closed) {
            answer.run();
        }
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
        CombinedConnections single = connections();
        return single == null
                ? general.eval(script, keys, arguments)
                : single.call(Request.of(script, keys, arguments)).thenApply(reply -> list(script, reply));
    }

    @SuppressWarnings("unchecked") // All scripts of the store return arrays.
    private static List<Object> list(LuaScript script, @Nullable Object reply) {
        if (reply instanceof List<?> values) {
            return (List<Object>) values;
        }
        throw new StoreException("script " + script.name() + " gave no list: " + reply, null);
    }

    /** Returns the connections to the only server; null where there is none, or may be more. */
    private @Nullable CombinedConnections connections() {
        return general.servers().isSingle() ? connections : null;
    }

    @Override
    public CompletableFuture<Long> prepare(List<LuaScript> scripts) {
        return general.prepare(scripts).thenCompose(time -> {
            CombinedConnections single = connections();
            return single == null
                    ? CompletableFuture.completedFuture(time)
                    // So that the first lock finds a warm connection. Whether it works is the first lock's affair.
                    : single.call(Request.of(Command.TIME)).handle((told, failure) -> time);
        });
    }

    @Override
    public CompletableFuture<Void> set(byte[] key, byte[] value, Duration timeToLive) {
        CombinedConnections single = connections();
        if (single == null) {
            return general.set(key, value, timeToLive);
        }
        byte[] seconds = RedisNames.bytes(Long.toString(Math.max(1, timeToLive.toSeconds())));
        CompletableFuture<?> set = single.call(Request.of(Command.SETEX, key, seconds, value));
        // Comes again and again, whether there are locks or not.
        single.keepAlive();
        return set.thenAccept(done -> {});
    }

    @Override
    public CompletableFuture<Void> delete(byte[] key) {
        CombinedConnections single = connections();
        return single == null
                ? general.delete(key)
                : single.call(Request.of(Command.DEL, key)).thenAccept(done -> {});
    }

    @Override
    public void close() {
        connections.close();
        general.close();
        answering.shutdown();
    }
}
