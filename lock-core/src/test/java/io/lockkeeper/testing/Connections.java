package io.lockkeeper.testing;

import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** The drivers over which everything is tested. */
public enum Connections {
    JEDIS {
        @Override
        public RedisConnectionFactory to(int port) {
            JedisConnectionFactory factory =
                    new JedisConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", port));
            factory.afterPropertiesSet();
            factory.start();
            return factory;
        }
    },
    LETTUCE {
        @Override
        public RedisConnectionFactory to(int port) {
            LettuceConnectionFactory factory =
                    new LettuceConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", port));
            factory.afterPropertiesSet();
            factory.start();
            return factory;
        }
    };

    /** Returns a started factory to a server on this machine. */
    public abstract RedisConnectionFactory to(int port);

    /** Ends a factory. */
    public static void close(RedisConnectionFactory factory) {
        if (factory instanceof JedisConnectionFactory jedis) {
            jedis.destroy();
        } else if (factory instanceof LettuceConnectionFactory lettuce) {
            lettuce.destroy();
        }
    }
}
