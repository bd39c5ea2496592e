/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockOperations;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.aopalliance.aop.Advice;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.Advisor;
import org.springframework.aop.Pointcut;
import org.springframework.aop.PointcutAdvisor;
import org.springframework.aop.SpringProxy;
import org.springframework.aop.TargetSource;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.ProxyConfig;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.framework.ProxyProcessorSupport;
import org.springframework.aop.framework.autoproxy.AbstractAdvisorAutoProxyCreator;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.framework.autoproxy.ProxyCreationContext;
import org.springframework.aop.interceptor.AsyncExecutionInterceptor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.target.AbstractBeanFactoryBasedTargetSource;
import org.springframework.aop.target.HotSwappableTargetSource;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Conventions;
import org.springframework.core.DecoratingProxy;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** Foretells how beans are proxied, and finds methods that no such proxy locks, and beans that exist without locks. */
record ProxyCheck(ConfigurableListableBeanFactory beans) {

    /** What the {@code @Proxyable} of Spring 7 leaves in the definition of a bean. */
    private static final String EXPOSED_INTERFACES =
            Conventions.getQualifiedAttributeName(AutoProxyUtils.class, "exposedInterfaces");

    /** Returns how a bean of this context was defined; an empty definition where it was handed in, or is in another. */
    RootBeanDefinition definition(String name) {
        return beans.containsBeanDefinition(name)
                ? (RootBeanDefinition) beans.getMergedBeanDefinition(name)
                : new RootBeanDefinition();
    }

    /** Returns whether a bean is proxied by its interfaces: as it is, where it exists, and else as it will be. */
    boolean isByInterfaces(String name, Class<?> beanClass) {
        Object existing = beans.containsSingleton(name) && !beans.isFactoryBean(name) ? beans.getSingleton(name) : null;
        if (existing != null && AopUtils.isAopProxy(existing)) {
            return AopUtils.isJdkDynamicProxy(existing);
        }
        boolean isSubclassProxy = ClassUtils.getUserClass(beanClass) != beanClass;
        if (isSubclassProxy || AutoProxyUtils.shouldProxyTargetClass(beans, name)) {
            return false;
        }
        boolean isAsked = definition(name).hasAttribute(EXPOSED_INTERFACES);
        return beanClass.isInterface()
                || Proxy.isProxyClass(beanClass)
                || ClassUtils.isLambdaClass(beanClass)
                || ((isAsked || !isClassProxyingForced()) && new Interfaces().hasOwn(beanClass));
    }

    /** Returns whether the bean of which advisors are sought can have a proxy; else it has one already. */
    boolean isPossible(Class<?> beanClass) {
        String name = ProxyCreationContext.getCurrentProxiedBeanName();
        return name == null || isExtensible(beanClass) || isByInterfaces(name, beanClass);
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
                    "belongs to a "
                            + (isFinal(type) ? "final or sealed class" : "class with private constructors alone")
                            + ", of which no proxy can be made",
                    remedy(type));
        } else if (byInterfaces) {
            if (!method.getDeclaringClass().isInterface()
                    && AnnotatedMethod.implementedBy(method, type).findAny().isEmpty()) {
                faults.add(
                        "is in no interface of " + type.getSimpleName() + ", which is proxied by its interfaces",
                        "Declare it in one, or remove spring.aop.proxy-target-class=false or @Proxyable");
            }
        } else if (Modifier.isFinal(modifiers)) {
            faults.add("is final, and no proxy can lock it", "Remove final");
        } else if (ReflectionUtils.isEqualsMethod(method) || ReflectionUtils.isHashCodeMethod(method)) {
            faults.add("is answered by the proxy itself, without a lock", "Write the annotation on another method");
        } else if (!isVisible(method, type)) {
            boolean sameName = method.getDeclaringClass().getPackageName().equals(type.getPackageName());
            faults.add(
                    "is only visible in its package, and the class of the bean, " + type.getName() + ", is in "
                            + (sameName ? "another class loader" : "another one") + ", where no proxy can lock it",
                    "Make it public or protected");
        }
    }

    private static String remedy(Class<?> type) {
        if (type.isRecord() || type.isEnum()) {
            return "Write " + type.getSimpleName() + " as a class that can be extended: a record and an enum cannot";
        }
        return isFinal(type)
                ? "Let " + type.getSimpleName() + " be extended"
                : "Give " + type.getSimpleName() + " one that is not private";
    }

    /** Also where the class is abstract: a bean is of another one below it. */
    static boolean isExtensible(Class<?> beanClass) {
        return Modifier.isAbstract(beanClass.getModifiers())
                || (!isFinal(beanClass)
                        && Arrays.stream(beanClass.getDeclaredConstructors())
                                .anyMatch(constructor -> !Modifier.isPrivate(constructor.getModifiers())));
    }

    private static boolean isFinal(Class<?> beanClass) {
        return Modifier.isFinal(beanClass.getModifiers()) || beanClass.isSealed();
    }

    /** Returns whether Spring puts no proxy around any bean of a class, because it takes part in making proxies. */
    static boolean isNeverProxied(Class<?> beanClass) {
        return AopInfrastructureBean.class.isAssignableFrom(beanClass)
                || Advice.class.isAssignableFrom(beanClass)
                || Advisor.class.isAssignableFrom(beanClass)
                || Pointcut.class.isAssignableFrom(beanClass)
                || MergedAnnotations.from(beanClass, SearchStrategy.TYPE_HIERARCHY)
                        .isPresent("org.aspectj.lang.annotation.Aspect");
    }

    private boolean isClassProxyingForced() {
        String creator = AopConfigUtils.AUTO_PROXY_CREATOR_BEAN_NAME;
        return !beans.containsBean(creator)
                || beans.getBean(creator, ProxyConfig.class).isProxyTargetClass();
    }

    /** Chooses as Spring's auto-proxy creators do. */
    private static final class Interfaces extends ProxyProcessorSupport {

        private static final long serialVersionUID = 1L;

        boolean hasOwn(Class<?> beanClass) {
            ProxyFactory chosen = new ProxyFactory();
            evaluateProxyInterfaces(beanClass, chosen);
            return !chosen.isProxyTargetClass();
        }
    }

    /** Returns whether a bean is there, and no call of it can ever be locked; false where that cannot be seen. */
    boolean isMissing(String name) {
        Object bean = existing(name);
        return bean != null && isMissing(name, bean);
    }

    /** Returns whether no call of a bean, which is no mock, can ever be locked; false where that cannot be seen. */
    boolean isMissing(String name, Object bean) {
        if (isScoped(bean) || isAdvised(bean)) {
            return false;
        }
        Class<?> proxied = wasProxied(name, bean);
        return (bean instanceof Advised || proxied == null || proxied == bean.getClass())
                && !isMock(Objects.requireNonNullElse(target(bean), bean));
    }

    /** Returns whether a bean that is not there yet will be made as it is, without post-processors that lock it. */
    boolean isSkipped(String name) {
        return existing(name) == null && isSynthetic(name);
    }

    boolean isSynthetic(String name) {
        return isSynthetic(definition(name));
    }

    /** Scoped proxies may be, and pass calls on to beans that are not. */
    static boolean isSynthetic(RootBeanDefinition definition) {
        return definition.isSynthetic() && definition.getDecoratedDefinition() == null;
    }

    /** Returns whether a proxy passes calls to the bean of a scope, which has its lock itself. */
    static boolean isScoped(Object bean) {
        return bean instanceof AopInfrastructureBean && bean instanceof SpringProxy;
    }

    /** Returns a bean without making it: the product of a factory is sure to be there where another bean has it. */
    private @Nullable Object existing(String name) {
        if (!beans.containsSingleton(name)) {
            return null;
        }
        if (!beans.isFactoryBean(name)) {
            return beans.getSingleton(name);
        }
        Object product =
                beans.isSingleton(name) && beans.getDependentBeans(name).length > 0 ? beans.getBean(name) : null;
        // Spring has an object for null.
        return Objects.equals(product, null) ? null : product;
    }

    /** Returns a proxy and those inside of it, the outermost first; nothing for what is no proxy. */
    static Stream<Advised> layers(Object bean) {
        return Stream.iterate(bean, Advised.class::isInstance, AopProxyUtils::getSingletonTarget)
                .map(Advised.class::cast);
    }

    /** Returns what hands bodies to other threads inside of the lock that a proxy puts around them. */
    static List<Pointcut> threadsInside(Advised proxy) {
        return layers(proxy)
                .flatMap(layer -> Arrays.stream(layer.getAdvisors()))
                .dropWhile(advisor -> !(advisor instanceof DistributedLockedAdvisor))
                .filter(advisor ->
                        advisor.getAdvice() instanceof AsyncExecutionInterceptor && advisor instanceof PointcutAdvisor)
                .map(advisor -> ((PointcutAdvisor) advisor).getPointcut())
                .toList();
    }

    /** Adds a fault where another thread runs a body inside of its lock, and the result does not tell of its end. */
    static void checkThreads(AnnotatedMethod annotated, List<Pointcut> threads, Faults faults) {
        Class<?> type = annotated.targetClass();
        Method method = annotated.method();
        if (threads.stream()
                        .anyMatch(each -> each.getClassFilter().matches(type)
                                && each.getMethodMatcher().matches(method, type))
                && !CompletionStage.class.isAssignableFrom(method.getReturnType())) {
            faults.add(
                    "runs on another thread than its lock, which is released before: its @Async stands inside",
                    "Remove the order and the mode of @EnableAsync, or return a CompletableFuture");
        }
    }

    boolean isAttached(String name) {
        return beans.containsSingleton(name) && !isMissing(name);
    }

    /**
     * Returns the class of a bean in whose proxy a post-processor of the application may have put its own advice; null
     * where there was none, or only that of the factory which has made the bean.
     */
    @Nullable
    Class<?> wasProxied(String name, @Nullable Object bean) {
        return definition(name).getAttribute(AutoProxyUtils.ORIGINAL_TARGET_CLASS_ATTRIBUTE) instanceof Class<?> type
                        && (bean instanceof FactoryBean || !FactoryBean.class.isAssignableFrom(type))
                ? type
                : null;
    }

    /** Returns the class behind a proxy by interfaces, opaque ones included; null for anything else. */
    static @Nullable Class<?> decoratedClass(Object bean) {
        return AopUtils.isJdkDynamicProxy(bean) && bean instanceof DecoratingProxy proxy
                ? proxy.getDecoratedClass()
                : null;
    }

    /** Says from where a proxy gets objects which are no beans that Spring knows of; null where it does not. */
    static @Nullable String unknownTarget(Object proxy) {
        if (!(proxy instanceof Advised advised)) {
            return "an opaque proxy by interfaces, unless its target";
        }
        TargetSource source = advised.getTargetSource();
        Class<?> type = source.getTargetClass();
        boolean isKnown = source.isStatic()
                || source instanceof AbstractBeanFactoryBasedTargetSource
                || (type != null && SpringProxy.class.isAssignableFrom(type));
        return isKnown
                ? null
                : "a proxy by interfaces that gets its target from "
                        + source.getClass().getName() + ", unless that";
    }

    /** Returns the one object behind a proxy, which may be a proxy too; null where there is none, or not one alone. */
    static @Nullable Object target(Object proxy) {
        return proxy instanceof Advised advised && advised.getTargetSource() instanceof HotSwappableTargetSource source
                ? source.getTarget()
                : AopProxyUtils.getSingletonTarget(proxy);
    }

    private boolean isAdvised(@Nullable Object bean) {
        if (bean instanceof Advised advised) {
            return Arrays.stream(advised.getAdvisors()).anyMatch(DistributedLockedAdvisor.class::isInstance)
                    || isAdvised(target(advised));
        }
        // An opaque proxy keeps its advisors to itself.
        return bean instanceof SpringProxy;
    }

    /** Returns whether an object is a mock, whose methods need no lock. Mockito is there in tests only. */
    boolean isMock(@Nullable Object bean) {
        return isMock(bean, beans.getBeanClassLoader());
    }

    static boolean isMock(@Nullable Object object, @Nullable ClassLoader loader) {
        try {
            Class<?> mockito = ClassUtils.forName("org.mockito.Mockito", loader);
            Method details = mockito.getMethod("mockingDetails", Object.class);
            return (boolean) details.getReturnType().getMethod("isMock").invoke(details.invoke(null, object));
        } catch (ReflectiveOperationException | LinkageError absent) {
            return false;
        }
    }

    boolean isProxying() {
        return ((AbstractBeanFactory) beans)
                .getBeanPostProcessors().stream().anyMatch(AbstractAdvisorAutoProxyCreator.class::isInstance);
    }

    /** Returns whether there is something to lock with; what a method has made may be null, and hides what is above. */
    boolean isLockingPossible() {
        String[] names = beans.getBeanNamesForType(LockOperations.class, true, false);
        return names.length == 0
                ? beans.getParentBeanFactory() instanceof ConfigurableListableBeanFactory above
                        && new ProxyCheck(above).isLockingPossible()
                : Arrays.stream(names)
                        .anyMatch(name -> !beans.containsSingleton(name)
                                || beans.isFactoryBean(name)
                                || beans.getSingleton(name) instanceof LockOperations);
    }

    boolean exists(Class<?> type) {
        return BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, type, true, false).length > 0;
    }
}
