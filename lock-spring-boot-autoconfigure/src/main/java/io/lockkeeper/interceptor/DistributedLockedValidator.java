package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;

/**
 * Checks every annotated method of every bean when the application starts, those of lazy and prototype beans included,
 * and creates no bean for it. All faults of all methods come in one exception.
 */
public final class DistributedLockedValidator implements SmartInitializingSingleton {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

    private final ConfigurableListableBeanFactory beans;
    private final MethodLockSpecs specs;
    private final ProxyKind proxies;

    /**
     * Creates the validator.
     *
     * @param beans whose beans are checked
     * @param advisor under which they run
     */
    public DistributedLockedValidator(ConfigurableListableBeanFactory beans, DistributedLockedAdvisor advisor) {
        this.beans = beans;
        this.specs = advisor.specs();
        this.proxies = advisor.proxies();
    }

    /**
     * Checks the beans.
     *
     * @throws DistributedLockedConfigurationException if a method cannot work as it is written
     */
    @Override
    public void afterSingletonsInstantiated() {
        Set<BeanType> types = new LinkedHashSet<>();
        for (String name : beans.getBeanDefinitionNames()) {
            BeanType type = typeOf(name);
            if (type != null && AnnotationUtils.isCandidateClass(type.type(), DistributedLocked.class)) {
                types.add(type);
            }
        }
        Set<DistributedLockedFault> faults = new HashSet<>();
        types.forEach(type -> faults.addAll(check(type)));
        if (!faults.isEmpty()) {
            throw new DistributedLockedConfigurationException(faults.stream()
                    .sorted(Comparator.comparing(DistributedLockedFault::place)
                            .thenComparing(DistributedLockedFault::problem))
                    .toList());
        }
    }

    private List<DistributedLockedFault> check(BeanType bean) {
        List<DistributedLockedFault> found = new ArrayList<>(0);
        for (AnnotatedMethod method : annotatedMethods(bean.type()).values()) {
            Faults faults = new Faults(method);
            ProxyCheck.check(method, bean.isByInterfaces(), faults);
            found.addAll(faults.found());
            found.addAll(specs.check(method, bean.isExact()));
        }
        return found;
    }

    private static Map<Method, AnnotatedMethod> annotatedMethods(Class<?> type) {
        try {
            return MethodIntrospector.selectMethods(type, (MethodIntrospector.MetadataLookup<AnnotatedMethod>)
                    method -> AnnotatedMethod.find(method, type));
        } catch (LinkageError unreadable) {
            // Such a bean is usable as long as nobody asks for all of its methods.
            log.debug("The methods of {} could not be read", type, unreadable);
            return Map.of();
        }
    }

    private @Nullable BeanType typeOf(String name) {
        try {
            BeanDefinition definition = beans.getMergedBeanDefinition(name);
            if (definition.isAbstract()) {
                return null;
            }
            boolean exists = beans.containsSingleton(name);
            Class<?> type = exists ? AutoProxyUtils.determineTargetClass(beans, name) : beans.getType(name, false);
            if (type == null) {
                return null;
            }
            boolean exact = exists || definition.getFactoryMethodName() == null;
            boolean opaque = type.isInterface() || Proxy.isProxyClass(type);
            return new BeanType(ClassUtils.getUserClass(type), exact && !opaque, proxies.isByInterfaces(name, type));
        } catch (RuntimeException | LinkageError unreadable) {
            log.debug("The type of bean '{}' could not be found", name, unreadable);
            return null;
        }
    }

    /**
     * The class of a bean.
     *
     * @param isExact whether the bean is of this class, and not perhaps of one below it
     * @param isByInterfaces whether the bean is proxied by its interfaces
     */
    private record BeanType(Class<?> type, boolean isExact, boolean isByInterfaces) {}
}
