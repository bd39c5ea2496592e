/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import io.lockkeeper.redis.LuaScript;
import io.lockkeeper.redis.RedisNames;
import io.lockkeeper.redis.ScriptRunner;
import io.lockkeeper.store.DaemonThreads;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/**
 * Runs scripts over a {@linkplain JedisPipeline pipeline} to one server, whose connection is made as the application's are.
 *
 * <p>Internal: public for the package of the store alone, and may change in any release.
 */
public final class JedisScripts implements ScriptRunner {

    private static final int ANSWERING_THREADS = 2;
    private static final byte[] TIME = RedisNames.bytes("TIME");

    private final ExecutorService answering = DaemonThreads.limited("lockkeeper-redis-answers", ANSWERING_THREADS);
    private final JedisConnectionFactory factory;
    private final Duration limit;
    private final ScheduledExecutorService timer;
    private final JedisPipeline pipeline;

    private JedisScripts(JedisConnectionFactory factory, Duration limit, ScheduledExecutorService timer) {
        this.factory = factory;
        this.limit = limit;
        this.timer = timer;
        this.pipeline = new JedisPipeline(limit, this::connect, timer, this::complete);
    }

    /** Returns a runner for a factory whose connections are made by an address alone; null: this one's need more. */
    public static @Nullable ScriptRunner over(
            JedisConnectionFactory factory, Duration limit, ScheduledExecutorService timer) {
        boolean single = !factory.isRedisSentinelAware() && !factory.isRedisClusterAware();
        return single && !JedisConnections.isClientCustomized(factory.getClientConfiguration())
                ? new JedisScripts(factory, limit, timer)
                : null;
    }

    /** Reads the settings anew for each connection, because a password may change. */
    @SuppressWarnings("deprecation") // Newer versions of Spring Data have another name for the customizer.
    private JedisPipeline.Link connect() {
        JedisClientConfiguration client = factory.getClientConfiguration();
        int millis = (int) Math.min(Integer.MAX_VALUE, limit.toMillis());
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder()
                .connectionTimeoutMillis(
                        (int) Math.min(millis, client.getConnectTimeout().toMillis()))
                .database(factory.getDatabase())
                .ssl(client.isUseSsl());
        client.getClientName().ifPresent(config::clientName);
        client.getSslSocketFactory().ifPresent(config::sslSocketFactory);
        client.getSslParameters().ifPresent(config::sslParameters);
        client.getHostnameVerifier().ifPresent(config::hostnameVerifier);
        RedisStandaloneConfiguration server = factory.getStandaloneConfiguration();
        if (server != null) {
            config.user(server.getUsername());
            server.getPassword().toOptional().map(String::new).ifPresent(config::password);
        }
        client.getCustomizer().ifPresent(customizer -> customizer.customize(config));
        JedisClientConfig built = config.socketTimeoutMillis(millis).build();
        return new JedisPipeline.Link(new HostAndPort(factory.getHostName(), factory.getPort()), built);
    }

    /** Where no thread can be had, or none any more, the timer completes futures, or else the thread that has the answer. */
    private void complete(Runnable answer) {
        try {
            answering.execute(answer);
        } catch (RejectedExecutionException | Error noThread) {
            try {
                timer.execute(answer);
            } catch (RejectedExecutionException closed) {
                answer.run();
            }
        }
    }

    @Override
    public CompletableFuture<Object> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments, long waitNanos) {
        return pipeline.call(new PipelinedCommand(limit, waitNanos, script, keys, arguments));
    }

    @Override
    public CompletableFuture<?> keepAlive() {
        return pipeline.call(new PipelinedCommand(limit, 0, "time", TIME));
    }

    @Override
    public void close() {
        pipeline.close();
        answering.shutdown();
    }
}
