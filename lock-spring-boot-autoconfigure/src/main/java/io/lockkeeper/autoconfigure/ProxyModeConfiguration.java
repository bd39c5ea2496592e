/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.interceptor.DistributedLockedAdvisor;
import io.lockkeeper.interceptor.DistributedLockedValidator;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;

/** Annotated methods are locked by proxies of the beans. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty(name = "lockkeeper.mode", havingValue = "proxy", matchIfMissing = true)
@Import(AutoProxyCreatorRegistrar.class)
class ProxyModeConfiguration {

    private static final int ADVISOR_ORDER = Ordered.LOWEST_PRECEDENCE - 100;

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static DistributedLockedAdvisor distributedLockedAdvisor(
            ConfigurableListableBeanFactory beans, Environment environment) {
        // Advisors are made before all other beans: the properties bean would come too early.
        int order = Binder.get(environment)
                .bind("lockkeeper.advisor-order", Integer.class)
                .orElse(ADVISOR_ORDER);
        return new DistributedLockedAdvisor(beans, order);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static DistributedLockedValidator distributedLockedValidator(
            ConfigurableListableBeanFactory beans, DistributedLockedAdvisor advisor) {
        return DistributedLockedValidator.ofProxies(beans, advisor);
    }
}
