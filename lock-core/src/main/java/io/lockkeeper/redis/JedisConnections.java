/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.HostnameVerifier;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocketFactory;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisPipelineException;
import org.springframework.data.redis.connection.jedis.JedisClientBuilderCustomizer;
import org.springframework.data.redis.connection.jedis.JedisClientConfigBuilderCustomizer;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/** Connections of Jedis. Its pipelines keep one connection, and nothing is sent twice. */
final class JedisConnections implements OwnConnections {

    private final JedisConnectionFactory original;
    private final JedisClientConfiguration client;
    private final Map<String, JedisConnectionFactory> factories = new ConcurrentHashMap<>();

    private JedisConnections(JedisConnectionFactory original, Duration limit) {
        this.original = original;
        this.client = new OneConnection(original.getClientConfiguration(), limit);
    }

    static boolean areLike(RedisConnectionFactory connections) {
        return connections instanceof JedisConnectionFactory;
    }

    static JedisConnections like(RedisConnectionFactory connections, Duration limit) {
        return new JedisConnections((JedisConnectionFactory) connections, limit);
    }

    @Override
    public OwnConnection open(String server) {
        return new Pipelines(factories.computeIfAbsent(server, this::factory).getConnection());
    }

    private JedisConnectionFactory factory(String server) {
        JedisConnectionFactory factory;
        if (original.getClusterConfiguration() != null) {
            factory = new JedisConnectionFactory(ServerAddress.of(server, original.getClusterConfiguration()), client);
        } else if (original.getSentinelConfiguration() != null) {
            factory = new JedisConnectionFactory(original.getSentinelConfiguration(), client);
        } else {
            factory = new JedisConnectionFactory(
                    Objects.requireNonNull(original.getStandaloneConfiguration(), "there is a server"), client);
        }
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    @Override
    public void close() {
        factories.values().forEach(JedisConnectionFactory::destroy);
    }

    private record Pipelines(RedisConnection connection) implements OwnConnection {

        @Override
        public List<@Nullable Object> exchange(List<byte[][]> commands) {
            connection.openPipeline();
            for (byte[][] command : commands) {
                byte[][] arguments = Arrays.copyOfRange(command, 1, command.length);
                connection.execute(new String(command[0], StandardCharsets.US_ASCII), arguments);
            }
            List<?> replies;
            try {
                replies = connection.closePipeline();
            } catch (RedisPipelineException refusals) {
                replies = refusals.getPipelineResult();
            }
            if (replies.size() != commands.size()) {
                throw new IllegalStateException("Redis gave " + replies.size() + " replies to " + commands.size());
            }
            return new ArrayList<@Nullable Object>(replies);
        }

        @Override
        public void close() {
            connection.close();
        }
    }

    /** What the application has set, but for a pool of one connection and the time that it waits. */
    private static final class OneConnection implements JedisClientConfiguration {

        private final JedisClientConfiguration original;
        private final Duration limit;

        OneConnection(JedisClientConfiguration original, Duration limit) {
            this.original = original;
            this.limit = limit;
        }

        @Override
        public Optional<JedisClientConfigBuilderCustomizer> getClientConfigCustomizer() {
            return original.getClientConfigCustomizer();
        }

        // The name that it has in spring-data-redis 3
        @Override
        @SuppressWarnings({"deprecation", "removal"})
        public Optional<JedisClientConfigBuilderCustomizer> getCustomizer() {
            return original.getCustomizer();
        }

        @Override
        public Optional<JedisClientBuilderCustomizer> getClientCustomizer() {
            return original.getClientCustomizer();
        }

        @Override
        public boolean isUseSsl() {
            return original.isUseSsl();
        }

        @Override
        public Optional<SSLSocketFactory> getSslSocketFactory() {
            return original.getSslSocketFactory();
        }

        @Override
        public Optional<SSLParameters> getSslParameters() {
            return original.getSslParameters();
        }

        @Override
        public Optional<HostnameVerifier> getHostnameVerifier() {
            return original.getHostnameVerifier();
        }

        @Override
        public boolean isUsePooling() {
            return true;
        }

        @Override
        public Optional<GenericObjectPoolConfig<?>> getPoolConfig() {
            GenericObjectPoolConfig<Object> pool = new GenericObjectPoolConfig<>();
            pool.setMaxTotal(1);
            pool.setMaxWait(limit);
            return Optional.of(pool);
        }

        @Override
        public Optional<String> getClientName() {
            return original.getClientName();
        }

        @Override
        public Duration getConnectTimeout() {
            return limit;
        }

        @Override
        public Duration getReadTimeout() {
            return limit;
        }
    }
}
