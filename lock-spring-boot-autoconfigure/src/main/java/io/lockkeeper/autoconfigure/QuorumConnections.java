/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import java.time.Duration;
import java.util.List;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/**
 * The connections to the masters of a quorum. Not beans of their own: they would be in the way of the application's
 * connection factory.
 */
final class QuorumConnections implements AutoCloseable {

    /** As many as a store has threads for commands, and some for its subscription. */
    private static final int MOST = 20;

    private final List<JedisConnectionFactory> factories;

    QuorumConnections(List<QuorumNode> nodes, Duration commandTimeout) {
        factories = nodes.stream().map(node -> factory(node, commandTimeout)).toList();
    }

    private static JedisConnectionFactory factory(QuorumNode node, Duration commandTimeout) {
        RedisStandaloneConfiguration server = new RedisStandaloneConfiguration(node.host(), node.port());
        server.setDatabase(node.database());
        server.setUsername(node.user());
        server.setPassword(node.password());
        GenericObjectPoolConfig<Object> pool = new GenericObjectPoolConfig<>();
        pool.setMaxTotal(MOST);
        pool.setMaxIdle(MOST);
        // A master that does not answer must not collect threads that wait for a connection to it.
        pool.setMaxWait(commandTimeout);
        JedisClientConfiguration.JedisClientConfigurationBuilder client = JedisClientConfiguration.builder()
                .connectTimeout(commandTimeout)
                .readTimeout(commandTimeout);
        if (node.encrypted()) {
            client.useSsl();
        }
        JedisConnectionFactory factory = new JedisConnectionFactory(
                server, client.usePooling().poolConfig(pool).build());
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    List<? extends RedisConnectionFactory> factories() {
        return factories;
    }

    @Override
    public void close() {
        factories.forEach(JedisConnectionFactory::destroy);
    }
}
