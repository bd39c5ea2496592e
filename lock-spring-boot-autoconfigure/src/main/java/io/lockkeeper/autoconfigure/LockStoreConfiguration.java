/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.autoconfigure.ConditionalOnSwitch.Switch;
import io.lockkeeper.autoconfigure.LockkeeperProperties.StoreType;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.quorum.QuorumLockStore;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.List;
import java.util.function.BiFunction;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.ResourceLoader;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

/** Where locks are kept. Only what is chosen is loaded: each part needs libraries that the others do without. */
final class LockStoreConfiguration {

    private LockStoreConfiguration() {}

    /** Locks in Redis, over a connection factory of the application. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(RedisConnectionFactory.class)
    @ConditionalOnSwitch(Switch.REDIS)
    @ConditionalOnMissingBean(LockStore.class)
    static class Redis {

        // The template closes its store.
        @Bean(destroyMethod = "")
        RedisLockStore redisLockStore(LockkeeperProperties properties, ListableBeanFactory beans) {
            return new RedisLockStore(connectionFactory(properties, beans), options(properties));
        }

        private static RedisConnectionFactory connectionFactory(
                LockkeeperProperties properties, ListableBeanFactory beans) {
            String name = properties.redis().connectionFactory();
            List<String> names =
                    List.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, RedisConnectionFactory.class));
            if (StringUtils.hasText(name)) {
                if (!names.contains(name)) {
                    throw LockStoreConfigurationException.unknownConnectionFactory(name, names);
                }
                return beans.getBean(name, RedisConnectionFactory.class);
            }
            RedisConnectionFactory only =
                    beans.getBeanProvider(RedisConnectionFactory.class).getIfUnique();
            if (only == null) {
                throw names.isEmpty()
                        ? LockStoreConfigurationException.noConnectionFactory()
                        : LockStoreConfigurationException.severalConnectionFactories(names);
            }
            return only;
        }

        static RedisLockStore.Options options(LockkeeperProperties properties) {
            LockkeeperProperties.Redis redis = properties.redis();
            RedisLockStore.Options options = RedisLockStore.Options.defaults()
                    .withKeyPrefix(properties.keyPrefix())
                    .withTombstoneTime(redis.tombstoneTime())
                    .withReplicaAcks(redis.replicaAcks(), redis.replicaAckTimeout());
            options = with(options, redis.commandTimeout(), RedisLockStore.Options::withCommandTimeout);
            options = with(options, redis.grantTime(), RedisLockStore.Options::withGrantTime);
            return with(options, redis.pollInterval(), RedisLockStore.Options::withPollInterval);
        }

        private static RedisLockStore.Options with(
                RedisLockStore.Options options,
                @Nullable Duration time,
                BiFunction<RedisLockStore.Options, Duration, RedisLockStore.Options> setting) {
            return time == null ? options : setting.apply(options, time);
        }
    }

    /** Locks in the memory of this process. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnSwitch(Switch.MEMORY)
    @ConditionalOnMissingBean(LockStore.class)
    static class Memory {

        // The template closes its store.
        @Bean(destroyMethod = "")
        MemoryLockStore memoryLockStore(LockkeeperProperties properties) {
            if (properties.store() != StoreType.MEMORY) {
                throw LockStoreConfigurationException.chosenOtherwise("lockkeeper.store", "memory", "redis");
            }
            return new MemoryLockStore();
        }
    }

    /** Locks on a majority of independent Redis masters, over connections of our own. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({RedisConnectionFactory.class, QuorumLockStore.class})
    @ConditionalOnSwitch(Switch.QUORUM)
    @ConditionalOnMissingBean(LockStore.class)
    static class Quorum {

        private static final Duration LONGEST_COMMAND = Duration.ofSeconds(2);

        // Destroyed after the store and the template, which depend on it.
        @Bean(destroyMethod = "close")
        QuorumConnections quorumConnections(LockkeeperProperties properties, ResourceLoader resources) {
            if (!ClassUtils.isPresent("redis.clients.jedis.Jedis", resources.getClassLoader())) {
                throw LockStoreConfigurationException.noJedis();
            }
            List<QuorumNode> nodes = properties.redis().quorum().nodes().stream()
                    .map(QuorumNode::parse)
                    .toList();
            return new QuorumConnections(nodes, commandTimeout(properties));
        }

        // The template closes its store.
        @Bean(destroyMethod = "")
        QuorumLockStore quorumLockStore(LockkeeperProperties properties, QuorumConnections connections) {
            RedisLockStore.Options options = Redis.options(properties).withRestartGuard(true);
            return new QuorumLockStore(connections.factories().stream()
                    .map(factory -> new RedisLockStore(factory, options))
                    .toList());
        }

        private static Duration commandTimeout(LockkeeperProperties properties) {
            Duration set = properties.redis().commandTimeout();
            Duration third = properties.leaseTime().dividedBy(3);
            if (set != null) {
                return set;
            }
            return third.compareTo(LONGEST_COMMAND) < 0 ? third : LONGEST_COMMAND;
        }
    }

    /** Stops the start where masters of a quorum are named, and the module that locks on them is absent. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingClass("io.lockkeeper.quorum.QuorumLockStore")
    @ConditionalOnSwitch(Switch.QUORUM)
    @ConditionalOnMissingBean(LockStore.class)
    static class MissingQuorum {

        @Bean
        LockStore quorumLockStore() {
            throw LockStoreConfigurationException.noQuorum();
        }
    }

    /**
     * The connections to the masters of a quorum. Not beans of their own: they would be in the way of the application's
     * connection factory.
     */
    static final class QuorumConnections implements AutoCloseable {

        /** As many as a store has threads for commands, and some for its subscription. */
        private static final int MOST = 20;

        private final List<JedisConnectionFactory> factories;

        QuorumConnections(List<QuorumNode> nodes, Duration commandTimeout) {
            factories =
                    nodes.stream().map(node -> factory(node, commandTimeout)).toList();
        }

        private static JedisConnectionFactory factory(QuorumNode node, Duration commandTimeout) {
            RedisStandaloneConfiguration server = new RedisStandaloneConfiguration(node.host(), node.port());
            server.setDatabase(node.database());
            server.setUsername(node.user());
            server.setPassword(node.password());
            GenericObjectPoolConfig<Object> pool = new GenericObjectPoolConfig<>();
            pool.setMaxTotal(MOST);
            pool.setMaxIdle(MOST);
            // A master that does not answer must not collect threads that wait for a connection to it.
            pool.setMaxWait(commandTimeout);
            JedisClientConfiguration.JedisClientConfigurationBuilder client = JedisClientConfiguration.builder()
                    .connectTimeout(commandTimeout)
                    .readTimeout(commandTimeout);
            if (node.encrypted()) {
                client.useSsl();
            }
            JedisConnectionFactory factory = new JedisConnectionFactory(
                    server, client.usePooling().poolConfig(pool).build());
            factory.afterPropertiesSet();
            factory.start();
            return factory;
        }

        List<? extends RedisConnectionFactory> factories() {
            return factories;
        }

        @Override
        public void close() {
            factories.forEach(JedisConnectionFactory::destroy);
        }
    }
}
