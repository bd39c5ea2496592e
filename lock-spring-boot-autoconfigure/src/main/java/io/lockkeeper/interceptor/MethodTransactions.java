/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockLostException;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.Advisor;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.BeansException;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ObjectFactory;
import org.springframework.beans.factory.annotation.BeanFactoryAnnotationUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.NativeDetector;
import org.springframework.core.ResolvableType;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.interceptor.TransactionInterceptor;
import org.springframework.transaction.reactive.AbstractReactiveTransactionManager;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.CallbackPreferringPlatformTransactionManager;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.StringUtils;

/** The transactions that annotated methods begin, in applications that have transactions. */
final class MethodTransactions {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);
    private static final boolean PRESENT = ClassUtils.isPresent(
            "org.springframework.transaction.interceptor.TransactionInterceptor",
            MethodTransactions.class.getClassLoader());

    /** What finds something when it is called. */
    private static final List<Class<?>> FINDERS =
            List.of(ObjectFactory.class, BeanFactory.class, Supplier.class, Function.class);

    private static final String UNGUARDED = "it does not extend AbstractPlatformTransactionManager, passes transactions"
            + " on to none that does and that the start can see, and no proxy that asks before the commit can be put around"
            + " its class";
    private static final String REMEDY = "declare its bean with the type PlatformTransactionManager";

    private final ConfigurableListableBeanFactory beans;
    private final ProxyCheck proxies;
    private final Set<Class<?>> warned = ConcurrentHashMap.newKeySet();
    private volatile boolean promised;

    MethodTransactions(ConfigurableListableBeanFactory beans) {
        this.beans = beans;
        this.proxies = new ProxyCheck(beans);
    }

    static boolean suspendsOthers(AnnotatedMethod method) {
        return PRESENT && Annotations.isPropagation(method, Propagation.REQUIRES_NEW, Propagation.NOT_SUPPORTED);
    }

    static boolean isInside(MethodInvocation call) {
        if (!(call instanceof ProxyMethodInvocation proxied) || !(proxied.getProxy() instanceof Advised advised)) {
            return false;
        }
        return Arrays.stream(advised.getAdvisors())
                .dropWhile(advisor -> !(advisor instanceof DistributedLockedAdvisor))
                .map(Advisor::getAdvice)
                .anyMatch(TransactionInterceptor.class::isInstance);
    }

    /** Checks that a transaction inside the lock does not commit when the lock is lost, where the method says so. */
    void check(AnnotatedMethod method, Faults faults) {
        LossPolicy onLost = method.annotation().onLost();
        if (!PRESENT || onLost == LossPolicy.REPORT) {
            return;
        }
        promised = true;
        boolean begins =
                Annotations.isPropagation(method, Propagation.REQUIRED, Propagation.REQUIRES_NEW, Propagation.NESTED);
        TransactionManager manager = begins ? manager(method) : null;
        if (manager != null && !unguarded(manager).stream().allMatch(this::mayFindAnother)) {
            faults.add(
                    "onLost",
                    onLost + " promises that a transaction rolls back when the lock is lost, but "
                            + manager.getClass().getName() + " would commit it: " + UNGUARDED,
                    "To be guarded, " + REMEDY
                            + ", or write onLost = REPORT and call LockContext.require().ensureHeld() at the end of it");
        } else if (manager instanceof ReactiveTransactionManager && onLost == LossPolicy.FAIL) {
            log.warn(
                    "{} has onLost = FAIL and a reactive transaction, which commits although the lock is lost: let its last"
                            + " step be ensureHeld() of the lease under LockLease.class in the Reactor context, or write"
                            + " onLost = INTERRUPT",
                    method);
        }
        made().forEach(this::warnOf);
    }

    private String[] managers() {
        return BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, TransactionManager.class, true, false);
    }

    private Stream<TransactionManager> made() {
        return Arrays.stream(managers())
                .filter(this::isMade)
                .map(name -> beans.getBean(name, TransactionManager.class));
    }

    private boolean isMade(String name) {
        return beans.containsSingleton(name) || !beans.containsLocalBean(name);
    }

    void made(Object bean) {
        if (promised && bean instanceof TransactionManager manager) {
            warnOf(manager);
        }
    }

    private void warnOf(TransactionManager manager) {
        if (!unguarded(manager).isEmpty() && warned.add(manager.getClass())) {
            log.warn(
                    "Transactions of {} commit although a lock with onLost = FAIL or INTERRUPT is lost: {}. End such"
                            + " transactions with LockContext.require().ensureHeld(), or {}. Said once for each class",
                    manager.getClass().getName(),
                    UNGUARDED,
                    REMEDY);
        }
    }

    /** Returns the managers that commit whatever is lost, and at which transactions of one may end. */
    private List<Object> unguarded(Object manager) {
        return ends(manager)
                .filter(end -> !isTelling(end) && !isAsking(end) && !proxies.isMock(end))
                .toList();
    }

    static List<Object> telling(Object manager) {
        return ends(manager).filter(MethodTransactions::isTelling).toList();
    }

    /** Returns the managers at which transactions end: one that is asked, or those in its fields, at any depth. */
    private static Stream<Object> ends(Object manager) {
        return ends(manager, Collections.newSetFromMap(new IdentityHashMap<>()));
    }

    private static Stream<Object> ends(Object manager, Set<Object> seen) {
        Object target = target(manager);
        if (isAsking(manager) || target == null) {
            return Stream.of(manager);
        } else if (isTelling(target)) {
            return Stream.of(target);
        } else if (!seen.add(target)) {
            return Stream.empty();
        }
        List<Object> delegates = inFields(target, TransactionManager.class);
        return delegates.isEmpty() ? Stream.of(target) : delegates.stream().flatMap(each -> ends(each, seen));
    }

    private static boolean isTelling(Object manager) {
        return manager instanceof AbstractPlatformTransactionManager
                || manager instanceof AbstractReactiveTransactionManager;
    }

    private static @Nullable Object target(Object manager) {
        Object target = manager;
        while (target instanceof Advised) {
            target = AopProxyUtils.getSingletonTarget(target);
        }
        return target;
    }

    /** Whether a manager has something of which it may ask another one when it is called, or room for one. */
    private boolean mayFindAnother(Object manager) {
        List<ResolvableType> fields = new ArrayList<>();
        ReflectionUtils.doWithFields(manager.getClass(), field -> fields.add(ResolvableType.forField(field)));
        return manager instanceof Advised
                || FINDERS.stream().anyMatch(type -> !inFields(manager, type).isEmpty())
                || fields.stream().anyMatch(MethodTransactions::isOfManagers);
    }

    private static boolean isOfManagers(ResolvableType type) {
        ResolvableType part = type.isArray() ? type.getComponentType() : type;
        return TransactionManager.class.isAssignableFrom(part.resolve(Object.class))
                || Arrays.stream(part.getGenerics()).anyMatch(MethodTransactions::isOfManagers);
    }

    private static List<Object> inFields(Object manager, Class<?> type) {
        List<Object> found = new ArrayList<>(1);
        Set<Object> opened = Collections.newSetFromMap(new IdentityHashMap<>());
        ReflectionUtils.doWithFields(manager.getClass(), field -> {
            if (!Modifier.isStatic(field.getModifiers()) && field.trySetAccessible()) {
                addInside(field.get(manager), type, opened, found);
            }
        });
        return found;
    }

    private static void addInside(@Nullable Object value, Class<?> type, Set<Object> opened, List<Object> found) {
        Collection<?> values = value instanceof Map<?, ?> map
                ? map.values()
                : value instanceof Object[] array
                        ? Arrays.asList(array)
                        : value instanceof Collection<?> collection ? collection : null;
        if (values == null) {
            if (type.isInstance(value)) {
                found.add(value);
            }
        } else if (opened.add(value)) {
            values.forEach(each -> addInside(each, type, opened, found));
        }
    }

    private static boolean isAsking(Object manager) {
        return ProxyCheck.layers(manager).anyMatch(proxy -> proxy.indexOf(CommitAdvice.INSTANCE) >= 0);
    }

    static Object guarded(Object manager, Class<?> declared, ProxyCheck proxies) {
        if (!(manager instanceof PlatformTransactionManager)
                || manager instanceof CallbackPreferringPlatformTransactionManager
                || isTelling(Objects.requireNonNullElse(target(manager), manager))
                || isAsking(manager)
                || proxies.isMock(manager)) {
            return manager;
        }
        if (manager instanceof Advised proxy && !proxy.isFrozen()) {
            proxy.addAdvice(0, CommitAdvice.INSTANCE);
            return manager;
        }
        Class<?> type = manager.getClass();
        // It may be injected by its class, whatever its bean is declared as. A native image has one proxy class for
        // all.
        boolean isNative = NativeDetector.inNativeImage();
        boolean isByClass = !isNative
                && ProxyCheck.isExtensible(type)
                && Arrays.stream(ReflectionUtils.getAllDeclaredMethods(type))
                        .noneMatch(MethodTransactions::isNotForProxies);
        boolean isByInterface =
                declared.isInterface() && declared.isAssignableFrom(isNative ? PlatformTransactionManager.class : type);
        if (!isByClass && !isByInterface) {
            return manager;
        }
        ProxyFactory proxy = new ProxyFactory(manager);
        if (isNative) {
            proxy.setInterfaces(PlatformTransactionManager.class);
        }
        proxy.setProxyTargetClass(isByClass);
        proxy.addAdvice(CommitAdvice.INSTANCE);
        return proxy.getProxy(type.getClassLoader());
    }

    /** A proxy, which has no values in its fields, would run such a method itself. */
    private static boolean isNotForProxies(Method method) {
        return Modifier.isFinal(method.getModifiers())
                && (method.getModifiers() & (Modifier.STATIC | Modifier.PRIVATE)) == 0
                && method.getDeclaringClass() != Object.class;
    }

    /** Asks whether the locks of the thread are held before a manager commits, by itself or by another one. */
    private static final class CommitAdvice implements MethodInterceptor, TransactionSynchronization {

        private static final CommitAdvice INSTANCE = new CommitAdvice();

        @Override
        public @Nullable Object invoke(MethodInvocation call) throws Throwable {
            if (call.getMethod().getName().equals("commit")
                    && call.getThis() instanceof PlatformTransactionManager manager
                    && call.getArguments()[0] instanceof TransactionStatus status) {
                try {
                    CommitGuard.ensureHeld();
                } catch (LockLostException lost) {
                    rollback(manager, status, lost);
                    throw lost;
                }
                if (TransactionSynchronizationManager.isSynchronizationActive()) {
                    // Asked again after others have written what they have kept until the commit.
                    TransactionSynchronizationManager.registerSynchronization(this);
                }
            }
            return call.proceed();
        }

        @Override
        public void beforeCommit(boolean readOnly) {
            CommitGuard.ensureHeld();
        }

        private static void rollback(
                PlatformTransactionManager manager, TransactionStatus status, LockLostException lost) {
            try {
                manager.rollback(status);
            } catch (RuntimeException | Error failure) {
                lost.addSuppressed(failure);
            }
        }
    }

    /** Returns the manager of a method's own transaction; null where it cannot be known yet, or there is none. */
    private @Nullable TransactionManager manager(AnnotatedMethod method) {
        try {
            return beans.getBeanProvider(TransactionInterceptor.class).stream()
                    .findFirst()
                    .map(interceptor -> new Annotations(beans, interceptor))
                    .filter(found -> isMade(method, found))
                    .map(found -> found.manager(method))
                    .orElse(null);
        } catch (BeansException ambiguous) {
            // The first call says so.
            log.debug("The transaction manager of {} could not be found", method, ambiguous);
            return null;
        }
    }

    /** Returns whether no manager that is still to be made, as lazy ones are, can be that of a method. */
    private boolean isMade(AnnotatedMethod method, Annotations found) {
        List<String> later =
                Arrays.stream(managers()).filter(name -> !isMade(name)).toList();
        TransactionAttribute attribute = Annotations.attribute(method);
        String qualifier = attribute == null ? null : attribute.getQualifier();
        if (StringUtils.hasText(qualifier)) {
            return later.stream()
                    .noneMatch(name -> BeanFactoryAnnotationUtils.isQualifierMatch(qualifier::equals, name, beans));
        }
        Predicate<String> isPrimary = name -> proxies.definition(name).isPrimary();
        return later.isEmpty()
                || found.getTransactionManager() != null
                || (Arrays.stream(managers()).anyMatch(isPrimary)
                        && later.stream().noneMatch(isPrimary));
    }

    /** Finds transactions as Spring does. Only loaded where they are there. */
    private static final class Annotations extends TransactionAspectSupport {

        Annotations(ConfigurableListableBeanFactory beans, TransactionInterceptor interceptor) {
            setBeanFactory(beans);
            setTransactionManager(interceptor.getTransactionManager());
        }

        static boolean isPropagation(AnnotatedMethod method, Propagation... behaviors) {
            TransactionAttribute attribute = attribute(method);
            return attribute != null
                    && Arrays.stream(behaviors).anyMatch(each -> each.value() == attribute.getPropagationBehavior());
        }

        @Nullable
        TransactionManager manager(AnnotatedMethod method) {
            return determineTransactionManager(attribute(method), method.targetClass());
        }

        private static @Nullable TransactionAttribute attribute(AnnotatedMethod method) {
            return new AnnotationTransactionAttributeSource(false)
                    .getTransactionAttribute(method.method(), method.targetClass());
        }
    }
}
