/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.interceptor.GuardedBodies;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;

/** Lets no transaction commit inside a body that must not succeed without its lock, when the lock is lost. */
final class TransactionManagerPostProcessor implements BeanPostProcessor {

    private final TransactionExecutionListener rollbackOnLoss = new RollbackOnLoss();

    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        if (bean instanceof ConfigurableTransactionManager manager) {
            manager.addListener(rollbackOnLoss);
        }
        return bean;
    }

    private static final class RollbackOnLoss implements TransactionExecutionListener {

        /** Called as late as can be: an exception from here makes the manager roll back. */
        @Override
        public void beforeCommit(TransactionExecution transaction) {
            GuardedBodies.ensureHeld();
        }
    }
}
