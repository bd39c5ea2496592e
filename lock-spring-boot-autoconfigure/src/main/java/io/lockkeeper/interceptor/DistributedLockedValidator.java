/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.Pointcut;
import org.springframework.aop.SpringProxy;
import org.springframework.aop.TargetClassAware;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryAware;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.AutowireCapableBeanFactory;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.InstantiationAwareBeanPostProcessor;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.MergedBeanDefinitionPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.ApplicationEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
import org.springframework.util.CollectionUtils;

/**
 * Checks every annotated method of every bean when the application starts, those of lazy and prototype beans included,
 * and creates no bean for it. All faults of all methods come in one exception. One file, longer than others, because
 * beans that the start sees and those that are made later must be checked alike.
 */
public final class DistributedLockedValidator
        implements SmartInitializingSingleton,
                InstantiationAwareBeanPostProcessor,
                MergedBeanDefinitionPostProcessor,
                ApplicationListener<ApplicationEvent> {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

    private final ConfigurableListableBeanFactory beans;
    private final DistributedLockedAdvisor advisor;
    private final BooleanSupplier switchedOff;
    private final boolean woven;
    private final MethodCheck check;
    private final ProxyCheck proxies;
    private final MethodTransactions transactions;
    private final GivenObjects given;

    /** What is wrong with the beans that are made until the application has started. */
    private final Set<DistributedLockedFault> wrong = ConcurrentHashMap.newKeySet();

    private final Set<List<Class<?>>> harmless = ConcurrentHashMap.newKeySet();

    /** Classes of which the annotations have been checked, with the transactions that go with them. */
    private final Set<Class<?>> checked = ConcurrentHashMap.newKeySet();

    /** Beans that were made before that could be checked, and that the start does not see. */
    private final Collection<Beans> unchecked = new ConcurrentLinkedQueue<>();

    /** Classes, by name, of what the factory is making, as long as nothing can have been put around it. */
    private final Map<String, Class<?>> instantiated = new ConcurrentHashMap<>();

    /** Of what has been warned: objects that were handed in, by name, and classes, each with the reason. */
    private final Set<Object> named = ConcurrentHashMap.newKeySet();

    private volatile int singletons;
    private volatile boolean started;
    private volatile List<AnnotatedMethod> methods = List.of();

    /**
     * Creates a validator.
     *
     * @param beans whose beans are checked
     * @param advisor under which they run; or whose interceptor was woven in
     * @param woven whether the classes of the beans have the locks woven in; else they are locked by proxies
     * @param switchedOff whether nothing is to be locked, so that nothing is needed for it
     */
    public DistributedLockedValidator(
            ConfigurableListableBeanFactory beans,
            DistributedLockedAdvisor advisor,
            boolean woven,
            BooleanSupplier switchedOff) {
        this.beans = beans;
        this.advisor = advisor;
        this.woven = woven;
        this.switchedOff = switchedOff;
        this.transactions = new MethodTransactions(beans);
        this.check = new MethodCheck(advisor.specs(), woven);
        this.proxies = new ProxyCheck(beans);
        String[] names = beans.getBeanNamesForType(GivenObjects.class, false, false);
        this.given = names.length == 0 ? new GivenObjects() : beans.getBean(names[0], GivenObjects.class);
    }

    /**
     * Checks the beans.
     *
     * @throws DistributedLockedConfigurationException if a method cannot work as it is written
     * @throws LockingMissingException if something is missing without which no method is locked
     */
    @Override
    public void afterSingletonsInstantiated() {
        Map<List<Object>, Beans> types = new LinkedHashMap<>();
        for (String name : beans.getBeanDefinitionNames()) {
            Beans bean = typeOf(name);
            if (bean != null && advisor.isCandidate(bean.type())) {
                List<Object> same = List.of(bean.type(), bean.isExact(), bean.isByInterfaces());
                types.computeIfAbsent(same, unknown -> bean).names().add(name);
            }
        }
        // A loop: each lambda costs the start a class.
        List<AnnotatedMethod> found = new ArrayList<>();
        for (Beans each : types.values()) {
            found.addAll(each.methods());
        }
        found.forEach(advisor.specs()::announce);
        methods = found;
        if (!isOff()) {
            requireParts(types.values());
        }
        started = true;
        for (Beans each : types.values()) {
            findUnlocked(each);
            wrong.addAll(checkCalls(each));
            wrong.addAll(checkAnnotations(each));
        }
        given.early.forEach((name, type) -> {
            // Prototypes and inner beans: a singleton is looked at as it is now.
            if (!beans.containsSingleton(name) && isToBeProxied(type) && !SpringProxy.class.isAssignableFrom(type)) {
                wrong.addAll(Faults.of(
                        annotatedMethods(type), (method, faults) -> addUnlocked(List.of(name), type, faults)));
            }
        });
        for (Beans each : unchecked) {
            wrong.addAll(checkUnseen(each));
        }
        unchecked.clear();
        if (!wrong.isEmpty()) {
            throw new DistributedLockedConfigurationException(wrong.stream()
                    .sorted(Comparator.comparing(DistributedLockedFault::place)
                            .thenComparing(DistributedLockedFault::problem))
                    .toList());
        }
    }

    /** Returns the number of annotated methods that were found at the start; those of beans of one class count once. */
    public int methods() {
        return methods.size();
    }

    /** Returns how many of them a bean locks. To be called when every bean that may lock has been made. */
    public int methods(Object operations) {
        return (int) methods.stream()
                .map(advisor.specs()::checked)
                .filter(spec -> spec != null && spec.operations().get() == operations)
                .count();
    }

    /**
     * Looks for objects that have been handed in, of which nothing else tells, and checks the beans of a child context
     * that has no check of its own: the advisor of this context locks them.
     */
    @Override
    public void onApplicationEvent(ApplicationEvent event) {
        if (event instanceof ContextRefreshedEvent refreshed
                && refreshed.getApplicationContext() instanceof ConfigurableApplicationContext context
                && context.getBeanFactory() != beans) {
            if (context.getBeanNamesForType(DistributedLockedValidator.class, false, false).length == 0) {
                DistributedLockedValidator child =
                        new DistributedLockedValidator(context.getBeanFactory(), advisor, woven, switchedOff);
                child.afterSingletonsInstantiated();
                child.warnOfGivenObjects();
                // For what the child makes later.
                context.getBeanFactory().addBeanPostProcessor(child);
            }
        } else if (started && singletons != beans.getSingletonCount()) {
            warnOfGivenObjects();
        }
    }

    private void requireParts(Collection<Beans> all) {
        if (!woven) {
            requireLockedParents();
        }
        if (methods.isEmpty()) {
            return;
        }
        requirePart(
                proxies.isLockingPossible(),
                "there is no LockOperations bean, or it is null.",
                "Define a LockTemplate bean that is not null, or let the auto-configuration of Lockkeeper define it."
                        + " Where that of the parent context is to lock, define none in this one.");
        if (woven) {
            requirePart(
                    methods.stream().anyMatch(each -> MethodCheck.WeavingCheck.isWoven(each.method()))
                            // They are checked when they are made.
                            || all.stream().allMatch(each -> each.type().isInterface()),
                    "lockkeeper.mode is aspectj, but the AspectJ weaver does not run, or does not weave Lockkeeper's"
                            + " aspect into them.",
                    "Start the JVM with -javaagent:aspectjweaver.jar, the jar of org.aspectj:aspectjweaver, or remove"
                            + " lockkeeper.mode=aspectj.");
            return;
        }
        requirePart(
                proxies.exists(DistributedLockedAdvisor.class),
                "there is no DistributedLockedAdvisor bean.",
                "Do not remove or replace the bean 'distributedLockedAdvisor' of Lockkeeper's auto-configuration.");
        requirePart(
                proxies.isProxying()
                        || all.stream().flatMap(each -> each.names().stream()).allMatch(proxies::isAttached),
                "no auto-proxy creator puts proxies around beans.",
                "Do not remove or replace the bean '" + AopConfigUtils.AUTO_PROXY_CREATOR_BEAN_NAME
                        + "', or add @EnableAspectJAutoProxy. Let Lockkeeper's auto-configuration run in a child"
                        + " context, too.");
    }

    /** The start checks only the beans of this context, and those of parents may be locked by what is there. */
    private void requireLockedParents() {
        if (!(beans.getParentBeanFactory() instanceof ConfigurableListableBeanFactory above)) {
            return;
        }
        DistributedLockedValidator parent = new DistributedLockedValidator(above, advisor, false, switchedOff);
        if (parent.proxies.exists(DistributedLockedAdvisor.class)) {
            return;
        }
        List<String> unlocked = Arrays.stream(above.getBeanDefinitionNames())
                .filter(name -> {
                    Beans known = parent.typeOf(name);
                    return known != null && !known.methods().isEmpty() && !parent.proxies.isAttached(name);
                })
                .toList();
        if (!unlocked.isEmpty()) {
            throw new LockingMissingException(
                    "The methods with @DistributedLocked of " + unlocked + " would not be locked: these beans are in"
                            + " a parent context, in which Lockkeeper's auto-configuration does not run.",
                    "Define these beans in the context that has the auto-configuration, or let it run in the parent.");
        }
        parent.requireLockedParents();
    }

    private void requirePart(boolean isThere, String reason, String remedy) {
        if (!isThere) {
            throw new LockingMissingException(
                    "No method with @DistributedLocked would be locked (there are " + methods() + "): " + reason,
                    remedy);
        }
    }

    /** Looks for beans that are there, or will be made, without a lock. Those that were handed in are warned of. */
    private void findUnlocked(Beans same) {
        if (woven || isOff()) {
            return;
        }
        List<String> skipped = new ArrayList<>(0);
        for (String name : same.names()) {
            if (proxies.isSkipped(name)) {
                (same.isExact() ? same.unlocked() : skipped).add(name);
            } else if (!given.names.contains(name) && proxies.isMissing(name)) {
                same.unlocked().add(name);
            }
        }
        if (!skipped.isEmpty() && !same.methods().isEmpty()) {
            log.warn(
                    "The methods with @DistributedLocked of {} are not locked, unless what makes these beans locks"
                            + " them: their definitions are synthetic, and Spring puts no proxies around them",
                    skipped);
        }
    }

    /** Checks whether calls of beans find their locks, wherever these beans were found. */
    private List<DistributedLockedFault> checkCalls(Beans same) {
        boolean isChecked = same.isCalled() && !(woven && isOff());
        List<DistributedLockedFault> found = Faults.of(same.methods(), (method, faults) -> {
            if (isChecked) {
                check.checkCalls(method, same.isByInterfaces(), faults);
            }
            if (faults.isEmpty() && !same.unlocked().isEmpty()) {
                addUnlocked(same.unlocked(), same.type(), faults);
            }
        });
        // The annotation itself cannot be there, but one that is composed of it may forget to say where it belongs.
        if (MergedAnnotations.from(same.type(), SearchStrategy.TYPE_HIERARCHY).isPresent(DistributedLocked.class)) {
            String problem = "has the annotation on the class, where it locks nothing";
            found.add(new DistributedLockedFault(same.type(), "", "", problem, "Write it on the methods"));
        }
        return found;
    }

    /** Checks what the annotations of a class promise, and warns of its use. */
    private List<DistributedLockedFault> checkAnnotations(Beans same) {
        Set<String> callbacks = callbacks(same);
        boolean isOff = isOff();
        List<DistributedLockedFault> found = Faults.of(same.methods(), (method, faults) -> {
            check.warnOfCallback(method, callbacks);
            if (!isOff) {
                transactions.check(method, faults);
                check.checkThreads(method, faults);
            }
            check.checkAnnotation(method, same.isByInterfaces(), faults);
        });
        if (found.isEmpty()) {
            checked.add(same.type());
        }
        // A class below the known one may have the fallback.
        found.removeIf(fault -> !same.isExact() && fault.attribute().equals(Fallback.ATTRIBUTE));
        return found;
    }

    /** Returns the methods that definitions of beans let the container call when it makes or destroys them. */
    private Set<String> callbacks(Beans same) {
        Set<String> callbacks = new HashSet<>();
        for (String name : same.names()) {
            CollectionUtils.mergeArrayIntoCollection(proxies.definition(name).getInitMethodNames(), callbacks);
            CollectionUtils.mergeArrayIntoCollection(proxies.definition(name).getDestroyMethodNames(), callbacks);
        }
        if (callbacks.remove(AbstractBeanDefinition.INFER_METHOD)) {
            callbacks.add(ClassUtils.hasMethod(same.type(), "close") ? "close" : "shutdown");
        }
        return callbacks;
    }

    private void addUnlocked(List<String> names, Class<?> type, Faults faults) {
        String problem = "is not locked, because the bean " + names;
        if (ProxyCheck.isNeverProxied(type)
                || !proxies.isProxying()
                || names.stream().anyMatch(proxies::isSynthetic)) {
            faults.add(
                    "is not locked, because Spring puts no proxy around the bean " + names,
                    "Write the annotation on a method of another bean, or use LockTemplate");
        } else if (beans.getBeanNamesForType(DistributedLockedAdvisor.class, false, false).length > 0) {
            faults.add(
                    problem + " was made before locks could be put around it",
                    "Let what needs it so early, such as a BeanPostProcessor, ask an ObjectProvider for it later");
        } else {
            problem += " is in a child context, whose auto-proxy creator does not look for advisors in the parent";
            faults.add(problem, "Let Lockkeeper's auto-configuration run in the child context, too");
        }
    }

    /** All that is told of a synthetic definition, and the first of what the factory makes that is no bean. */
    @Override
    public void postProcessMergedBeanDefinition(RootBeanDefinition definition, Class<?> type, String name) {
        if (name.equals(type.getName()) && !isBean(name) && advisor.isCandidate(type)) {
            instantiated.put(name, type);
        }
        // Those of this context were seen at the start.
        if (ProxyCheck.isSynthetic(definition)
                && (started || !beans.containsBeanDefinition(name))
                && isToBeProxied(type)) {
            warnOfBare(
                    type,
                    "a definition of it, which is inside of another one or came after the start, is synthetic, and"
                            + " Spring puts no proxy around such a bean");
        }
    }

    /** An object of which only the fields are set has the name of its class, and was not announced before. */
    @Override
    public boolean postProcessAfterInstantiation(Object bean, String name) {
        Class<?> type = bean.getClass();
        if (isBean(name)) {
            if (!woven && advisor.isCandidate(type)) {
                instantiated.put(name, type);
            }
        } else if (name.equals(type.getName()) && instantiated.get(name) != type && isBare(bean)) {
            warnOfBare(type, "an object of it was autowired, and is itself no bean");
        }
        return true;
    }

    /** Returns whether it is a bean that is being made: others, too, may have the name of their class. */
    private boolean isBean(String name) {
        return beans.containsBeanDefinition(name) && beans.isCurrentlyInCreation(name);
    }

    private boolean isBare(@Nullable Object object) {
        return object != null
                && !(object instanceof SpringProxy)
                && isToBeProxied(object.getClass())
                && !proxies.isMock(object);
    }

    private boolean isToBeProxied(Class<?> type) {
        return !woven && hasAnnotatedMethods(type) && !isOff();
    }

    private boolean isOff() {
        return switchedOff.getAsBoolean();
    }

    private void warnOfBare(Class<?> type, String reason) {
        if (named.add(List.of(type, reason))) {
            log.warn(
                    "The methods with @DistributedLocked of {} are not locked: {}. Define a bean for it, or let"
                            + " AutowireCapableBeanFactory.createBean make it. Said once for each class and reason",
                    type.getName(),
                    reason);
        }
    }

    /** Returns what is inside of a collection, a map or an array, of a kind that has its elements at hand. */
    private static Object[] elements(Object bean) {
        if (bean instanceof Object[] array) {
            return array;
        }
        Object values = bean instanceof Map<?, ?> map ? map.values() : bean;
        return bean.getClass().getName().startsWith("java.util.") && values instanceof Collection<?> collection
                ? collection.toArray()
                : new Object[0];
    }

    /**
     * Checks a bean of which the class is known only when it is made: lazy and prototype beans that are declared by an
     * interface, and what factories make.
     *
     * @throws DistributedLockedConfigurationException if the application has started, and a method of the bean cannot
     *     work as it is written
     */
    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        if (started) {
            transactions.made(bean);
        }
        for (Object element : elements(bean)) {
            if (isBare(element)) {
                String reason = "the bean '" + beanName + "' has an object of it inside, which is itself no bean";
                warnOfBare(element.getClass(), reason);
            }
        }
        List<DistributedLockedFault> faults = new ArrayList<>(0);
        faults.addAll(checkHidden(instantiated.remove(beanName), bean, beanName));
        if (started || !isSeenAtStart(beanName)) {
            faults.addAll(checkMade(bean, beanName));
        }
        if (bean instanceof Advised proxy) {
            DistributedLockedAdvisor.validateOutside(proxy);
            List<Pointcut> threads = ProxyCheck.threadsInside(proxy);
            if (!threads.isEmpty() && !isOff()) {
                faults.addAll(Faults.of(
                        annotatedMethods(AopProxyUtils.ultimateTargetClass(proxy)),
                        (method, found) -> ProxyCheck.checkThreads(method, threads, found)));
            }
        }
        if (!started) {
            wrong.addAll(faults);
        } else if (!faults.isEmpty()) {
            throw new DistributedLockedConfigurationException(faults);
        }
        return bean;
    }

    /**
     * Looks at the class behind a proxy by interfaces, or behind what a post-processor has put around a bean: a proxy
     * that is made later does not see its annotations.
     */
    private List<DistributedLockedFault> checkHidden(@Nullable Class<?> instantiated, Object bean, String name) {
        boolean isReplaced = instantiated != null && isBean(name) && !instantiated.isInstance(bean);
        Class<?> type = isReplaced ? instantiated : ProxyCheck.decoratedClass(bean);
        if (type == null || !isToBeProxied(type)) {
            return List.of();
        }
        if (bean instanceof Advised
                ? !proxies.isMissing(name, bean)
                : hasAnnotatedMethods(proxies.wasProxied(name, bean))) {
            return List.of();
        }
        String remedy = " or write the annotation in the interface";
        if (isReplaced) {
            String reason =
                    "a BeanPostProcessor puts something around the bean [" + name + "] before the proxy that locks";
            return proxies.isMock(bean)
                    ? List.of()
                    : unlocked(type, bean, reason, "Let it do so in postProcessAfterInitialization," + remedy);
        } else if (ProxyCheck.target(bean) != null) {
            String reason = "the bean [" + name + "] is a proxy by interfaces of an object that is no bean";
            return unlocked(type, bean, reason, "Let its target be a bean," + remedy);
        }
        String unknown = ProxyCheck.unknownTarget(bean);
        if (unknown != null && !hasAnnotatedMethods(bean.getClass())) {
            warnOfBare(type, "the bean '" + name + "' is " + unknown + " is a bean");
        }
        return List.of();
    }

    /** Returns a fault for each method of a class that is called through the interfaces of something before it. */
    private static List<DistributedLockedFault> unlocked(Class<?> type, Object bean, String reason, String remedy) {
        return Faults.of(annotatedMethods(type), (method, faults) -> {
            if (AnnotatedMethod.implementedBy(method.method(), type)
                    .anyMatch(declared -> declared.getDeclaringClass().isInstance(bean))) {
                faults.add("is not locked, because " + reason, remedy);
            }
        });
    }

    private boolean isSeenAtStart(String name) {
        return beans.containsBeanDefinition(name)
                && proxies.definition(name).isSingleton()
                && !beans.isFactoryBean(name);
    }

    /** Checks what a bean turns out to be; before the end of the start, it only remembers that. */
    private List<DistributedLockedFault> checkMade(Object bean, String name) {
        if (ProxyCheck.isScoped(bean) || name.endsWith(AutowireCapableBeanFactory.ORIGINAL_INSTANCE_SUFFIX)) {
            return List.of();
        }
        Class<?> proxied = bean instanceof TargetClassAware ? null : proxies.wasProxied(name, bean);
        // A factory of proxies tells the class of their target, too.
        Class<?> own = AopUtils.isAopProxy(bean) ? AopUtils.getTargetClass(bean) : bean.getClass();
        Class<?> type = ClassUtils.getUserClass(proxied == null ? own : proxied);
        List<Class<?>> both = List.of(type, bean.getClass());
        if (harmless.contains(both) || both.stream().noneMatch(advisor::isCandidate) || proxies.isMock(bean)) {
            return List.of();
        }
        boolean isJdkProxy = AopUtils.isJdkDynamicProxy(bean);
        Collection<AnnotatedMethod> methods = new ArrayList<>(annotatedMethods(type));
        if (woven && isJdkProxy) {
            // It may answer calls that the object behind it knows nothing of.
            addOfProxy(bean.getClass(), type, methods);
        }
        boolean isByInterfaces = AopUtils.isAopProxy(bean) ? isJdkProxy : proxies.isByInterfaces(name, type);
        // Only methods of its interfaces can be called on a proxy that has nothing else.
        boolean isCalled = woven || !isJdkProxy;
        List<String> unlocked = isCalled && isUnlocked(name, bean) ? List.of(name) : List.of();
        Beans made = new Beans(type, true, isCalled, isByInterfaces, List.of(name), unlocked, methods);
        if (!started) {
            unchecked.add(made);
            return List.of();
        }
        List<DistributedLockedFault> found = checkUnseen(made);
        if (found.isEmpty()) {
            harmless.add(both);
        }
        return found;
    }

    /** Without a definition of its own, a bean may be what was put around its proxy. */
    private boolean isUnlocked(String name, Object bean) {
        return !woven
                && !isOff()
                && proxies.isMissing(name, bean)
                && (beans.containsBeanDefinition(name)
                        || ProxyCheck.isNeverProxied(bean.getClass())
                        || !proxies.isProxying());
    }

    /** Checks what the start has not seen; the annotations of a class once. */
    private List<DistributedLockedFault> checkUnseen(Beans made) {
        List<DistributedLockedFault> found = checkCalls(made);
        if (!checked.contains(made.type()) && !Proxy.isProxyClass(made.type())) {
            found.addAll(checkAnnotations(made));
        }
        return found;
    }

    /** Adds what a proxy answers itself: neither the object behind it has it, nor another bean that gets the calls. */
    private void addOfProxy(Class<?> proxy, Class<?> behind, Collection<AnnotatedMethod> methods) {
        for (AnnotatedMethod each : annotatedMethods(proxy)) {
            Class<?> declaring = each.declaration().getDeclaringClass();
            boolean isOwn = Arrays.asList(proxy.getInterfaces()).contains(declaring)
                    || Arrays.stream(beans.getBeanNamesForType(declaring, true, false))
                            .map(this::typeOf)
                            .allMatch(bean ->
                                    bean == null || bean.type().isInterface() || Proxy.isProxyClass(bean.type()));
            if (isOwn && !declaring.isAssignableFrom(behind)) {
                methods.add(each);
            }
        }
    }

    private void warnOfGivenObjects() {
        singletons = beans.getSingletonCount();
        Set<String> unlocked = new TreeSet<>();
        for (String name : beans.getSingletonNames()) {
            if (isUnlockedGiven(name) && named.add(name)) {
                unlocked.add(name);
            }
        }
        if (!unlocked.isEmpty()) {
            log.warn(
                    "The methods with @DistributedLocked of {} are not locked: these objects were handed to the"
                            + " application context as they are, or made before bean factory post-processors had run",
                    unlocked);
        }
    }

    private boolean isUnlockedGiven(String name) {
        try {
            Class<?> type = given.names.contains(name) || !beans.containsBeanDefinition(name)
                    ? beans.getType(name, false)
                    : null;
            return type != null && isToBeProxied(type) && proxies.isMissing(name);
        } catch (NoSuchBeanDefinitionException removed) {
            // Another thread has removed it: the publisher of an event must not fail for that.
            return false;
        }
    }

    private boolean hasAnnotatedMethods(@Nullable Class<?> type) {
        return type != null
                && advisor.isCandidate(type)
                && !annotatedMethods(ClassUtils.getUserClass(type)).isEmpty();
    }

    private static Collection<AnnotatedMethod> annotatedMethods(Class<?> type) {
        try {
            return AnnotatedMethod.allOf(type);
        } catch (LinkageError unreadable) {
            // Such a bean is usable as long as its methods are not all asked for.
            log.debug("The methods of {} could not be read", type, unreadable);
            return List.of();
        }
    }

    private @Nullable Beans typeOf(String name) {
        try {
            RootBeanDefinition definition = proxies.definition(name);
            boolean exists = beans.containsSingleton(name);
            Class<?> proxied = exists ? proxies.wasProxied(name, null) : null;
            Class<?> type = proxied == null ? beans.getType(name, false) : proxied;
            if (definition.isAbstract() || type == null) {
                return null;
            }
            // What a method makes may be of a class below its return type.
            boolean exact =
                    exists || (definition.getFactoryMethodName() == null && definition.getInstanceSupplier() == null);
            boolean opaque = beans.isFactoryBean(name) || type.isInterface() || Proxy.isProxyClass(type);
            Class<?> own = ClassUtils.getUserClass(type);
            boolean isExact = exact && !opaque;
            return new Beans(
                    own,
                    isExact,
                    !woven || isExact || !own.isInterface(),
                    proxies.isByInterfaces(name, type),
                    new ArrayList<>(1),
                    new ArrayList<>(0),
                    advisor.isCandidate(own) ? annotatedMethods(own) : List.of());
        } catch (RuntimeException | LinkageError unreadable) {
            log.debug("The type of bean '{}' could not be found", name, unreadable);
            return null;
        }
    }

    /**
     * Remembers which objects were handed in from outside, such as the mocks of a test: no proxy can be put before
     * them. To be injected by its name, and with it the bean factory: where Spring looks for an argument by its type,
     * it makes factory beans, and what they need, too early for proxies.
     */
    public static final class GivenObjects implements BeanFactoryAware, BeanFactoryPostProcessor {

        /** Classes of the beans that were made before there was what puts proxies around them. */
        final Map<String, Class<?>> early = new ConcurrentHashMap<>();

        private Set<String> names = Set.of();
        private @Nullable ConfigurableListableBeanFactory beans;

        @Override
        public void setBeanFactory(BeanFactory factory) {
            ConfigurableListableBeanFactory own = (ConfigurableListableBeanFactory) factory;
            beans = own;
            ProxyCheck proxies = new ProxyCheck(own);
            own.addBeanPostProcessor(new BeanPostProcessor() {
                private volatile boolean isOver;

                @Override
                public Object postProcessAfterInitialization(Object bean, String name) {
                    isOver = isOver || own.isConfigurationFrozen() || proxies.isProxying();
                    if (!isOver) {
                        early.put(name, bean.getClass());
                    }
                    return bean;
                }
            });
        }

        @Override
        public void postProcessBeanFactory(ConfigurableListableBeanFactory factory) {
            names = Set.of(factory.getSingletonNames());
        }

        /** Returns the factory to which the objects were handed. */
        public ConfigurableListableBeanFactory beans() {
            return Objects.requireNonNull(beans, "set before it is used");
        }
    }

    /** Beans of a class, those without locks among them; not exact where they may be of one below it. */
    private record Beans(
            Class<?> type,
            boolean isExact,
            boolean isCalled,
            boolean isByInterfaces,
            List<String> names,
            List<String> unlocked,
            Collection<AnnotatedMethod> methods) {}
}
