/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.io.Closeable;
import java.lang.reflect.Method;
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
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ObjectUtils;

/** Foretells how beans are proxied, by their interfaces or by a subclass, and finds methods that no such proxy locks. */
final class ProxyCheck {

    private final ConfigurableListableBeanFactory beans;

    ProxyCheck(ConfigurableListableBeanFactory beans) {
        this.beans = beans;
    }

    /** Returns whether beans of a class are proxied by their interfaces. */
    boolean isByInterfaces(Class<?> beanClass) {
        return beanClass.isInterface()
                || Proxy.isProxyClass(beanClass)
                || ClassUtils.isLambdaClass(beanClass)
                || (hasOwnInterface(beanClass) && !isClassProxyingForced());
    }

    /** Returns whether a bean is proxied by its interfaces: as it is, where it exists, and else as it will be. */
    boolean isByInterfaces(String name, Class<?> beanClass) {
        Object existing = beans.containsSingleton(name) ? beans.getSingleton(name) : null;
        if (existing != null && AopUtils.isAopProxy(existing)) {
            return AopUtils.isJdkDynamicProxy(existing);
        }
        boolean isSubclassProxy = ClassUtils.getUserClass(beanClass) != beanClass;
        return !isSubclassProxy && isByInterfaces(beanClass) && !AutoProxyUtils.shouldProxyTargetClass(beans, name);
    }

    /** Returns whether beans of a class can be proxied at all. */
    boolean isPossible(Class<?> beanClass) {
        return isExtensible(beanClass) || isByInterfaces(beanClass);
    }

    /** Returns whether a proxy that is a subclass of a class can override, or call, a method that is not private. */
    static boolean isVisible(Method method, Class<?> type) {
        Class<?> declaring = method.getDeclaringClass();
        return Modifier.isPublic(method.getModifiers())
                || Modifier.isProtected(method.getModifiers())
                || (declaring.getClassLoader() == type.getClassLoader()
                        && declaring.getPackageName().equals(type.getPackageName()));
    }

    /** Adds a fault where calls of a method cannot pass through the bean's proxy. */
    static void check(AnnotatedMethod annotated, boolean byInterfaces, Faults faults) {
        Method method = annotated.method();
        Class<?> type = annotated.targetClass();
        int modifiers = method.getModifiers();
        if (AnnotatedElementUtils.hasAnnotation(method, Bean.class)) {
            faults.add(
                    "is a @Bean method, which makes a bean and locks nothing when that is called",
                    "Write the annotation on the methods of the bean that it makes");
        } else if (Modifier.isPrivate(modifiers)) {
            faults.add("is private, and no proxy can lock it", "Make it public, and call it from another bean");
        } else if (Modifier.isStatic(modifiers)) {
            faults.add("is static, and no proxy can lock it", "Make it a method of the bean");
        } else if (!byInterfaces && !isExtensible(type)) {
            faults.add(
                    "belongs to a final or sealed class, of which no proxy can be made",
                    "Let " + type.getSimpleName() + " be extended");
        } else if (byInterfaces) {
            if (!method.getDeclaringClass().isInterface()
                    && AnnotatedMethod.implementedBy(method, type).findAny().isEmpty()) {
                faults.add(
                        "is in no interface of " + type.getSimpleName() + ", which is proxied by its interfaces",
                        "Declare it in one, or remove spring.aop.proxy-target-class=false");
            }
        } else if (Modifier.isFinal(modifiers)) {
            faults.add("is final, and no proxy can lock it", "Remove final");
        } else if (!isVisible(method, type)) {
            boolean sameName = method.getDeclaringClass().getPackageName().equals(type.getPackageName());
            faults.add(
                    "is only visible in its package, and the class of the bean, " + type.getName() + ", is in "
                            + (sameName ? "another class loader" : "another one") + ", where no proxy can lock it",
                    "Make it public or protected");
        }
    }

    private static boolean isExtensible(Class<?> beanClass) {
        return !Modifier.isFinal(beanClass.getModifiers()) && !beanClass.isSealed();
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
