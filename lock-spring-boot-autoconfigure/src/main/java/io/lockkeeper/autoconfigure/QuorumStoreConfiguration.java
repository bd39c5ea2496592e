/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.quorum.QuorumLockStore;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.List;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.ResourceLoader;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.util.ClassUtils;

/** Locks on a majority of independent Redis masters, over connections of our own. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass({RedisConnectionFactory.class, QuorumLockStore.class})
@ConditionalOnSwitch(Switch.QUORUM)
@ConditionalOnMissingBean(LockStore.class)
class QuorumStoreConfiguration {

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
        RedisLockStore.Options options =
                RedisStoreConfiguration.options(properties).withRestartGuard(true);
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
