/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import redis.clients.jedis.JedisPoolConfig;

/** Connection factories as an application has them, but with as many pooled connections as there are threads. */
final class Connections {

    static final String HOST = "127.0.0.1";
    static final int POOL = 80;

    private Connections() {}

    static RedisConnectionFactory jedis(int port) {
        JedisPoolConfig pool = new JedisPoolConfig();
        pool.setMaxTotal(POOL);
        pool.setMaxIdle(POOL);
        JedisClientConfiguration client =
                JedisClientConfiguration.builder().usePooling().poolConfig(pool).build();
        JedisConnectionFactory factory =
                new JedisConnectionFactory(new RedisStandaloneConfiguration(HOST, port), client);
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    static RedisConnectionFactory lettuce(int port) {
        LettuceConnectionFactory factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(HOST, port));
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    static void close(RedisConnectionFactory factory) {
        if (factory instanceof JedisConnectionFactory jedis) {
            jedis.destroy();
        } else if (factory instanceof LettuceConnectionFactory lettuce) {
            lettuce.destroy();
        }
    }
}
