/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;

/**
 * Finds methods that no proxy can lock in beans of which the class is known only when they are made: lazy and prototype
 * beans that are declared by an interface, and what factories make.
 */
final class MadeBeansCheck {

    private final ConfigurableListableBeanFactory beans;
    private final ProxyKind proxies;
    private final AnnotatedMethods methods;
    private final Set<Class<?>> harmless = ConcurrentHashMap.newKeySet();

    MadeBeansCheck(ConfigurableListableBeanFactory beans, DistributedLockedAdvisor advisor) {
        this.beans = beans;
        this.proxies = advisor.proxies();
        this.methods = advisor.methods();
    }

    /** Returns whether the class of a bean is known when all singletons have been made. */
    boolean isSeenAtStart(String name) {
        return beans.containsBeanDefinition(name)
                && beans.getMergedBeanDefinition(name).isSingleton()
                && !beans.isFactoryBean(name);
    }

    /**
     * Checks a bean.
     *
     * @param bean the bean, in its proxy if it has one
     * @param name its name
     * @return what is wrong with its methods
     */
    List<DistributedLockedFault> check(Object bean, String name) {
        // Only methods of its interfaces can be called on a proxy that has nothing else.
        if (AopUtils.isJdkDynamicProxy(bean) || bean instanceof AopInfrastructureBean) {
            return List.of();
        }
        Class<?> type = ClassUtils.getUserClass(targetClass(bean, name));
        if (harmless.contains(type)) {
            return List.of();
        }
        List<DistributedLockedFault> found = methods(type).stream()
                .map(method -> check(method, bean, name))
                .flatMap(Collection::stream)
                .toList();
        if (found.isEmpty()) {
            harmless.add(type);
        }
        return found;
    }

    private List<DistributedLockedFault> check(AnnotatedMethod method, Object bean, String name) {
        Faults faults = new Faults(method);
        boolean byInterfaces = !AopUtils.isAopProxy(bean) && proxies.isByInterfaces(name, method.targetClass());
        MethodCheck.requireProxy(method, byInterfaces, faults);
        return faults.found();
    }

    private Collection<AnnotatedMethod> methods(Class<?> type) {
        return methods.isCandidate(type) ? DistributedLockedValidator.annotatedMethods(type) : List.of();
    }

    /** A post-processor of the application may have put something of its own around the proxy. */
    private Class<?> targetClass(Object bean, String name) {
        Object proxied = !AopUtils.isAopProxy(bean) && beans.containsBeanDefinition(name)
                ? beans.getMergedBeanDefinition(name).getAttribute(AutoProxyUtils.ORIGINAL_TARGET_CLASS_ATTRIBUTE)
                : null;
        return proxied instanceof Class<?> type ? type : AopUtils.getTargetClass(bean);
    }
}
