/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import io.lockkeeper.redis.RedisNames;
import io.lockkeeper.redis.ScriptRunner;
import io.lockkeeper.redis.replication.ReplicatedCommands.DedicatedConnection;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisPipelineException;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * Makes connections as an application makes its own, but outside of its pool.
 */
public final class JedisConnections {

    /** One connection that is never given back, and one for other commands. */
    private static final int LARGEST_POOL = 2;

    private JedisConnections() {}

    /** Returns a started factory that connects as the original does, with other timeouts for replies and messages. */
    public static JedisConnectionFactory like(
            JedisConnectionFactory original, RedisConfiguration servers, Duration limit, Duration silence) {
        JedisClientConfiguration client = client(original.getClientConfiguration(), limit, silence);
        JedisConnectionFactory factory;
        if (servers instanceof RedisClusterConfiguration cluster) {
            factory = new JedisConnectionFactory(cluster, client);
        } else if (servers instanceof RedisSentinelConfiguration sentinel) {
            factory = new JedisConnectionFactory(sentinel, client);
        } else {
            factory = new JedisConnectionFactory((RedisStandaloneConfiguration) servers, client);
        }
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    @SuppressWarnings("deprecation") // The customizer has this name in spring-data-redis 3.
    private static JedisClientConfiguration client(
            JedisClientConfiguration original, Duration limit, Duration silence) {
        GenericObjectPoolConfig<Object> pool = new GenericObjectPoolConfig<>();
        pool.setMaxTotal(LARGEST_POOL);
        pool.setMaxWait(limit);
        pool.setJmxEnabled(false);
        JedisClientConfiguration.JedisClientConfigurationBuilder client =
                JedisClientConfiguration.builder().connectTimeout(limit).readTimeout(limit);
        original.getClientName().ifPresent(client::clientName);
        client.customize(config -> {
            config.blockingSocketTimeoutMillis((int) silence.toMillis());
            original.getCustomizer().ifPresent(customizer -> customizer.customize(config));
        });
        if (isClientCustomized(original)) {
            original.getClientCustomizer().ifPresent(client::customizeClient);
        }
        if (original.isUseSsl()) {
            JedisClientConfiguration.JedisSslClientConfigurationBuilder tls = client.useSsl();
            original.getSslSocketFactory().ifPresent(tls::sslSocketFactory);
            original.getSslParameters().ifPresent(tls::sslParameters);
            original.getHostnameVerifier().ifPresent(tls::hostnameVerifier);
        }
        return client.usePooling().poolConfig(pool).and().build();
    }

    private static boolean isClientCustomized(JedisClientConfiguration client) {
        try {
            return client.getClientCustomizer().isPresent();
        } catch (NoSuchMethodError olderSpringData) {
            return false;
        }
    }

    /** Returns counts that change when a connection to a cluster node ends; without a cluster Jedis never resends. */
    public static Object losses(RedisConnection connection) {
        return pools(connection.getNativeConnection()).stream()
                .collect(Collectors.toMap(Function.identity(), JedisConnections::lost));
    }

    /** Counts lost connections, but not those that the pool closed while they were idle. */
    private static long lost(ConnectionPool pool) {
        while (true) {
            long idle = pool.getDestroyedByEvictorCount() + pool.getDestroyedByBorrowValidationCount();
            long destroyed = pool.getDestroyedCount();
            if (idle == pool.getDestroyedByEvictorCount() + pool.getDestroyedByBorrowValidationCount()) {
                return destroyed - idle;
            }
        }
    }

    @SuppressWarnings("deprecation") // Spring Data 3 has the older client of a cluster.
    private static Collection<ConnectionPool> pools(Object client) {
        if (client instanceof JedisCluster cluster) {
            return cluster.getClusterNodes().values();
        }
        try {
            return client instanceof RedisClusterClient cluster
                    ? cluster.getClusterNodes().values()
                    : List.of();
        } catch (NoClassDefFoundError olderJedis) {
            // It has none.
            return List.of();
        }
    }

    /** Removes this connection, or the idle ones, from the pool, because they lead to a replica. */
    @SuppressWarnings("deprecation") // Spring Data has the newer client only where it is told to.
    public static void leave(RedisConnection connection) {
        Object client = connection.getNativeConnection();
        try {
            if (client instanceof Jedis jedis) {
                jedis.getConnection().setBroken();
            } else if (client instanceof RedisClient pooled) {
                pooled.getPool().clear();
            } else if (client instanceof RedisSentinelClient pooled) {
                dropOne(pooled);
            }
        } catch (NoClassDefFoundError olderJedis) {
            // Its clients of clusters find the master by themselves.
        }
    }

    /** Makes the server close one connection of an inaccessible pool, and the pool notice that. */
    private static void dropOne(RedisSentinelClient client) {
        try (Pipeline sent = client.pipelined()) {
            for (String command : List.of("QUIT", "PING")) {
                sent.sendCommand(() -> RedisNames.bytes(command), new byte[0][]);
            }
        } catch (JedisConnectionException ended) {
            // QUIT has ended the connection, which PING has noticed.
        }
    }

    /** Returns the settings of a factory's pool; null: it has none. */
    public static @Nullable GenericObjectPoolConfig<?> pool(JedisConnectionFactory factory) {
        // Null of a mock.
        @Nullable JedisClientConfiguration client = factory.getClientConfiguration();
        return client != null && client.isUsePooling()
                ? client.getPoolConfig().orElseGet(GenericObjectPoolConfig::new)
                : null;
    }

    /** Returns a connection of its own. Pipelines of Jedis keep one connection, and nothing is sent twice. */
    public static DedicatedConnection dedicated(
            JedisConnectionFactory original, RedisConfiguration servers, Duration limit) {
        return new DedicatedConnection(() -> like(original, servers, limit, limit)) {
            @Override
            protected List<? extends @Nullable Object> exchange(RedisConnection connection, List<byte[][]> commands) {
                connection.openPipeline();
                for (byte[][] command : commands) {
                    byte[][] arguments = Arrays.copyOfRange(command, 1, command.length);
                    connection.execute(new String(command[0], StandardCharsets.US_ASCII), arguments);
                }
                List<? extends @Nullable Object> replies;
                try {
                    replies = connection.closePipeline();
                } catch (RedisPipelineException refusals) {
                    replies = refusals.getPipelineResult();
                }
                if (replies.size() != commands.size()) {
                    throw new IllegalStateException("Redis gave " + replies.size() + " replies to " + commands.size());
                }
                return replies;
            }

            @Override
            protected void end(RedisConnection connection) {
                leave(connection);
                super.end(connection);
            }
        };
    }

    /** Returns the runner of scripts for a factory of one server; null: the factory has a topology or a customizer. */
    public static @Nullable ScriptRunner scripts(
            JedisConnectionFactory factory, Duration limit, ScheduledExecutorService timer) {
        boolean single = !factory.isRedisSentinelAware() && !factory.isRedisClusterAware();
        Reconnects reconnects = new Reconnects();
        return single && !isClientCustomized(factory.getClientConfiguration())
                ? new JedisPipelines(() -> new JedisPipeline(limit, () -> link(factory, limit), reconnects, timer))
                : null;
    }

    /** Reads the settings anew for each connection, because a password may change. */
    @SuppressWarnings("deprecation") // Newer versions of Spring Data have another name for the customizer.
    private static JedisPipeline.Link link(JedisConnectionFactory factory, Duration limit) {
        JedisClientConfiguration client = factory.getClientConfiguration();
        int millis = (int) Math.min(Integer.MAX_VALUE, limit.toMillis());
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder()
                .connectionTimeoutMillis(
                        (int) Math.min(millis, client.getConnectTimeout().toMillis()))
                .database(factory.getDatabase())
                .ssl(client.isUseSsl())
                .clientName(client.getClientName().orElse(null))
                .sslSocketFactory(client.getSslSocketFactory().orElse(null))
                .sslParameters(client.getSslParameters().orElse(null))
                .hostnameVerifier(client.getHostnameVerifier().orElse(null));
        RedisStandaloneConfiguration server = factory.getStandaloneConfiguration();
        if (server != null) {
            config.user(server.getUsername());
            server.getPassword().toOptional().map(String::new).ifPresent(config::password);
        }
        client.getCustomizer().ifPresent(customizer -> customizer.customize(config));
        JedisClientConfig built = config.socketTimeoutMillis(millis).build();
        return new JedisPipeline.Link(new HostAndPort(factory.getHostName(), factory.getPort()), built);
    }
}
