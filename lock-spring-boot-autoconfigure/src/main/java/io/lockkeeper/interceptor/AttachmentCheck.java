/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockOperations;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.SpringProxy;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.autoproxy.AbstractAdvisorAutoProxyCreator;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanFactory;

/** Finds beans that exist without their locks, and what is missing without which no bean has any. */
final class AttachmentCheck {

    private final ConfigurableListableBeanFactory beans;

    AttachmentCheck(ConfigurableListableBeanFactory beans) {
        this.beans = beans;
    }

    /** Returns whether a bean is there, and no call of it can ever be locked; false where that cannot be seen. */
    boolean isMissing(String name) {
        if (!beans.containsSingleton(name) || beans.isFactoryBean(name)) {
            return false;
        }
        Object bean = beans.getSingleton(name);
        return bean != null && !isAdvised(bean) && (bean instanceof Advised || wasProxied(name) == null);
    }

    /** Returns whether a bean is there, and locked. */
    boolean isAttached(String name) {
        return beans.containsSingleton(name) && !isMissing(name);
    }

    /** Returns the class of a bean in whose proxy a post-processor of the application may have put something of its own. */
    @Nullable
    Class<?> wasProxied(String name) {
        return beans.containsBeanDefinition(name)
                ? (Class<?>)
                        beans.getMergedBeanDefinition(name).getAttribute(AutoProxyUtils.ORIGINAL_TARGET_CLASS_ATTRIBUTE)
                : null;
    }

    private boolean isAdvised(@Nullable Object bean) {
        if (bean instanceof Advised advised) {
            return Arrays.stream(advised.getAdvisors()).anyMatch(DistributedLockedAdvisor.class::isInstance)
                    || isAdvised(AopProxyUtils.getSingletonTarget(bean));
        }
        // An opaque proxy keeps its advisors to itself.
        return bean instanceof SpringProxy;
    }

    /** Requires a bean that locks this many methods, and does not create it. */
    void requireOperations(int methods) {
        if (!exists(LockOperations.class)) {
            throw new LockingMissingException(
                    methods,
                    "there is no LockOperations bean.",
                    "Define a LockTemplate bean, or let the auto-configuration of Lockkeeper define it.");
        }
    }

    /** Requires what puts locks around this many methods, unless all beans that have them are there, and locked. */
    void requireProxies(int methods, BooleanSupplier allLocked) {
        if (!exists(DistributedLockedAdvisor.class)) {
            throw new LockingMissingException(
                    methods,
                    "there is no DistributedLockedAdvisor bean.",
                    "Do not remove or replace the bean 'distributedLockedAdvisor' of Lockkeeper's auto-configuration.");
        }
        boolean isProxying = !(beans instanceof AbstractBeanFactory factory)
                || factory.getBeanPostProcessors().stream().anyMatch(AbstractAdvisorAutoProxyCreator.class::isInstance);
        if (!isProxying && !allLocked.getAsBoolean()) {
            throw new LockingMissingException(
                    methods,
                    "no auto-proxy creator puts proxies around beans.",
                    "Do not remove or replace the bean '" + AopConfigUtils.AUTO_PROXY_CREATOR_BEAN_NAME
                            + "', or add @EnableAspectJAutoProxy.");
        }
    }

    /** Requires that annotated beans of parent contexts are locked by what is there: the start checks only this context. */
    void requireLockedParents(Predicate<@Nullable Class<?>> annotated) {
        BeanFactory parent = beans.getParentBeanFactory();
        while (parent instanceof ConfigurableListableBeanFactory above) {
            AttachmentCheck attachment = new AttachmentCheck(above);
            if (attachment.exists(DistributedLockedAdvisor.class)) {
                return;
            }
            List<String> unlocked = Arrays.stream(above.getBeanDefinitionNames())
                    .filter(name -> annotated.test(attachment.typeOf(name)) && !attachment.isAttached(name))
                    .toList();
            if (!unlocked.isEmpty()) {
                throw new LockingMissingException(
                        "The methods with @DistributedLocked of " + unlocked
                                + " would not be locked: these beans are in"
                                + " a parent context, in which Lockkeeper's auto-configuration does not run.",
                        "Define these beans in the context that has the auto-configuration, or let it run in the"
                                + " parent.");
            }
            parent = above.getParentBeanFactory();
        }
    }

    private @Nullable Class<?> typeOf(String name) {
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
}
