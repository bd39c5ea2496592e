/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisNode;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * Where a connection factory looks for Redis, for messages.
 *
 * @param address the addresses, or the type of a factory that does not tell them
 * @param properties with which Spring Boot is told of them; empty where it is not
 */
record RedisEndpoint(String address, String properties) {

    /** Returns where a factory looks, without connecting. */
    static RedisEndpoint of(RedisConnectionFactory connections) {
        // By name, because a class cannot be loaded where its client is absent.
        for (Class<?> type = connections.getClass(); type != null; type = type.getSuperclass()) {
            if (type.getName().equals(RedisDrivers.JEDIS)) {
                return Jedis.of((JedisConnectionFactory) connections);
            } else if (type.getName().equals(RedisDrivers.LETTUCE)) {
                return Lettuce.of((LettuceConnectionFactory) connections);
            }
        }
        return new RedisEndpoint(connections.getClass().getSimpleName(), "");
    }

    private static RedisEndpoint of(
            @Nullable RedisClusterConfiguration cluster,
            @Nullable RedisSentinelConfiguration sentinel,
            @Nullable String host,
            int port) {
        if (cluster != null) {
            return new RedisEndpoint("cluster " + listed(cluster.getClusterNodes()), "spring.data.redis.cluster.nodes");
        }
        if (sentinel != null) {
            return new RedisEndpoint(
                    "sentinels " + listed(sentinel.getSentinels()), "spring.data.redis.sentinel.nodes");
        }
        return new RedisEndpoint(host + ":" + port, "spring.data.redis.host and spring.data.redis.port");
    }

    private static String listed(Iterable<RedisNode> nodes) {
        return StreamSupport.stream(nodes.spliterator(), false)
                .map(RedisNode::asString)
                .sorted()
                .collect(Collectors.joining(", "));
    }

    /** Says where Redis was looked for, and what to set. */
    String advice() {
        return "It was looked for at " + address
                + (properties.isEmpty() ? "" : ": start it there, or set " + properties);
    }

    private static final class Jedis {

        static RedisEndpoint of(JedisConnectionFactory factory) {
            return RedisEndpoint.of(
                    factory.getClusterConfiguration(),
                    factory.getSentinelConfiguration(),
                    factory.getHostName(),
                    factory.getPort());
        }
    }

    private static final class Lettuce {

        static RedisEndpoint of(LettuceConnectionFactory factory) {
            return RedisEndpoint.of(
                    factory.getClusterConfiguration(),
                    factory.getSentinelConfiguration(),
                    factory.getHostName(),
                    factory.getPort());
        }
    }
}
