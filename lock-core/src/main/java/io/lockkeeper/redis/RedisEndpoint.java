/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisNode;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;

/**
 * Where a connection factory looks for Redis, for messages.
 *
 * @param address the addresses, or the type of a factory that does not tell them
 * @param properties with which Spring Boot is told of them; empty where it is not
 */
record RedisEndpoint(String address, String properties) {

    /** Returns where a factory looks, without connecting. */
    static RedisEndpoint of(RedisConnectionFactory connections) {
        RedisConfiguration servers = Clients.serversOf(connections);
        if (servers instanceof RedisClusterConfiguration cluster) {
            return new RedisEndpoint("cluster " + listed(cluster.getClusterNodes()), "spring.data.redis.cluster.nodes");
        }
        if (servers instanceof RedisSentinelConfiguration sentinel) {
            return new RedisEndpoint(
                    "sentinels " + listed(sentinel.getSentinels()), "spring.data.redis.sentinel.nodes");
        }
        if (servers instanceof RedisConfiguration.WithHostAndPort server) {
            return new RedisEndpoint(
                    server.getHostName() + ":" + server.getPort(), "spring.data.redis.host and spring.data.redis.port");
        }
        return new RedisEndpoint(connections.getClass().getSimpleName(), "");
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
}
