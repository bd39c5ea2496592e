/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.io.IOException;
import java.io.Serializable;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodClassKey;
import org.springframework.core.annotation.AnnotationConfigurationException;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.type.classreading.SimpleMetadataReaderFactory;
import org.springframework.util.ReflectionUtils;
import org.springframework.validation.beanvalidation.MethodValidationInterceptor;

/**
 * Puts methods with {@link io.lockkeeper.annotation.DistributedLocked} under their locks. To be registered as a bean
 * with the infrastructure role, in an application that has an auto-proxy creator. It asks for the
 * {@link io.lockkeeper.LockOperations} bean at the first call, and not before.
 */
public final class DistributedLockedAdvisor extends StaticMethodMatcherPointcutAdvisor {

    private static final long serialVersionUID = 1L;

    private final transient ProxyCheck proxies;
    private final transient MethodLockSpecs specs;

    /** Absence included, so that beans without the annotation cost little. */
    private final transient Map<MethodClassKey, Boolean> methods = new ConcurrentHashMap<>();

    private final transient Map<Class<?>, Boolean> candidates = new ConcurrentHashMap<>();

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
        setClassFilter(this::isCandidate);
        setOrder(order);
    }

    @Override
    public boolean matches(Method method, Class<?> targetClass) {
        MethodClassKey key = new MethodClassKey(method, targetClass);
        Boolean isAnnotated = methods.get(key);
        if (isAnnotated == null) {
            isAnnotated = AnnotatedMethod.find(method, targetClass) != null;
            methods.put(key, isAnnotated);
        }
        // A class that cannot be proxied would stop the start here; the validator says so together with all the rest.
        return isAnnotated && proxies.isPossible(targetClass);
    }

    /** Moves the validation of arguments, which Spring adds inside of the lock: an invalid call need not wait. */
    static void validateOutside(Advised proxy) {
        Advisor[] advisors = proxy.getAdvisors();
        int lock = -1;
        for (int i = 0; i < advisors.length; i++) {
            if (lock < 0 && advisors[i] instanceof DistributedLockedAdvisor) {
                lock = i;
            } else if (lock >= 0
                    && advisors[i] instanceof DefaultPointcutAdvisor added
                    && added.getAdvice() instanceof MethodValidationInterceptor
                    && !proxy.isFrozen()) {
                proxy.removeAdvisor(i);
                proxy.addAdvisor(lock, added);
            }
        }
    }

    /** A bean that is written with its session finds the advisor again in the application that reads it. */
    private Object writeReplace() {
        return new Written(proxies.beans());
    }

    private record Written(BeanFactory beans) implements Serializable {

        private Object readResolve() {
            return beans.getBean(DistributedLockedAdvisor.class);
        }
    }

    MethodLockSpecs specs() {
        return specs;
    }

    boolean isCandidate(Class<?> type) {
        Boolean known = candidates.get(type);
        if (known == null) {
            Class<?> parent = type.getSuperclass();
            known = isDeclaredIn(type) || (parent != null && isCandidate(parent));
            // A loop: each lambda costs the start a class.
            for (Class<?> each : type.getInterfaces()) {
                known |= isCandidate(each);
            }
            candidates.put(type, known);
        }
        return known;
    }

    private static boolean isDeclaredIn(Class<?> type) {
        if (!AnnotationUtils.isCandidateClass(type, DistributedLocked.class)) {
            return false;
        }
        try {
            return isLocking(type)
                    || Arrays.stream(ReflectionUtils.getDeclaredMethods(type))
                            .anyMatch(DistributedLockedAdvisor::isLocking);
        } catch (AnnotationConfigurationException contradiction) {
            // The check of its methods says so.
            return true;
        } catch (IllegalStateException | LinkageError unreadable) {
            return isWrittenIn(type);
        }
    }

    /** Looks into the file of a class that names one which is not there: without locks it is of use all the same. */
    private static boolean isWrittenIn(Class<?> type) {
        try {
            return new SimpleMetadataReaderFactory(type.getClassLoader())
                    .getMetadataReader(type.getName())
                    .getAnnotationMetadata()
                    .hasAnnotatedMethods(DistributedLocked.class.getName());
        } catch (IOException absent) {
            return true;
        }
    }

    private static boolean isLocking(AnnotatedElement element) {
        return MergedAnnotations.from(element.getDeclaredAnnotations()).isPresent(DistributedLocked.class);
    }
}
