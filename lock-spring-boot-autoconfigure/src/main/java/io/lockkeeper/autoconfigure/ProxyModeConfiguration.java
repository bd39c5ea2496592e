/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.interceptor.DistributedLockedAdvisor;
import io.lockkeeper.interceptor.DistributedLockedValidator;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;

/** Annotated methods are locked by proxies of the beans. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnSwitch(Switch.PROXY)
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
            ConfigurableListableBeanFactory beans, ObjectProvider<DistributedLockedAdvisor> advisors) {
        // Whether the advisor is still there when beans are made is for the validator to see.
        DistributedLockedAdvisor advisor =
                advisors.stream().findFirst().orElseGet(() -> new DistributedLockedAdvisor(beans, ADVISOR_ORDER));
        return DistributedLockedValidator.ofProxies(
                beans, advisor, () -> LockkeeperAutoConfiguration.isSwitchedOff(beans));
    }
}
