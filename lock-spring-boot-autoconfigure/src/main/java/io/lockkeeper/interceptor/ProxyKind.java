/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.io.Closeable;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.ProxyConfig;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.Aware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;
import org.springframework.util.ObjectUtils;

/** Foretells how beans are proxied: by their interfaces, or by a subclass. */
final class ProxyKind {

    private final ConfigurableListableBeanFactory beans;

    ProxyKind(ConfigurableListableBeanFactory beans) {
        this.beans = beans;
    }

    /** Returns whether beans of a class are proxied by their interfaces. */
    boolean isByInterfaces(Class<?> beanClass) {
        return beanClass.isInterface()
                || Proxy.isProxyClass(beanClass)
                || ClassUtils.isLambdaClass(beanClass)
                || (hasOwnInterface(beanClass) && !isClassProxyingForced());
    }

    /** Returns whether beans of a class can be proxied at all. */
    boolean isPossible(Class<?> beanClass) {
        return isExtensible(beanClass) || isByInterfaces(beanClass);
    }

    /** Returns whether a class can have a subclass. */
    static boolean isExtensible(Class<?> beanClass) {
        return !Modifier.isFinal(beanClass.getModifiers()) && !beanClass.isSealed();
    }

    /**
     * Returns whether a bean is proxied by its interfaces: as it is, where it exists, and else as it will be.
     *
     * @param name the bean's name
     * @param beanClass the bean's class, or that of its proxy
     */
    boolean isByInterfaces(String name, Class<?> beanClass) {
        Object existing = beans.containsSingleton(name) ? beans.getSingleton(name) : null;
        if (existing != null && AopUtils.isAopProxy(existing)) {
            return AopUtils.isJdkDynamicProxy(existing);
        }
        boolean isSubclassProxy = ClassUtils.getUserClass(beanClass) != beanClass;
        return !isSubclassProxy && isByInterfaces(beanClass) && !AutoProxyUtils.shouldProxyTargetClass(beans, name);
    }

    private boolean isClassProxyingForced() {
        String creator = AopConfigUtils.AUTO_PROXY_CREATOR_BEAN_NAME;
        return !beans.containsBean(creator)
                || beans.getBean(creator, ProxyConfig.class).isProxyTargetClass();
    }

    /** What Spring counts: interfaces with methods that are not mere callbacks of the container. */
    private static boolean hasOwnInterface(Class<?> beanClass) {
        return Arrays.stream(ClassUtils.getAllInterfacesForClass(beanClass))
                .anyMatch(type -> type.getMethods().length > 0 && !isCallback(type));
    }

    private static boolean isCallback(Class<?> type) {
        return type == InitializingBean.class
                || type == DisposableBean.class
                || type == AutoCloseable.class
                || type == Closeable.class
                || ObjectUtils.containsElement(type.getInterfaces(), Aware.class);
    }
}
