/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.LockSurroundings;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** What locks and transactions have to do with each other, in applications that have transactions. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(TransactionSynchronizationManager.class)
class TransactionConfiguration {

    @Bean
    @ConditionalOnMissingBean
    LockSurroundings lockSurroundings(LockkeeperProperties properties) {
        return new TransactionSurroundings(properties.insideTransaction());
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static TransactionGuard lockTransactionGuard() {
        return new TransactionGuard();
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static TransactionGuard.Attachment lockTransactionGuardAttachment(
            ConfigurableListableBeanFactory beans, TransactionGuard guard) {
        return new TransactionGuard.Attachment(beans, guard);
    }
}
