/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.AcquisitionInterceptor;
import io.lockkeeper.interceptor.CommitGuard;
import java.util.Arrays;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Lets no transaction commit that must not without its lock. A bean, so that Boot adds it to its managers. */
final class TransactionGuard implements TransactionExecutionListener {

    /** Called as late as can be: an exception from here makes the manager roll back. */
    @Override
    public void beforeCommit(TransactionExecution transaction) {
        CommitGuard.ensureHeld();
        TransactionLocks.beforeCommit();
    }

    /** Adds the guard to every manager that does not have it: when it is made, or where it was made too early, at the start. */
    static final class Attachment implements BeanPostProcessor, SmartInitializingSingleton {

        private final ConfigurableListableBeanFactory beans;
        private final TransactionGuard guard;

        Attachment(ConfigurableListableBeanFactory beans, TransactionGuard guard) {
            this.beans = beans;
            this.guard = guard;
        }

        @Override
        public Object postProcessAfterInitialization(Object bean, String beanName) {
            if (bean instanceof ConfigurableTransactionManager manager
                    && manager.getTransactionExecutionListeners().stream()
                            .noneMatch(TransactionGuard.class::isInstance)) {
                manager.addListener(guard);
            }
            return bean;
        }

        @Override
        public void afterSingletonsInstantiated() {
            Arrays.stream(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(
                            beans, TransactionManager.class, false, false))
                    .filter(name -> beans.containsSingleton(name) || !beans.containsLocalBean(name))
                    .forEach(name -> postProcessAfterInitialization(beans.getBean(name), name));
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(TransactionSynchronizationManager.class)
    static class GuardConfiguration {

        @Bean
        @ConditionalOnMissingBean
        AcquisitionInterceptor acquisitionInterceptor(LockkeeperProperties properties) {
            return new TransactionLocks.Surroundings(properties.insideTransaction());
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static TransactionGuard lockTransactionGuard() {
            return new TransactionGuard();
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static Attachment lockTransactionGuardAttachment(
                ConfigurableListableBeanFactory beans, TransactionGuard guard) {
            return new Attachment(beans, guard);
        }
    }
}
