/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** The drivers over which everything is tested. */
public enum Connections {
    JEDIS {
        @Override
        public RedisConnectionFactory to(RedisStandaloneConfiguration server) {
            return started(new JedisConnectionFactory(server));
        }

        @Override
        public RedisConnectionFactory toCluster(List<Integer> ports) {
            return started(new JedisConnectionFactory(cluster(ports)));
        }

        @Override
        public RedisConnectionFactory toSentinel(List<Integer> ports) {
            return started(new JedisConnectionFactory(sentinel(ports)));
        }

        private RedisConnectionFactory started(JedisConnectionFactory factory) {
            factory.afterPropertiesSet();
            factory.start();
            return factory;
        }
    },
    LETTUCE {
        @Override
        public RedisConnectionFactory to(RedisStandaloneConfiguration server) {
            return started(new LettuceConnectionFactory(server));
        }

        @Override
        public RedisConnectionFactory toCluster(List<Integer> ports) {
            // Tests cannot wait until Lettuce looks by itself who has taken the place of a dead master.
            ClusterTopologyRefreshOptions refresh = ClusterTopologyRefreshOptions.builder()
                    .adaptiveRefreshTriggersTimeout(Duration.ofMillis(200))
                    .build();
            LettuceClientConfiguration configuration = LettuceClientConfiguration.builder()
                    .clientOptions(ClusterClientOptions.builder()
                            .topologyRefreshOptions(refresh)
                            .build())
                    .build();
            return started(new LettuceConnectionFactory(cluster(ports), configuration));
        }

        @Override
        public RedisConnectionFactory toSentinel(List<Integer> ports) {
            return started(new LettuceConnectionFactory(sentinel(ports)));
        }

        private RedisConnectionFactory started(LettuceConnectionFactory factory) {
            factory.afterPropertiesSet();
            factory.start();
            return factory;
        }
    };

    private static final String HOST = "127.0.0.1";

    /** Returns a started factory to one server. */
    public abstract RedisConnectionFactory to(RedisStandaloneConfiguration server);

    /** Returns a started factory to a server on this machine. */
    public RedisConnectionFactory to(int port) {
        return to(new RedisStandaloneConfiguration(HOST, port));
    }

    /** Returns a started factory to a server on this machine, for one of its users. */
    public RedisConnectionFactory to(int port, String user, String password) {
        RedisStandaloneConfiguration server = new RedisStandaloneConfiguration(HOST, port);
        server.setUsername(user);
        server.setPassword(password);
        return to(server);
    }

    /** Returns a started factory to a cluster on this machine, of which some ports are known. */
    public abstract RedisConnectionFactory toCluster(List<Integer> ports);

    /** Returns a started factory to the master that sentinels on this machine know. */
    public RedisConnectionFactory toSentinel(RedisSentinel sentinel) {
        return toSentinel(sentinel.ports());
    }

    /** Returns a started factory to the master that sentinels on this machine know, by their ports. */
    public abstract RedisConnectionFactory toSentinel(List<Integer> ports);

    private static RedisSentinelConfiguration sentinel(List<Integer> ports) {
        return new RedisSentinelConfiguration(
                RedisSentinel.MASTER,
                ports.stream().map(port -> HOST + ":" + port).collect(Collectors.toSet()));
    }

    private static RedisClusterConfiguration cluster(List<Integer> ports) {
        return new RedisClusterConfiguration(
                ports.stream().map(port -> HOST + ":" + port).toList());
    }

    /** Stops a factory to one server, and starts it with another password. */
    public static void restart(RedisConnectionFactory factory, String password) {
        if (factory instanceof JedisConnectionFactory jedis) {
            jedis.getStandaloneConfiguration().setPassword(password);
            jedis.stop();
            jedis.start();
        } else if (factory instanceof LettuceConnectionFactory lettuce) {
            lettuce.getStandaloneConfiguration().setPassword(password);
            lettuce.stop();
            lettuce.start();
        }
    }

    /** Ends a factory. */
    public static void close(RedisConnectionFactory factory) {
        if (factory instanceof JedisConnectionFactory jedis) {
            jedis.destroy();
        } else if (factory instanceof LettuceConnectionFactory lettuce) {
            lettuce.destroy();
        }
    }
}
