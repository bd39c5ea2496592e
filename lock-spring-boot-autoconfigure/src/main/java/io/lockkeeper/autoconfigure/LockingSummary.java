/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.LockOperations;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockConfigurations.Above;
import io.lockkeeper.autoconfigure.LockConfigurations.Template;
import io.lockkeeper.autoconfigure.LockkeeperProperties.StoreType;
import io.lockkeeper.interceptor.DistributedLockedValidator;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.LockStore;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.core.env.Environment;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.util.ClassUtils;

/** Says at the start what locks, and where; warns where that is not what the application seems to be set up for. */
final class LockingSummary implements ApplicationListener<ContextRefreshedEvent>, DisposableBean {

    private static final Logger log = LoggerFactory.getLogger(LockkeeperAutoConfiguration.class);
    private static final String CONNECTIONS = "org.springframework.data.redis.connection.RedisConnectionFactory";

    /** Mockito gives this to the boot class loader before it makes mocks that have no class of their own. */
    private static final String INLINE_MOCKS = "org.mockito.internal.creation.bytebuddy.inject.MockMethodDispatcher";

    private final ConfigurableListableBeanFactory beans;
    private final LockkeeperProperties properties;
    private final Set<String> lazy = ConcurrentHashMap.newKeySet();

    private final BeanPostProcessor atFirstUse = new BeanPostProcessor() {
        @Override
        public Object postProcessAfterInitialization(Object bean, String name) {
            if (bean instanceof LockOperations && lazy.remove(name)) {
                describe(name, bean);
            }
            return bean;
        }
    };

    // No record: Spring keeps listeners by their hash, which would be that of all the properties.
    LockingSummary(ConfigurableListableBeanFactory beans, LockkeeperProperties properties) {
        this.beans = beans;
        this.properties = properties;
    }

    @Override
    public void onApplicationEvent(ContextRefreshedEvent event) {
        // The event of a child context arrives here too.
        if (!(event.getApplicationContext() instanceof ConfigurableApplicationContext context)
                || context.getBeanFactory() != beans) {
            return;
        }
        warnOfCaches(context.getEnvironment());
        if (!LockConfigurations.isSwitchedOff(beans)) {
            for (String name : names()) {
                Object operations = made(name);
                if (operations == null) {
                    lazy.add(name);
                    owner(name).addBeanPostProcessor(atFirstUse);
                }
                if (operations == null || operations instanceof LockOperations) {
                    describe(name, operations);
                }
            }
        }
    }

    /** Returns what may lock here: where this context has nothing, that of a parent does. */
    private String[] names() {
        String[] own = beans.getBeanNamesForType(LockOperations.class, true, false);
        return own.length > 0
                ? own
                : BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, LockOperations.class, true, false);
    }

    private ConfigurableListableBeanFactory owner(String name) {
        ConfigurableListableBeanFactory owner = beans;
        while (!owner.containsLocalBean(name)
                && owner.getParentBeanFactory() instanceof ConfigurableListableBeanFactory above) {
            owner = above;
        }
        return owner;
    }

    private @Nullable Object made(String name) {
        ConfigurableListableBeanFactory owner = owner(name);
        return owner.containsSingleton(name) && owner.isFactoryBean(name)
                ? owner.getBean(name)
                : owner.getSingleton(name);
    }

    /** A parent may live on: it must not keep this context. */
    @Override
    public void destroy() {
        for (BeanFactory each = beans; each instanceof AbstractBeanFactory owner; each = owner.getParentBeanFactory()) {
            owner.getBeanPostProcessors().remove(atFirstUse);
        }
    }

    /** Returns the number of methods that a bean locks; empty where that is not known yet. */
    private String methods(@Nullable Object operations) {
        String[] names = names();
        boolean isOnly = names.length == 1;
        if (!isOnly && !Arrays.stream(names).allMatch(beans::containsSingleton)) {
            return "";
        }
        int count = 0;
        for (DistributedLockedValidator each : beans.getBeanProvider(DistributedLockedValidator.class)) {
            count += isOnly || operations == null ? each.methods() : each.methods(operations);
        }
        return count == 1 ? "1 method" : count + " methods";
    }

    private void describe(String name, @Nullable Object operations) {
        String methods = methods(operations);
        String all = methods.isEmpty() ? "methods" : methods;
        if (operations != null && isMock(operations)) {
            log.warn(
                    "The bean '{}' is a mock that runs nothing: {} with @DistributedLocked return null without"
                            + " running, and fail where a primitive, a future or a publisher is expected. Put"
                            + " LockTemplate.withoutLocking() in its place, which runs them unlocked, or set"
                            + " lockkeeper.store=memory",
                    name,
                    all);
            return;
        }
        // Null: no template of ours, or a mock with answers of its own.
        Optional<LockStore> store = operations instanceof LockTemplate template ? template.store() : null;
        if (store != null && store.isEmpty()) {
            log.warn(
                    "The bean '{}' of the application runs everything unlocked: {} with @DistributedLocked run at the"
                            + " same time as on other instances. Remove the bean, or build it over a LockStore, unless"
                            + " this is meant",
                    name,
                    all);
            return;
        }
        boolean isOurs = beans.containsLocalBean(Template.NAME) && (names().length == 1 || name.equals("lockTemplate"));
        boolean isSingleton = definition(name).isSingleton();
        String where = store == null || operations == null
                ? whereUnknown(operations, isSingleton)
                : store.get() + ", lease " + print(((LockTemplate) operations).leaseTime());
        if (operations == null || isSingleton) {
            log.info(
                    "{}{}",
                    isOurs && operations == null ? opening(name) : keeping(name, isOurs) + where,
                    methods.isEmpty() ? "" : "; " + methods + " with @DistributedLocked");
        }
        if (store != null && store.get() instanceof MemoryLockStore && isRedisConfigured() && !isBesideOther(name)) {
            log.warn(
                    "The bean '{}' keeps locks in the memory of this process although Redis is configured: other instances"
                            + " do not see them. Remove the {} bean of the application, build it over a RedisLockStore, or"
                            + " set lockkeeper.store=memory if this is meant",
                    name,
                    isOurs ? "LockStore" : "LockTemplate");
        }
    }

    private static String whereUnknown(@Nullable Object operations, boolean isSingleton) {
        if (operations != null) {
            return "no store";
        }
        return isSingleton
                ? "a store that is opened at its first use, because the bean is lazy"
                : "a store for each use, because the bean is no singleton";
    }

    private String keeping(String name, boolean isOurs) {
        if (isOurs) {
            return names().length == 1 ? "Locks are kept in " : "The bean '" + name + "' keeps locks in ";
        }
        String instead = beans.containsLocalBean(name) && !beans.containsLocalBean(Above.NAME)
                ? " of the application locks in the place of Lockkeeper's own LockTemplate: "
                : " of a parent context locks in the place of a LockTemplate of this one: ";
        boolean isBeside = beans.containsLocalBean(name) && beans.containsLocalBean(Template.NAME);
        return "The bean '" + name + "'" + (isBeside ? " of the application keeps locks in " : instead);
    }

    private String opening(String name) {
        String own = beans.containsBean("lockkeeperStore")
                ? " (lockkeeper.store=" + (properties.store() == StoreType.MEMORY ? "memory" : "redis")
                        + ", key prefix '" + properties.keyPrefix() + "')"
                : "";
        return "The store of locks" + own + " is opened at its first use, because the bean '" + name
                + "' is lazy, lease " + print(properties.leaseTime());
    }

    /** Returns whether a bean locks only where it is named, beside one that may lock in Redis and is not named. */
    private boolean isBesideOther(String name) {
        return !definition(name).isPrimary()
                && Arrays.stream(names())
                        .filter(other -> !other.equals(name) && isCandidate(definition(other)))
                        .map(this::made)
                        .anyMatch(other -> other == null
                                || (other instanceof LockTemplate template
                                        && !isMock(template)
                                        && template.store()
                                                .filter(store -> !(store instanceof MemoryLockStore))
                                                .isPresent()));
    }

    private RootBeanDefinition definition(String name) {
        return LockConfigurations.definition(beans, name);
    }

    private static boolean isCandidate(RootBeanDefinition bean) {
        return LockConfigurations.isCandidate(bean) && !bean.isFallback();
    }

    /** Returns whether a mock runs nothing, by its answers: what else it may have been told, only calls would say. */
    private boolean isMock(Object operations) {
        // Mockito itself takes half a second to say that there is no mock.
        Class<?> type = operations.getClass();
        if (!type.getName().contains("$MockitoMock$") && !Proxy.isProxyClass(type) && !isPresent(INLINE_MOCKS)) {
            return false;
        }
        try {
            Object answer = new SpelExpressionParser()
                    .parseExpression("T(org.mockito.Mockito).mockingDetails(#root).mockCreationSettings.defaultAnswer")
                    .getValue(operations);
            return answer instanceof Enum<?> standard && !standard.name().equals("CALLS_REAL_METHODS");
        } catch (EvaluationException noMock) {
            return false;
        }
    }

    private boolean isRedisConfigured() {
        return properties.store() != StoreType.MEMORY
                && isPresent(CONNECTIONS)
                && BeanFactoryUtils.beanNamesForTypeIncludingAncestors(
                                        beans,
                                        ClassUtils.resolveClassName(CONNECTIONS, beans.getBeanClassLoader()),
                                        true,
                                        false)
                                .length
                        > 0;
    }

    /** Spring Data Redis, which came for the locks, takes the place of another cache library. */
    private void warnOfCaches(Environment environment) {
        boolean isMadeByBoot =
                beans.containsBean("org.springframework.boot.cache.autoconfigure.RedisCacheConfiguration")
                        || beans.containsBean("org.springframework.boot.autoconfigure.cache.RedisCacheConfiguration");
        if (!isMadeByBoot || !environment.getProperty("spring.cache.type", "").isBlank()) {
            return;
        }
        // Of those that Spring Boot prefers to Redis, none can have been usable.
        boolean isOther = isPresent("javax.cache.Caching")
                || isPresent("com.hazelcast.core.HazelcastInstance")
                || isPresent("org.infinispan.spring.embedded.provider.SpringEmbeddedCacheManager")
                || isPresent("com.couchbase.client.java.Cluster");
        String type = isPresent("org.cache2k.Cache2kBuilder")
                ? "cache2k"
                : isPresent("com.github.benmanes.caffeine.cache.Caffeine") ? "caffeine" : isOther ? "simple" : "";
        if (!type.isEmpty()) {
            log.warn(
                    "Spring Boot keeps the caches of @EnableCaching in Redis: Spring Data Redis, which the locks use, is on the"
                            + " class path and spring.cache.type is not set. Set spring.cache.type={} to keep them there as"
                            + " without it, or spring.cache.type=redis if Redis is meant",
                    type);
        }
    }

    private boolean isPresent(String type) {
        return ClassUtils.isPresent(type, beans.getBeanClassLoader());
    }

    private static String print(Duration time) {
        return time.toMillis() % 1_000 == 0 ? time.toSeconds() + "s" : time.toMillis() + "ms";
    }
}
