/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.SpringProxy;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

/** Finds beans that exist without their locks. */
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
        return bean != null && !isAdvised(bean) && (bean instanceof Advised || !wasProxied(name));
    }

    /** Returns whether a bean is there, and locked. */
    boolean isAttached(String name) {
        return beans.containsSingleton(name) && !isMissing(name);
    }

    /** Whether there is a proxy, around which a post-processor of the application has put something of its own. */
    private boolean wasProxied(String name) {
        return beans.containsBeanDefinition(name)
                && beans.getMergedBeanDefinition(name).hasAttribute(AutoProxyUtils.ORIGINAL_TARGET_CLASS_ATTRIBUTE);
    }

    private boolean isAdvised(@Nullable Object bean) {
        if (bean instanceof Advised advised) {
            return Arrays.stream(advised.getAdvisors()).anyMatch(DistributedLockedAdvisor.class::isInstance)
                    || isAdvised(AopProxyUtils.getSingletonTarget(bean));
        }
        // An opaque proxy keeps its advisors to itself.
        return bean instanceof SpringProxy;
    }
}
