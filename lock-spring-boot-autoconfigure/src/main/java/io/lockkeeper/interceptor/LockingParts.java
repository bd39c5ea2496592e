/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockOperations;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.autoproxy.AbstractAdvisorAutoProxyCreator;
import org.springframework.beans.factory.BeanFactory;
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

    /**
     * Requires that beans of parent contexts are locked by what is there, where the start checks only this context.
     *
     * @param annotated whether a class has annotated methods
     */
    void requireLockedParents(Predicate<@Nullable Class<?>> annotated) {
        BeanFactory parent = beans.getParentBeanFactory();
        while (parent instanceof ConfigurableListableBeanFactory above
                && !new LockingParts(above).exists(DistributedLockedAdvisor.class)) {
            AttachmentCheck attachment = new AttachmentCheck(above);
            List<String> unlocked = Arrays.stream(above.getBeanDefinitionNames())
                    .filter(name -> annotated.test(typeOf(above, name)) && !attachment.isAttached(name))
                    .toList();
            if (!unlocked.isEmpty()) {
                throw LockingMissingException.inParent(unlocked);
            }
            parent = above.getParentBeanFactory();
        }
    }

    private static @Nullable Class<?> typeOf(ConfigurableListableBeanFactory beans, String name) {
        try {
            return beans.getMergedBeanDefinition(name).isAbstract() ? null : beans.getType(name, false);
        } catch (RuntimeException | LinkageError unreadable) {
            // The parent has started without it.
            return null;
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
