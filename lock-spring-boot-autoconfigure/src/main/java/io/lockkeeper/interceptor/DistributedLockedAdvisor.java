/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import org.aopalliance.aop.Advice;
import org.springframework.aop.Advisor;
import org.springframework.aop.Pointcut;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.AbstractPointcutAdvisor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.validation.beanvalidation.MethodValidationInterceptor;

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

    /**
     * Moves the validation of arguments, which Spring adds to a proxy that is there, from the inside of the lock to its
     * outside: an invalid call need not wait.
     */
    static void validateOutside(Advised proxy) {
        Advisor[] advisors = proxy.getAdvisors();
        int lock = 0;
        while (lock < advisors.length && !(advisors[lock] instanceof DistributedLockedAdvisor)) {
            lock++;
        }
        for (int i = lock + 1; i < advisors.length; i++) {
            if (advisors[i] instanceof DefaultPointcutAdvisor added
                    && added.getAdvice() instanceof MethodValidationInterceptor
                    && !proxy.isFrozen()) {
                proxy.removeAdvisor(i);
                proxy.addAdvisor(lock, added);
            }
        }
    }

    ProxyKind proxies() {
        return proxies;
    }

    MethodLockSpecs specs() {
        return specs;
    }
}
