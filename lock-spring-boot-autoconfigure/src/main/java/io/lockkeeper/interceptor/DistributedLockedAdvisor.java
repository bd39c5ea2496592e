/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import org.aopalliance.aop.Advice;
import org.springframework.aop.Pointcut;
import org.springframework.aop.support.AbstractPointcutAdvisor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

/**
 * Puts methods with {@link io.lockkeeper.annotation.DistributedLocked} under their locks. To be registered as a bean with
 * the infrastructure role, in an application that has an auto-proxy creator. It asks for the
 * {@link io.lockkeeper.LockOperations} bean at the first call, and not before.
 */
public final class DistributedLockedAdvisor extends AbstractPointcutAdvisor {

    private static final long serialVersionUID = 1L;

    private final transient ProxyKind proxies;
    private final transient MethodLockSpecs specs;
    private final transient Pointcut pointcut;
    private final transient Advice advice;

    /**
     * Creates the advisor.
     *
     * @param beans where the annotated beans live, and what locks them
     * @param order where it stands among the advisors of a bean: the smaller, the further outside
     */
    public DistributedLockedAdvisor(ConfigurableListableBeanFactory beans, int order) {
        this.proxies = new ProxyKind(beans);
        this.specs = new MethodLockSpecs(beans);
        this.pointcut = new DistributedLockedPointcut(proxies);
        this.advice = new DistributedLockedInterceptor(specs);
        setOrder(order);
    }

    @Override
    public Pointcut getPointcut() {
        return pointcut;
    }

    @Override
    public Advice getAdvice() {
        return advice;
    }

    ProxyKind proxies() {
        return proxies;
    }

    MethodLockSpecs specs() {
        return specs;
    }
}
