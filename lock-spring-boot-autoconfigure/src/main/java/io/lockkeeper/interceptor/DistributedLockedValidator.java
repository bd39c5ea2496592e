/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;

/**
 * Checks every annotated method of every bean when the application starts, those of lazy and prototype beans included,
 * and creates no bean for it. All faults of all methods come in one exception.
 */
public final class DistributedLockedValidator
        implements SmartInitializingSingleton,
                BeanFactoryPostProcessor,
                BeanPostProcessor,
                ApplicationListener<ContextRefreshedEvent> {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

    private final ConfigurableListableBeanFactory beans;
    private final DistributedLockedAdvisor advisor;
    private final MethodLockSpecs specs;
    private final ProxyKind proxies;
    private final LockingParts parts;
    private final MadeBeansCheck made;
    private final @Nullable MethodTransactions transactions;
    private final Set<DistributedLockedFault> madeWrong = ConcurrentHashMap.newKeySet();
    private final BooleanSupplier switchedOff;
    private final @Nullable AttachmentCheck attachment;
    private Set<String> given = Set.of();
    private volatile boolean started;
    private volatile int methods;

    private DistributedLockedValidator(
            ConfigurableListableBeanFactory beans,
            DistributedLockedAdvisor advisor,
            BooleanSupplier switchedOff,
            @Nullable AttachmentCheck attachment) {
        this.beans = beans;
        this.advisor = advisor;
        this.parts = new LockingParts(beans);
        this.switchedOff = switchedOff;
        this.specs = advisor.specs();
        this.proxies = advisor.proxies();
        this.made = new MadeBeansCheck(beans, advisor);
        this.attachment = attachment;
        this.transactions = MethodTransactions.in(beans);
    }

    /**
     * Creates a validator for beans that are locked by proxies.
     *
     * @param beans whose beans are checked
     * @param advisor under which they run
     * @param switchedOff whether nothing is to be locked, so that nothing is needed for it
     */
    public static DistributedLockedValidator ofProxies(
            ConfigurableListableBeanFactory beans, DistributedLockedAdvisor advisor, BooleanSupplier switchedOff) {
        return new DistributedLockedValidator(beans, advisor, switchedOff, new AttachmentCheck(beans));
    }

    /**
     * Creates a validator for beans whose classes have the locks woven in.
     *
     * @param beans whose beans are checked
     * @param advisor whose interceptor was woven in
     * @param switchedOff whether nothing is to be locked, so that nothing is needed for it
     */
    public static DistributedLockedValidator ofWovenClasses(
            ConfigurableListableBeanFactory beans, DistributedLockedAdvisor advisor, BooleanSupplier switchedOff) {
        return new DistributedLockedValidator(beans, advisor, switchedOff, null);
    }

    /** Remembers which objects were handed in from outside, such as the mocks of a test: nobody could proxy them. */
    @Override
    public void postProcessBeanFactory(ConfigurableListableBeanFactory factory) {
        given = Set.of(factory.getSingletonNames());
    }

    /**
     * Checks the beans.
     *
     * @throws DistributedLockedConfigurationException if a method cannot work as it is written
     * @throws LockingMissingException if something is missing without which no method is locked
     */
    @Override
    public void afterSingletonsInstantiated() {
        Map<BeanType, List<String>> types = new LinkedHashMap<>();
        for (String name : beans.getBeanDefinitionNames()) {
            BeanType type = typeOf(name);
            if (type != null && advisor.methods().isCandidate(type.type())) {
                types.computeIfAbsent(type, unknown -> new ArrayList<>(1)).add(name);
            }
        }
        Map<BeanType, Collection<AnnotatedMethod>> methods = new LinkedHashMap<>();
        types.keySet().forEach(type -> methods.put(type, annotatedMethods(type.type())));
        methods.values().forEach(each -> each.forEach(specs::announce));
        this.methods = methods.values().stream().mapToInt(Collection::size).sum();
        boolean isOff = switchedOff.getAsBoolean();
        if (!isOff) {
            requireParts(types, methods);
        }
        started = true;
        Set<DistributedLockedFault> faults = new HashSet<>(madeWrong);
        types.forEach((type, names) -> faults.addAll(check(type, names, methods.getOrDefault(type, List.of()), isOff)));
        if (attachment != null) {
            warnOfGivenObjects(attachment);
        }
        if (!faults.isEmpty()) {
            throw new DistributedLockedConfigurationException(faults.stream()
                    .sorted(Comparator.comparing(DistributedLockedFault::place)
                            .thenComparing(DistributedLockedFault::problem))
                    .toList());
        }
    }

    /** Returns the number of annotated methods that were found at the start; those of beans of one class count once. */
    public int methods() {
        return methods;
    }

    /**
     * Checks a bean of which the class could not be known before it was made.
     *
     * @throws DistributedLockedConfigurationException if the application has started, and a method of the bean cannot work
     *     as it is written
     */
    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        if (started && transactions != null) {
            transactions.made(bean);
        }
        if (attachment != null && bean instanceof Advised proxy) {
            DistributedLockedAdvisor.validateOutside(proxy);
        }
        if (attachment == null || (!started && made.isSeenAtStart(beanName))) {
            return bean;
        }
        List<DistributedLockedFault> faults = made.check(bean, beanName);
        if (!started) {
            madeWrong.addAll(faults);
        } else if (!faults.isEmpty()) {
            throw new DistributedLockedConfigurationException(faults);
        }
        return bean;
    }

    /** Checks the beans of a child context that has no check of its own: the advisor of this context locks them. */
    @Override
    public void onApplicationEvent(ContextRefreshedEvent event) {
        if (attachment != null
                && event.getApplicationContext() instanceof ConfigurableApplicationContext context
                && context.getBeanFactory() != beans
                && context.getBeanNamesForType(DistributedLockedValidator.class, false, false).length == 0) {
            ofProxies(context.getBeanFactory(), advisor, switchedOff).afterSingletonsInstantiated();
        }
    }

    private void requireParts(Map<BeanType, List<String>> types, Map<BeanType, Collection<AnnotatedMethod>> methods) {
        if (attachment != null) {
            parts.requireLockedParents(this::hasAnnotatedMethods);
        }
        int count = methods.values().stream().mapToInt(Collection::size).sum();
        if (count == 0) {
            return;
        }
        parts.requireOperations(count);
        AttachmentCheck proxied = attachment;
        if (proxied != null) {
            parts.requireProxies(count, () -> types.entrySet().stream()
                    .filter(each ->
                            !methods.getOrDefault(each.getKey(), List.of()).isEmpty())
                    .flatMap(each -> each.getValue().stream())
                    .allMatch(proxied::isAttached));
        } else if (methods.values().stream()
                .flatMap(Collection::stream)
                .noneMatch(method -> WeavingCheck.isWoven(method.method()))) {
            throw LockingMissingException.noWeaver(count);
        }
    }

    private List<DistributedLockedFault> check(
            BeanType bean, List<String> names, Collection<AnnotatedMethod> methods, boolean isOff) {
        List<DistributedLockedFault> found = new ArrayList<>(0);
        // The annotation itself cannot be there, but one that is composed of it may forget to say where it belongs.
        if (MergedAnnotations.from(bean.type(), SearchStrategy.TYPE_HIERARCHY).isPresent(DistributedLocked.class)) {
            found.add(DistributedLockedFault.ofClass(
                    bean.type(), "has the annotation on the class, where it locks nothing", "Write it on the methods"));
        }
        List<String> unlocked = methods.isEmpty() || isOff ? List.of() : unlocked(names);
        for (AnnotatedMethod method : methods) {
            Faults faults = new Faults(method);
            if (attachment != null) {
                MethodCheck.requireProxy(method, bean.isByInterfaces(), faults);
                MethodCheck.warnOfCallback(method);
            } else if (!isOff && (bean.isExact() || !bean.type().isInterface())) {
                WeavingCheck.check(method, faults);
            }
            if (transactions != null && !isOff) {
                transactions.check(method, faults);
            }
            if (faults.isEmpty() && !unlocked.isEmpty()) {
                boolean own = beans.getBeanNamesForType(DistributedLockedAdvisor.class, false, false).length > 0;
                faults.add(
                        "",
                        "is not locked, because the bean " + unlocked
                                + (own
                                        ? " was made before locks could be put around it"
                                        : " is in a child context, whose auto-proxy creator does not look for advisors in"
                                                + " the parent"),
                        own
                                ? "Let what needs it so early, such as a BeanPostProcessor, ask an ObjectProvider for it later"
                                : "Let Lockkeeper's auto-configuration run in the child context, too");
            }
            found.addAll(faults.found());
            found.addAll(specs.check(method, bean.isExact()));
            Fallback fallback = specs.fallback(method);
            if (fallback != null && attachment != null) {
                MethodCheck.checkFallback(method, fallback, bean.isByInterfaces());
                Faults circle = new Faults(method);
                MethodCheck.requireEnd(method, fallback, specs::fallback, circle);
                found.addAll(circle.found());
            }
        }
        return found;
    }

    /** Returns which of some beans were made here, but without a proxy that locks. */
    private List<String> unlocked(List<String> names) {
        return attachment == null
                ? List.of()
                : names.stream()
                        .filter(name -> !given.contains(name) && attachment.isMissing(name))
                        .toList();
    }

    private void warnOfGivenObjects(AttachmentCheck check) {
        List<String> unlocked = given.stream()
                .filter(name -> hasAnnotatedMethods(beans.getType(name, false)))
                .filter(check::isMissing)
                .sorted()
                .toList();
        if (!unlocked.isEmpty()) {
            log.warn(
                    "The methods with @DistributedLocked of {} are not locked: these objects were handed to the"
                            + " application context as they are, or made before bean factory post-processors had run",
                    unlocked);
        }
    }

    private boolean hasAnnotatedMethods(@Nullable Class<?> type) {
        return type != null
                && advisor.methods().isCandidate(type)
                && !annotatedMethods(ClassUtils.getUserClass(type)).isEmpty();
    }

    static Collection<AnnotatedMethod> annotatedMethods(Class<?> type) {
        try {
            return AnnotatedMethod.allOf(type);
        } catch (LinkageError unreadable) {
            // Such a bean is usable as long as nobody asks for all of its methods.
            log.debug("The methods of {} could not be read", type, unreadable);
            return List.of();
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
            boolean exact = !beans.isFactoryBean(name) && (exists || !isMadeByMethod(definition));
            boolean opaque = type.isInterface() || Proxy.isProxyClass(type);
            return new BeanType(ClassUtils.getUserClass(type), exact && !opaque, proxies.isByInterfaces(name, type));
        } catch (RuntimeException | LinkageError unreadable) {
            log.debug("The type of bean '{}' could not be found", name, unreadable);
            return null;
        }
    }

    /** What a method makes may be of a class below its return type. */
    private static boolean isMadeByMethod(BeanDefinition definition) {
        return definition.getFactoryMethodName() != null
                || (definition instanceof AbstractBeanDefinition made && made.getInstanceSupplier() != null);
    }

    /**
     * The class of a bean.
     *
     * @param isExact whether the bean is of this class, and not perhaps of one below it
     * @param isByInterfaces whether the bean is proxied by its interfaces
     */
    private record BeanType(Class<?> type, boolean isExact, boolean isByInterfaces) {}
}
