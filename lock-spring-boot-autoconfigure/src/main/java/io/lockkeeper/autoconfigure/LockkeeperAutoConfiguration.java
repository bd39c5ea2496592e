/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.interceptor.DistributedLockedValidator.GivenObjects;
import io.lockkeeper.store.LockStore;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.ConfigurationPropertiesBindHandlerAdvisor;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

/**
 * Auto-configuration of Lockkeeper: a {@link LockTemplate} over Redis or over the memory of this process, and the
 * advice of {@link io.lockkeeper.annotation.DistributedLocked}. A {@link LockOperations} bean of the application takes
 * the place of the template, a {@link LockStore} bean that of the store.
 */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration",
            "org.springframework.boot.autoconfigure.data.redis.RedisAutoConfiguration"
        })
@EnableConfigurationProperties(LockkeeperProperties.class)
@Import({LockConfigurations.Selector.class, LockConfigurations.InspectorRegistrar.class})
public final class LockkeeperAutoConfiguration {

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static GivenObjects lockkeeperGivenObjects() {
        return new GivenObjects();
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static ConfigurationPropertiesBindHandlerAdvisor lockkeeperPropertiesCheck(Environment environment) {
        return handler -> LockkeeperProperties.Check.after(handler, environment);
    }

    @Bean
    LockConfigurations.Shutdown lockkeeperShutdown(ConfigurableApplicationContext context) {
        return new LockConfigurations.Shutdown(context);
    }

    @Bean
    LockingSummary lockkeeperSummary(ConfigurableListableBeanFactory beans, LockkeeperProperties properties) {
        return new LockingSummary(beans, properties);
    }

    @Bean
    @ConditionalOnMissingBean(value = LockInspector.class, name = "lockInspector")
    @ConditionalOnSingleCandidate(LockTemplate.class)
    LockInspector lockInspector(ObjectProvider<LockTemplate> templates) {
        // A later auto-configuration may have added templates behind the one that was the only candidate.
        return LockConfigurations.InspectorRegistrar.inspector(
                templates.getIfUnique(() -> templates.stream().findFirst().orElse(null)));
    }
}
