/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.Advisor;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.BeansException;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ObjectFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.ResolvableType;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.interceptor.TransactionInterceptor;
import org.springframework.transaction.reactive.AbstractReactiveTransactionManager;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** The transactions that annotated methods begin, in applications that have transactions. */
final class MethodTransactions {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);
    private static final boolean PRESENT = ClassUtils.isPresent(
            "org.springframework.transaction.interceptor.TransactionInterceptor",
            MethodTransactions.class.getClassLoader());

    /** What finds something when it is called. */
    private static final List<Class<?>> FINDERS =
            List.of(ObjectFactory.class, BeanFactory.class, Supplier.class, Function.class);

    private final ConfigurableListableBeanFactory beans;
    private final Set<Class<?>> warned = ConcurrentHashMap.newKeySet();
    private volatile boolean promised;

    /** What the start sees of a manager, from the best to the worst. */
    private enum Sight {
        /** It asks before it commits, or every one does to which it passes transactions on. */
        GUARDED,
        /** It may find another one when it is called. */
        UNSEEN,
        /** It commits whatever is lost. */
        UNGUARDED
    }

    MethodTransactions(ConfigurableListableBeanFactory beans) {
        this.beans = beans;
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
        Sight sight = manager == null ? Sight.GUARDED : sight(manager);
        if (manager != null && sight == Sight.UNSEEN) {
            warnOf(manager);
        } else if (manager != null && sight == Sight.UNGUARDED) {
            faults.add(
                    "onLost",
                    onLost + " promises that a transaction rolls back when the lock is lost, but "
                            + manager.getClass().getName() + " would commit it, because it is no"
                            + " ConfigurableTransactionManager that takes listeners, and delegates to no bean that is one",
                    "Let the transaction be one of a manager that extends AbstractPlatformTransactionManager and is a bean,"
                            + " or write onLost = REPORT and call LockContext.require().ensureHeld() at the end of it");
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
        Sight sight = sight(manager);
        if (sight != Sight.GUARDED && warned.add(manager.getClass())) {
            log.warn(
                    "Transactions of {} commit although a lock with onLost = FAIL or INTERRUPT is lost, {}. End such"
                            + " transactions with LockContext.require().ensureHeld(), or define a bean for the manager to"
                            + " which it delegates. Said once for each class",
                    manager.getClass().getName(),
                    sight == Sight.UNSEEN
                            ? "unless what it finds when it is called is a ConfigurableTransactionManager and a bean, which"
                                    + " the start cannot see"
                            : "because it is no ConfigurableTransactionManager that takes listeners, and delegates to no bean"
                                    + " that is one");
        }
    }

    private Sight sight(Object manager) {
        return sight(manager, true, Collections.newSetFromMap(new IdentityHashMap<>()));
    }

    /**
     * The guard is added to beans, and to those inside of one that takes listeners. The worst of those to which a
     * manager may pass transactions on counts.
     */
    private Sight sight(Object manager, boolean isReached, Set<Object> seen) {
        Object target = target(manager);
        if (new ProxyCheck(beans).isMock(manager)) {
            // It commits nothing.
            return Sight.GUARDED;
        } else if (target == null) {
            return isReached && manager instanceof ConfigurableTransactionManager ? Sight.GUARDED : Sight.UNSEEN;
        }
        boolean takesListeners = isReached && CommitGuard.takesListeners(target);
        if (target instanceof AbstractPlatformTransactionManager
                || target instanceof AbstractReactiveTransactionManager) {
            return takesListeners ? Sight.GUARDED : Sight.UNGUARDED;
        } else if (!seen.add(target)) {
            return Sight.GUARDED;
        }
        // Others may take listeners, and pass transactions on to another one without a call of theirs.
        List<Object> delegates = delegates(target);
        if (delegates.isEmpty() && takesListeners) {
            return hasFinder(target) ? Sight.UNSEEN : Sight.GUARDED;
        } else if (delegates.isEmpty()) {
            return mayFindAnother(target) ? Sight.UNSEEN : Sight.UNGUARDED;
        }
        return delegates.stream()
                .map(each -> sight(each, takesListeners || isBean(each), seen))
                .max(Comparator.naturalOrder())
                .orElseThrow();
    }

    static boolean takesListeners(Object manager) {
        if (!(manager instanceof ConfigurableTransactionManager configurable)) {
            return false;
        }
        try {
            configurable.setTransactionExecutionListeners(
                    new ArrayList<>(configurable.getTransactionExecutionListeners()));
            return true;
        } catch (UnsupportedOperationException refused) {
            return false;
        }
    }

    private boolean isBean(Object manager) {
        return made().anyMatch(known -> known == manager || target(known) == manager);
    }

    private static boolean hasFinder(Object manager) {
        return FINDERS.stream().anyMatch(type -> !inFields(manager, type).isEmpty());
    }

    /** Whether a manager has something of which it may ask another one when it is called, or room for one. */
    private static boolean mayFindAnother(Object manager) {
        List<ResolvableType> fields = new ArrayList<>();
        ReflectionUtils.doWithFields(manager.getClass(), field -> fields.add(ResolvableType.forField(field)));
        return hasFinder(manager) || fields.stream().anyMatch(MethodTransactions::isOfManagers);
    }

    private static boolean isOfManagers(ResolvableType type) {
        ResolvableType part = type.isArray() ? type.getComponentType() : type;
        return TransactionManager.class.isAssignableFrom(part.resolve(Object.class))
                || Arrays.stream(part.getGenerics()).anyMatch(MethodTransactions::isOfManagers);
    }

    private static @Nullable Object target(Object manager) {
        return AopUtils.isAopProxy(manager) ? AopProxyUtils.getSingletonTarget(manager) : manager;
    }

    static List<Object> delegates(Object manager) {
        return inFields(manager, TransactionManager.class);
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

    /** Returns the manager of a method's own transaction; null where it cannot be known yet, or there is none. */
    private @Nullable TransactionManager manager(AnnotatedMethod method) {
        if (!Arrays.stream(managers()).allMatch(this::isMade)) {
            return null;
        }
        try {
            return beans.getBeanProvider(TransactionInterceptor.class).stream()
                    .findFirst()
                    .map(interceptor -> new Annotations(beans, interceptor).manager(method))
                    .orElse(null);
        } catch (BeansException ambiguous) {
            // The first call says so.
            log.debug("The transaction manager of {} could not be found", method, ambiguous);
            return null;
        }
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
