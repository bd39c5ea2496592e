/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.List;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.util.StringUtils;

/** Locks in Redis, over a connection factory of the application. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(RedisConnectionFactory.class)
@ConditionalOnSwitch(Switch.REDIS)
@ConditionalOnMissingBean(LockStore.class)
class RedisStoreConfiguration {

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
