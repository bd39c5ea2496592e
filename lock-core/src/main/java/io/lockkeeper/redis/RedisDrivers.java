/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Finds the best driver for a connection factory. */
final class RedisDrivers {

    /** By its name, because the class cannot be loaded where Jedis is absent; a subclass may connect in its own way. */
    private static final String JEDIS = "org.springframework.data.redis.connection.jedis.JedisConnectionFactory";

    private RedisDrivers() {}

    static RedisDriver over(
            RedisConnectionFactory connections,
            Duration commandTimeout,
            ScheduledExecutorService timer,
            ReplicaAcks acks) {
        SpringDataRedisDriver general = new SpringDataRedisDriver(connections, commandTimeout, timer, acks);
        // Acknowledgements are asked for on connections of their own.
        return !acks.isWanted() && connections.getClass().getName().equals(JEDIS)
                ? JedisDriver.over(connections, general, commandTimeout, timer)
                : general;
    }
}
