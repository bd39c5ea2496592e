/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.autoconfigure.ConditionalOnSwitch.Switch;
import io.lockkeeper.interceptor.DistributedLockedAdvisor;
import io.lockkeeper.interceptor.DistributedLockedValidator;
import io.lockkeeper.weaving.WovenLocks;
import org.aopalliance.intercept.MethodInterceptor;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/** How annotated methods are locked. */
final class LockedMethodsConfiguration {

    private LockedMethodsConfiguration() {}

    /** Annotated methods are locked by proxies of the beans. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnSwitch(Switch.PROXY)
    @Import(AutoProxyCreatorRegistrar.class)
    static class Proxies {

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
            return new DistributedLockedValidator(
                    beans, advisor, false, () -> LockkeeperAutoConfiguration.isSwitchedOff(beans));
        }
    }

    /** Annotated methods are locked by code that is woven into their classes. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnSwitch(Switch.ASPECTJ)
    static class WovenClasses {

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static WovenLocksAttachment wovenLocksAttachment(ConfigurableListableBeanFactory beans) {
            return new WovenLocksAttachment(new DistributedLockedAdvisor(beans, 0));
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static DistributedLockedValidator distributedLockedValidator(
                ConfigurableListableBeanFactory beans, WovenLocksAttachment attachment) {
            return new DistributedLockedValidator(
                    beans, attachment.advisor(), true, () -> LockkeeperAutoConfiguration.isSwitchedOff(beans));
        }

        /**
         * Attaches the woven classes to this application before its first bean is made. The advisor is no bean, so that no
         * proxy is made for it.
         */
        record WovenLocksAttachment(DistributedLockedAdvisor advisor)
                implements BeanFactoryPostProcessor, DisposableBean {

            @Override
            public void postProcessBeanFactory(ConfigurableListableBeanFactory beans) {
                WovenLocks.attach((MethodInterceptor) advisor.getAdvice());
            }

            @Override
            public void destroy() {
                WovenLocks.detach((MethodInterceptor) advisor.getAdvice());
            }
        }
    }

    /**
     * Makes sure that beans are proxied at all. Spring Boot registers an auto-proxy creator only with
     * {@code spring.aop.auto}, and without one an annotated method would silently run without its lock.
     */
    static final class AutoProxyCreatorRegistrar implements ImportBeanDefinitionRegistrar {

        private final Environment environment;

        AutoProxyCreatorRegistrar(Environment environment) {
            this.environment = environment;
        }

        @Override
        public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
            AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
            if (environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true)) {
                AopConfigUtils.forceAutoProxyCreatorToUseClassProxying(registry);
            }
        }
    }
}
