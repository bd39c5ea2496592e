/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.redis.jedis.JedisConnections;
import io.lockkeeper.redis.lettuce.LettuceConnections;
import io.lockkeeper.redis.lettuce.LettuceScripts;
import io.lockkeeper.redis.replication.ReplicatedCommands.DedicatedConnection;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisClusterNode;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisNode;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceClusterConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** What the client behind the application's connection factory can do beside spring-data-redis. */
record Clients(RedisConnectionFactory factory, Duration limit) {

    /** Returns whether the factory is no mock, and no subclass, which may connect in its own way. */
    private boolean isPlain() {
        return (factory.getClass() == JedisConnectionFactory.class
                        || factory.getClass() == LettuceConnectionFactory.class)
                && serversOf(factory) != null;
    }

    /** Returns what runs scripts best over this client; the general runner where there is nothing better. */
    ScriptRunner scripts(ScheduledExecutorService timer, ScriptRunner general) {
        ScriptRunner own = null;
        if (factory instanceof LettuceConnectionFactory lettuce) {
            own = new LettuceScripts(lettuce, isPlain(), limit, timer, general);
        } else if (isPlain()) {
            own = JedisConnections.scripts((JedisConnectionFactory) factory, limit, timer);
        }
        return own == null ? general : own;
    }

    /** Connects now: Lettuce otherwise connects, or takes a connection out of its pool, at the first command. */
    void open(RedisConnection connection) {
        if (factory instanceof LettuceConnectionFactory) {
            connection.getNativeConnection();
        }
    }

    /** Returns the configuration of a factory of Jedis or Lettuce; null: the factory is of another client. */
    static @Nullable RedisConfiguration serversOf(RedisConnectionFactory factory) {
        if (factory instanceof JedisConnectionFactory jedis) {
            return first(
                    jedis.getClusterConfiguration(),
                    jedis.getSentinelConfiguration(),
                    jedis.getStandaloneConfiguration());
        }
        return factory instanceof LettuceConnectionFactory lettuce
                ? first(
                        lettuce.getClusterConfiguration(),
                        lettuce.getSentinelConfiguration(),
                        lettuce.getSocketConfiguration(),
                        lettuce.getStandaloneConfiguration())
                : null;
    }

    /** Returns the nodes of a cluster, as the client knows them or a server tells them. */
    static Iterable<RedisClusterNode> nodesOf(RedisClusterConnection connection) {
        return connection instanceof LettuceClusterConnection lettuce
                ? LettuceConnections.nodes(lettuce)
                : connection.clusterGetNodes();
    }

    private static @Nullable RedisConfiguration first(@Nullable RedisConfiguration... configurations) {
        return Stream.of(configurations).filter(Objects::nonNull).findFirst().orElse(null);
    }

    /**
     * Returns a factory for a connection that is never given back: several stores must not use up the application's
     * pool. It is the application's own factory if that has no pool, or is a subclass. With Jedis, reading a message
     * times out after the given silence.
     */
    RedisConnectionFactory outsideOfThePool(Duration silence) {
        RedisConfiguration servers = serversOf(factory);
        if (!isPlain() || servers == null) {
            return factory;
        }
        return factory instanceof JedisConnectionFactory jedis
                ? JedisConnections.like(jedis, servers, limit, silence)
                : LettuceConnections.outsideOfThePool((LettuceConnectionFactory) factory, servers, limit);
    }

    /** Returns how many idle connections the pool of a known client may keep; 0: there is no pool. */
    int mostIdle() {
        GenericObjectPoolConfig<?> pool = factory instanceof JedisConnectionFactory jedis
                ? JedisConnections.pool(jedis)
                : factory instanceof LettuceConnectionFactory lettuce ? LettuceConnections.pool(lettuce) : null;
        int most = pool == null ? 0 : pool.getMaxIdle();
        return most < 0 ? GenericObjectPoolConfig.DEFAULT_MAX_IDLE : most;
    }

    /** Checks that the subscription for grants leaves a connection where it takes one out of the application's pool. */
    static void requireRoom(RedisConnectionFactory factory) {
        // The pools of Lettuce have other connections for subscriptions.
        if (factory instanceof JedisConnectionFactory jedis && factory.getClass() != JedisConnectionFactory.class) {
            GenericObjectPoolConfig<?> pool = JedisConnections.pool(jedis);
            if (pool != null && (pool.getMaxTotal() == 0 || pool.getMaxTotal() == 1)) {
                throw new IllegalArgumentException("The pool of "
                        + factory.getClass().getName()
                        + " has too few connections, at most " + pool.getMaxTotal() + ", because the subscription for"
                        + " grants takes one for good from that of a subclass of JedisConnectionFactory: set"
                        + " spring.data.redis.jedis.pool.max-active, the maxTotal of the pool, to 3 or more");
            }
        }
    }

    /** Checks that there can be dedicated connections. */
    void requireDedicated() {
        RedisConfiguration servers = serversOf(factory);
        if (servers == null || RedisConfiguration.isDomainSocketConfiguration(servers)) {
            throw new IllegalArgumentException(
                    "Replica acks need a connection factory of Jedis or Lettuce to one server, to Sentinel or to a cluster,"
                            + " but this is " + factory + ": use one of these, or set replica acks to 0");
        }
    }

    /** Returns a connection to a server of the cluster by its address, or to the only master. */
    DedicatedConnection dedicated(String name) {
        RedisConfiguration servers = Objects.requireNonNull(serversOf(factory), "the client is known");
        if (servers instanceof RedisClusterConfiguration cluster) {
            int colon = name.lastIndexOf(':');
            RedisStandaloneConfiguration server = new RedisStandaloneConfiguration(
                    name.substring(0, colon), Integer.parseInt(name.substring(colon + 1)));
            server.setUsername(cluster.getUsername());
            server.setPassword(cluster.getPassword());
            servers = server;
        }
        return factory instanceof JedisConnectionFactory jedis
                ? JedisConnections.dedicated(jedis, servers, limit)
                : LettuceConnections.dedicated((LettuceConnectionFactory) factory, servers, limit);
    }

    /** The address of Redis, and the properties to change if address, user or database are wrong; for messages. */
    record Endpoint(String address, String ofAddress, String ofUser, String ofDatabase) {

        private static final String OTHER = "another address";

        /** Returns the endpoint of a factory; source: where all of it is configured, null: in several properties. */
        static Endpoint of(RedisConnectionFactory connections, @Nullable String source) {
            String bean = source != null && source.startsWith("the bean ") ? source : null;
            String url = bean == null ? source : null;
            String address = connections.getClass().getSimpleName();
            String ofAddress = "";
            RedisConfiguration servers = serversOf(connections);
            if (servers instanceof RedisClusterConfiguration cluster) {
                address = "cluster " + listed(cluster.getClusterNodes());
                ofAddress = told(OTHER, bean, null, "cluster.nodes");
            } else if (servers instanceof RedisSentinelConfiguration sentinel) {
                address = "sentinels " + listed(sentinel.getSentinels());
                ofAddress = told(OTHER, bean, null, "sentinel.nodes");
            } else if (servers instanceof RedisConfiguration.WithHostAndPort server) {
                address = server.getHostName() + ":" + server.getPort();
                ofAddress = told(OTHER, bean, url, "host and spring.data.redis.port");
            }
            return new Endpoint(
                    address,
                    ofAddress,
                    told("user and password", bean, url, "username and spring.data.redis.password"),
                    told("another database", bean, url, "database"));
        }

        private static String told(String what, @Nullable String bean, @Nullable String url, String property) {
            return bean == null
                    ? Objects.requireNonNullElse(url, "spring.data.redis." + property)
                    : what + " in " + bean;
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
                    + (ofAddress.isEmpty() ? "" : ": start it there, or set " + ofAddress);
        }
    }
}
