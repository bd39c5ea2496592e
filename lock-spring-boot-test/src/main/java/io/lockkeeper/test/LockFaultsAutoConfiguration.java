/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import io.lockkeeper.LockListener;
import io.lockkeeper.store.LockStore;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;

/** Puts {@link LockFaults} between the template of the application under test and its store. */
@AutoConfiguration(beforeName = "io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration")
public final class LockFaultsAutoConfiguration {

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockFaults lockFaults() {
        return new LockFaults();
    }

    @Bean
    LockListener lockFaultsListener(LockFaults faults) {
        return faults.listener();
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static BeanPostProcessor lockFaultsStorePostProcessor(ObjectProvider<LockFaults> faults) {
        return new BeanPostProcessor() {
            @Override
            public Object postProcessAfterInitialization(Object bean, String beanName) {
                return bean instanceof LockStore store ? faults.getObject().watch(store) : bean;
            }
        };
    }
}
