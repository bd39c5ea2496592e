/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Finds the best driver for a connection factory. */
final class RedisDrivers {

    /** By their names, because a class cannot be loaded where its client is absent; a subclass may connect in its own way. */
    static final String JEDIS = "org.springframework.data.redis.connection.jedis.JedisConnectionFactory";

    static final String LETTUCE = "org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory";

    private RedisDrivers() {}

    static RedisDriver over(
            RedisConnectionFactory connections,
            Duration commandTimeout,
            ScheduledExecutorService timer,
            ReplicaAcks acks) {
        SpringDataRedisDriver general = new SpringDataRedisDriver(connections, commandTimeout, timer, acks);
        String factory = connections.getClass().getName();
        if (acks.isWanted()) {
            // They are asked for on connections of their own.
            return general;
        } else if (factory.equals(JEDIS)) {
            return JedisDriver.over(connections, general, commandTimeout, timer);
        } else if (factory.equals(LETTUCE)) {
            return LettuceDriver.over(connections, general, commandTimeout, timer);
        }
        return general;
    }
}
