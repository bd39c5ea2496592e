/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.testing.RedisServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/**
 * The Redis store over a factory of Jedis that connects in a way of its own: through spring-data-redis. The build has
 * the same way on a cluster.
 */
@Tag("topology")
@Timeout(60)
class JedisThroughSpringDataContractTest extends RedisContracts {

    JedisThroughSpringDataContractTest() {
        super(RedisServer.start(), server -> connect(server.port()));
    }

    private static RedisConnectionFactory connect(int port) {
        JedisConnectionFactory factory =
                new JedisConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", port)) {};
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }
}
