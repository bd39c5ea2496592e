/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.interceptor.DistributedLockedAdvisor;
import io.lockkeeper.interceptor.DistributedLockedValidator;
import io.lockkeeper.weaving.WovenLocks;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;

/** Annotated methods are locked by code that is woven into their classes. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnSwitch(Switch.ASPECTJ)
class AspectjModeConfiguration {

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static WovenLocksAttachment wovenLocksAttachment() {
        return new WovenLocksAttachment();
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static DistributedLockedValidator distributedLockedValidator(
            ConfigurableListableBeanFactory beans, WovenLocksAttachment attachment) {
        return DistributedLockedValidator.ofWovenClasses(
                beans, attachment.advisor(beans), () -> LockkeeperAutoConfiguration.isSwitchedOff(beans));
    }

    /** Attaches the woven classes to this application before its first bean is made. */
    static final class WovenLocksAttachment implements BeanFactoryPostProcessor, DisposableBean {

        private @Nullable DistributedLockedAdvisor advisor;

        @Override
        public void postProcessBeanFactory(ConfigurableListableBeanFactory beans) {
            WovenLocks.attach((MethodInterceptor) advisor(beans).getAdvice());
        }

        /** Returns what knows the annotated methods; not a bean, so that no proxy is made for it. */
        DistributedLockedAdvisor advisor(ConfigurableListableBeanFactory beans) {
            DistributedLockedAdvisor known = advisor;
            if (known == null) {
                known = new DistributedLockedAdvisor(beans, 0);
                advisor = known;
            }
            return known;
        }

        @Override
        public void destroy() {
            if (advisor != null) {
                WovenLocks.detach((MethodInterceptor) advisor.getAdvice());
            }
        }
    }
}
