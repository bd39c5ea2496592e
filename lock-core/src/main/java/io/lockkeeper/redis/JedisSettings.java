/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration.WithAuthentication;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/** How an application's connection factory connects. Read anew for each connection, because a password may change. */
final class JedisSettings {

    private final JedisConnectionFactory factory;
    private final int timeoutMillis;

    JedisSettings(JedisConnectionFactory factory, Duration commandTimeout) {
        this.factory = factory;
        this.timeoutMillis = (int) Math.min(Integer.MAX_VALUE, commandTimeout.toMillis());
    }

    /** Returns whether connections are made by an address alone: not where sentinels tell it, nor what we cannot see. */
    boolean areEnough() {
        return !factory.isRedisSentinelAware() && !isClientCustomized();
    }

    private boolean isClientCustomized() {
        try {
            return factory.getClientConfiguration().getClientCustomizer().isPresent();
        } catch (NoSuchMethodError olderSpringData) {
            return false;
        }
    }

    /** Returns the address of a server that is no cluster. */
    HostAndPort address() {
        return new HostAndPort(factory.getHostName(), factory.getPort());
    }

    /** Returns everything else. */
    @SuppressWarnings("deprecation") // Newer versions of Spring Data have another name for the customizer.
    JedisClientConfig config() {
        JedisClientConfiguration client = factory.getClientConfiguration();
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder()
                .connectionTimeoutMillis(
                        (int) Math.min(timeoutMillis, client.getConnectTimeout().toMillis()))
                .database(factory.isRedisClusterAware() ? 0 : factory.getDatabase())
                .ssl(client.isUseSsl());
        client.getClientName().ifPresent(config::clientName);
        client.getSslSocketFactory().ifPresent(config::sslSocketFactory);
        client.getSslParameters().ifPresent(config::sslParameters);
        client.getHostnameVerifier().ifPresent(config::hostnameVerifier);
        authenticate(
                factory.isRedisClusterAware()
                        ? factory.getClusterConfiguration()
                        : factory.getStandaloneConfiguration(),
                config);
        client.getCustomizer().ifPresent(customizer -> customizer.customize(config));
        return config.socketTimeoutMillis(timeoutMillis).build();
    }

    private static void authenticate(@Nullable RedisConfiguration server, DefaultJedisClientConfig.Builder config) {
        if (server instanceof WithAuthentication user) {
            config.user(user.getUsername());
            user.getPassword().toOptional().map(String::new).ifPresent(config::password);
        }
    }
}
