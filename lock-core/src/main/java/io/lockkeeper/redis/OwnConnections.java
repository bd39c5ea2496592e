/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.time.Duration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.util.ClassUtils;

/**
 * Connections of our own, made as the application makes its own, but each to one server. What is sent over one runs in this
 * order, and is never sent again by the client. So an answer to WAIT is about the commands before it, which it would not
 * be on another connection: that has written nothing, and waits for nothing.
 */
interface OwnConnections extends AutoCloseable {

    /**
     * Returns connections like those of a factory.
     *
     * @param limit how long a connection waits for the server
     * @throws IllegalArgumentException if the factory is neither of Jedis nor of Lettuce
     */
    static OwnConnections like(RedisConnectionFactory connections, Duration limit) {
        ClassLoader loader = OwnConnections.class.getClassLoader();
        if (ClassUtils.isPresent("redis.clients.jedis.Jedis", loader) && JedisConnections.areLike(connections)) {
            return JedisConnections.like(connections, limit);
        }
        if (ClassUtils.isPresent("io.lettuce.core.RedisClient", loader) && LettuceConnections.areLike(connections)) {
            return LettuceConnections.like(connections, limit);
        }
        throw new IllegalArgumentException(
                "Replica acks need a connection factory of Jedis or Lettuce to one server, to Sentinel or to a cluster,"
                        + " but this is " + connections + ": use one of these, or set replica acks to 0");
    }

    /**
     * Opens a connection.
     *
     * @param server address of a server of the cluster; {@link Servers#ANY} where there is only one master
     */
    OwnConnection open(String server);

    /** Closes all connections. */
    @Override
    void close();
}
