/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockOperations;
import java.util.function.BooleanSupplier;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.autoproxy.AbstractAdvisorAutoProxyCreator;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanFactory;

/** What an application must have for any annotated method to be locked. */
final class LockingParts {

    private final ConfigurableListableBeanFactory beans;

    LockingParts(ConfigurableListableBeanFactory beans) {
        this.beans = beans;
    }

    /**
     * Requires a bean that locks, and does not create it.
     *
     * @param methods number of annotated methods
     */
    void requireOperations(int methods) {
        if (!exists(LockOperations.class)) {
            throw LockingMissingException.noOperations(methods);
        }
    }

    /**
     * Requires what puts locks around beans.
     *
     * @param methods number of annotated methods
     * @param allLocked whether all beans with such methods are there, and locked
     */
    void requireProxies(int methods, BooleanSupplier allLocked) {
        if (!exists(DistributedLockedAdvisor.class)) {
            throw LockingMissingException.noAdvisor(methods);
        }
        if (!isProxying() && !allLocked.getAsBoolean()) {
            throw LockingMissingException.noProxies(methods, AopConfigUtils.AUTO_PROXY_CREATOR_BEAN_NAME);
        }
    }

    private boolean exists(Class<?> type) {
        return BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, type, true, false).length > 0;
    }

    private boolean isProxying() {
        return !(beans instanceof AbstractBeanFactory factory)
                || factory.getBeanPostProcessors().stream().anyMatch(AbstractAdvisorAutoProxyCreator.class::isInstance);
    }
}
