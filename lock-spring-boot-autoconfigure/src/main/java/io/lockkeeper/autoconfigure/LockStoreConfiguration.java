/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.autoconfigure.LockkeeperProperties.StoreType;
import io.lockkeeper.interceptor.LockingMissingException;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.quorum.QuorumLockStore;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.store.LockStore;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.BeanNotOfRequiredTypeException;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.NamedBeanHolder;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ResourceLoader;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.util.ClassUtils;

/** Where locks are kept. Only what is chosen is loaded: each part needs libraries that the others do without. */
final class LockStoreConfiguration {

    private static final String URL = "spring.data.redis.url";
    private static final String NODES = "lockkeeper.redis.quorum.nodes";

    private LockStoreConfiguration() {}

    /** The environment may be another one than that in which the beans were chosen. */
    static LockingMissingException chosenOtherwise(String property, String then, String now) {
        return new LockingMissingException(
                property + " is " + now + ", but was " + then + " when the beans of this application were chosen, which"
                        + " ahead-of-time processing does when it is built: it would run without locks that others see.",
                "Let " + property + " be the same when the application is built and when it runs.");
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingBean(LockStore.class)
    static class Redis {

        // The template closes its store.
        @Bean(destroyMethod = "")
        RedisLockStore lockkeeperStore(
                LockkeeperProperties properties, ConfigurableListableBeanFactory beans, Environment environment) {
            if (!properties.redis().quorum().nodes().isEmpty()) {
                throw chosenOtherwise(NODES, "empty", "set");
            }
            NamedBeanHolder<RedisConnectionFactory> connections = connections(properties, beans);
            return new RedisLockStore(
                    connections.getBeanInstance(),
                    options(properties),
                    source(connections.getBeanName(), beans, environment));
        }

        /** Returns where it is set which Redis that is; null: in several properties of Spring Boot. */
        private static @Nullable String source(
                String connections, ConfigurableListableBeanFactory beans, Environment environment) {
            if (!isOfBoot(connections, beans)) {
                return "the bean '" + connections + "'";
            }
            // As @ServiceConnection defines them, and in the place of all properties.
            for (String name : BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, ConnectionDetails.class)) {
                Class<?> type = beans.getType(name);
                if (type != null
                        && !isOfBoot(name, beans)
                        && Stream.of(ClassUtils.getAllInterfacesForClass(type))
                                .anyMatch(each -> each.getSimpleName().endsWith("RedisConnectionDetails"))) {
                    return "the bean '" + name + "'";
                }
            }
            // Spring Boot takes user and password from the url, too, wherever it is set.
            return environment.containsProperty(URL) ? URL : null;
        }

        private static boolean isOfBoot(String name, ConfigurableListableBeanFactory beans) {
            Method maker = LockConfigurations.definition(beans, name).getResolvedFactoryMethod();
            return maker != null && maker.getDeclaringClass().getName().startsWith("org.springframework.boot.");
        }

        private static NamedBeanHolder<RedisConnectionFactory> connections(
                LockkeeperProperties properties, ConfigurableListableBeanFactory beans) {
            Class<RedisConnectionFactory> type = RedisConnectionFactory.class;
            String name = properties.redis().connectionFactory();
            try {
                return name == null
                        ? beans.resolveNamedBean(type)
                        : new NamedBeanHolder<>(name, beans.getBean(name, type));
            } catch (NoSuchBeanDefinitionException | BeanNotOfRequiredTypeException none) {
                throw none(name, BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, type));
            }
        }

        private static LockingMissingException none(@Nullable String name, String[] all) {
            List<String> names = List.of(all);
            String remedy = "Set lockkeeper.redis.connection-factory to the name of one of these beans: " + names;
            if (name != null) {
                return new LockingMissingException(
                        "lockkeeper.redis.connection-factory is '" + name
                                + "', but there is no RedisConnectionFactory bean of this name.",
                        names.isEmpty() ? "Define a RedisConnectionFactory bean of this name." : remedy + ".");
            }
            return names.isEmpty()
                    ? new LockingMissingException(
                            "Lockkeeper has no place to keep locks: there is no RedisConnectionFactory bean.",
                            "Let Spring Boot create one, by setting spring.data.redis.host and having Jedis or Lettuce on"
                                    + " the class path, or define one, or set lockkeeper.store=memory for an application"
                                    + " that runs as one process.")
                    : new LockingMissingException(
                            "Lockkeeper cannot choose among several RedisConnectionFactory beans: " + names + ".",
                            remedy + ", or make one of them @Primary.");
        }

        static RedisLockStore.Options options(LockkeeperProperties properties) {
            LockkeeperProperties.Redis redis = properties.redis();
            return new RedisLockStore.Options(
                    properties.keyPrefix(),
                    redis.commandTimeout(),
                    redis.grantTime(),
                    redis.pollInterval(),
                    redis.tombstoneTime(),
                    false,
                    redis.replicaAcks(),
                    redis.replicaAckTimeout());
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingBean(LockStore.class)
    static class Memory {

        // The template closes its store.
        @Bean(destroyMethod = "")
        MemoryLockStore lockkeeperStore(LockkeeperProperties properties) {
            if (properties.store() != StoreType.MEMORY) {
                throw chosenOtherwise("lockkeeper.store", "memory", "redis");
            }
            return new MemoryLockStore();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingBean(LockStore.class)
    static class Quorum {

        // Destroyed after the store and the template, which depend on it.
        @Bean(destroyMethod = "close")
        QuorumConnections lockkeeperConnections(LockkeeperProperties properties, ResourceLoader resources) {
            if (properties.redis().quorum().nodes().isEmpty()) {
                throw chosenOtherwise(NODES, "set", "empty");
            }
            if (!ClassUtils.isPresent("redis.clients.jedis.Jedis", resources.getClassLoader())) {
                throw new LockingMissingException(
                        "Lockkeeper cannot connect to the masters of lockkeeper.redis.quorum.nodes: Jedis is not on the"
                                + " class path.",
                        "Add redis.clients:jedis, whatever client the application itself uses.");
            }
            return QuorumConnections.to(properties.redis().quorum().nodes(), properties.commandTimeout());
        }

        // The template closes its store.
        @Bean(destroyMethod = "")
        QuorumLockStore lockkeeperStore(LockkeeperProperties properties, QuorumConnections connections) {
            RedisLockStore.Options options = Redis.options(properties).withRestartGuard(true);
            return new QuorumLockStore(connections.factories().stream()
                    .map(factory -> new RedisLockStore(factory, options))
                    .toList());
        }
    }

    /** Not beans of their own: they would be in the way of the application's connection factory. */
    record QuorumConnections(List<JedisConnectionFactory> factories) implements AutoCloseable {

        /** As many as a store has threads for commands, and some for its subscription. */
        private static final int MOST = 20;

        static QuorumConnections to(List<String> nodes, Duration commandTimeout) {
            return new QuorumConnections(nodes.stream()
                    .map(node -> factory(QuorumNode.parse(node), commandTimeout))
                    .toList());
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

        @Override
        public void close() {
            factories.forEach(JedisConnectionFactory::destroy);
        }
    }
}
