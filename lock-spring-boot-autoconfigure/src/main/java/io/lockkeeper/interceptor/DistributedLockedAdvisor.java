/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.lang.reflect.Method;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.validation.beanvalidation.MethodValidationInterceptor;

/**
 * Puts methods with {@link io.lockkeeper.annotation.DistributedLocked} under their locks. To be registered as a bean with
 * the infrastructure role, in an application that has an auto-proxy creator. It asks for the
 * {@link io.lockkeeper.LockOperations} bean at the first call, and not before.
 */
public final class DistributedLockedAdvisor extends StaticMethodMatcherPointcutAdvisor {

    private static final long serialVersionUID = 1L;

    private final transient ProxyCheck proxies;
    private final transient MethodLockSpecs specs;
    private final transient AnnotatedMethods methods = new AnnotatedMethods();

    /**
     * Creates the advisor.
     *
     * @param beans where the annotated beans live, and what locks them
     * @param order where it stands among the advisors of a bean: the smaller, the further outside
     */
    public DistributedLockedAdvisor(ConfigurableListableBeanFactory beans, int order) {
        this.proxies = new ProxyCheck(beans);
        this.specs = new MethodLockSpecs(beans);
        setAdvice(new DistributedLockedInterceptor(specs));
        setClassFilter(methods::isCandidate);
        setOrder(order);
    }

    @Override
    public boolean matches(Method method, Class<?> targetClass) {
        // A class that cannot be proxied would stop the start here; the validator says so together with all the rest.
        return methods.find(method, targetClass) != null && proxies.isPossible(targetClass);
    }

    AnnotatedMethods methods() {
        return methods;
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

    ProxyCheck proxies() {
        return proxies;
    }

    MethodLockSpecs specs() {
        return specs;
    }
}
