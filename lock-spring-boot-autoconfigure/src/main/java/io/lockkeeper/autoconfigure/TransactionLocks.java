/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.AcquisitionInterceptor;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperProperties.InsideTransaction;
import io.lockkeeper.interceptor.CommitGuard;
import io.lockkeeper.interceptor.DistributedLockedValidator.GivenObjects;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.core.Ordered;
import org.springframework.core.PriorityOrdered;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.NoTransactionException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.interceptor.DelegatingTransactionAttribute;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.interceptor.TransactionAttributeSource;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionSynchronizationUtils;
import org.springframework.transaction.support.TransactionTemplate;

/** The locks that a transaction holds until it has committed or rolled back, the last one first. */
final class TransactionLocks implements TransactionSynchronization {

    /** Stands in a transaction that has committed, of which only what comes after that is left. */
    private static final TransactionSynchronization COMMITTED = new TransactionSynchronization() {};

    /** Stands in a transaction whose locks have been asked, and asks those that the commit itself has taken. */
    private static final TransactionSynchronization ASKED = new TransactionSynchronization() {
        @Override
        public void afterCommit() {
            ensureHeld();
        }
    };

    private static final TransactionSynchronization TOLD = new Told();

    /** Stands in a transaction from its beginning, and hears before all others that it has committed. */
    private static final class Told implements TransactionSynchronization, PriorityOrdered {
        @Override
        public int getOrder() {
            return HIGHEST_PRECEDENCE;
        }

        @Override
        public void afterCommit() {
            TransactionSynchronizationManager.registerSynchronization(COMMITTED);
        }
    }

    private final Deque<LockLease> leases = new ConcurrentLinkedDeque<>();
    private final Set<LockLease> guarded = ConcurrentHashMap.newKeySet();
    private boolean completed;

    private TransactionLocks() {}

    static TransactionLocks ofThisThread() {
        TransactionLocks locks = find();
        if (locks == null) {
            locks = new TransactionLocks();
            TransactionSynchronizationManager.registerSynchronization(locks);
        }
        return locks;
    }

    /** Returns whether a transaction is open on this thread, in which more can be written and committed. */
    static boolean isTransactionOpen() {
        // Callbacks after the completion of a transaction run outside of it.
        if (!TransactionSynchronizationManager.isActualTransactionActive()
                || !TransactionSynchronizationManager.isSynchronizationActive()) {
            return false;
        }
        List<TransactionSynchronization> all = TransactionSynchronizationManager.getSynchronizations();
        return all.contains(TOLD) ? !all.contains(COMMITTED) : !isAfterCommit(all);
    }

    /** Returns whether one of these is called after the commit: only the stack tells, where the manager does not. */
    private static boolean isAfterCommit(List<TransactionSynchronization> all) {
        return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
                .walk(frames -> {
                    Class<?> called = null;
                    for (StackWalker.StackFrame frame : (Iterable<StackWalker.StackFrame>) frames::iterator) {
                        if (frame.getDeclaringClass() == TransactionSynchronizationUtils.class
                                && frame.getMethodName().equals("invokeAfterCommit")) {
                            // A transaction that the callback has begun has others.
                            return all.stream().anyMatch(Objects.requireNonNull(called)::isInstance);
                        }
                        called = frame.getDeclaringClass();
                    }
                    return false;
                });
    }

    /** A transaction has begun on this thread whose manager tells of it. */
    static void afterBegin() {
        if (TransactionSynchronizationManager.isSynchronizationActive()) {
            TransactionSynchronizationManager.registerSynchronization(TOLD);
        }
    }

    /** Fails if the transaction of this thread must not commit. More may be written, and locked, in the commit. */
    static void ensureHeld() {
        if (TransactionSynchronizationManager.isSynchronizationActive()) {
            TransactionLocks locks = find();
            if (locks != null) {
                locks.beforeCommit(false);
            }
            TransactionSynchronizationManager.registerSynchronization(ASKED);
        }
    }

    /** Also called by managers that tell no listeners. */
    @Override
    public void beforeCommit(boolean readOnly) {
        guarded.forEach(LockLease::ensureHeld);
    }

    /** Holds a lease on; the transaction does not commit once a guarded one is lost. */
    private void hold(LockLease lease, boolean isGuarded) {
        if (isGuarded) {
            guarded.add(lease);
        }
        synchronized (this) {
            if (!completed) {
                leases.push(lease);
                return;
            }
        }
        lease.close();
    }

    /** Guards what the transaction holds on already and a method enters again. */
    private void guard(List<String> names) {
        leases.stream()
                .filter(lease -> lease.names().stream().anyMatch(names::contains))
                .forEach(guarded::add);
    }

    private static @Nullable TransactionLocks find() {
        return (TransactionLocks) TransactionSynchronizationManager.getSynchronizations().stream()
                .filter(TransactionLocks.class::isInstance)
                .findFirst()
                .orElse(null);
    }

    @Override
    public void afterCompletion(int status) {
        synchronized (this) {
            completed = true;
        }
        leases.forEach(LockLease::close);
        leases.clear();
    }

    /** Reacts to locks that are taken inside an open transaction, and end before others can see what it wrote. */
    static final class Surroundings implements AcquisitionInterceptor {

        private static final Pattern LAMBDA = Pattern.compile("^lambda\\$(.+)\\$\\d+$");
        private static final Logger log = LoggerFactory.getLogger(LockTemplate.class);

        private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
        private static final int LOOKS_AT_ONCE = 100;

        private final AtomicLong looks = new AtomicLong(System.nanoTime() - LOOKS_AT_ONCE * LOOK_NANOS);
        private final InsideTransaction reaction;
        private final GuardPostProcessor guards;
        private final Set<String> warned = ConcurrentHashMap.newKeySet();

        Surroundings(InsideTransaction reaction, GuardPostProcessor guards) {
            this.reaction = reaction;
            this.guards = guards;
        }

        @Override
        public @Nullable Consumer<LockLease> beforeAcquisition(LockRequest request, boolean reentry) {
            CommitGuard.Purpose purpose = CommitGuard.purpose();
            if (purpose.isGuarded()) {
                guards.listenAgain();
            }
            if (reaction == InsideTransaction.ALLOW
                    || !TransactionLocks.isTransactionOpen()
                    || purpose.hasOwnTransaction()) {
                return null;
            }
            if (reaction == InsideTransaction.RELEASE_AFTER_COMPLETION) {
                TransactionLocks locks = TransactionLocks.ofThisThread();
                if (purpose.isGuarded()) {
                    locks.guard(request.names());
                }
                return lease -> locks.hold(lease, purpose.isGuarded());
            }
            // What the thread holds already goes on after this level of it; a transaction that only reads commits
            // nothing.
            if (reentry || TransactionSynchronizationManager.isCurrentTransactionReadOnly()) {
                return null;
            }
            if (reaction == InsideTransaction.FAIL) {
                throw new IllegalStateException(
                        caller(request) + " asks for lock " + request.names() + " inside an open transaction,"
                                + " which lockkeeper.inside-transaction=fail forbids: begin the transaction inside the lock");
            }
            warn(request);
            return null;
        }

        private void warn(LockRequest request) {
            if (request.label() == null && !isLookDue()) {
                return;
            }
            String caller = caller(request);
            if (warned.add(caller)) {
                log.warn(
                        "{} asks for lock {} inside an open transaction, and releases it before the commit: the next holder"
                                + " does not see what was written. Begin the transaction inside the lock, or set"
                                + " lockkeeper.inside-transaction to release-after-completion, or to allow if this is meant."
                                + " Said once for each method",
                        caller,
                        request.names());
            }
        }

        /** To find the method that asks takes a walk through the stack: often enough that all are named soon. */
        private boolean isLookDue() {
            long now = System.nanoTime();
            long before = looks.get();
            long next = Math.max(before, now - LOOKS_AT_ONCE * LOOK_NANOS) + LOOK_NANOS;
            return next <= now && looks.compareAndSet(before, next);
        }

        /** Names the method that asks on this thread: what the request is labelled with, or what calls the template. */
        private static String caller(LockRequest request) {
            String label = request.label();
            return label != null
                    ? label
                    : StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
                            .walk(frames -> frames.filter(frame -> !isOwn(frame.getDeclaringClass()))
                                    .findFirst()
                                    .map(frame -> frame.getClassName() + "."
                                            + LAMBDA.matcher(frame.getMethodName())
                                                    .replaceFirst("$1"))
                                    .orElse("A method"));
        }

        private static boolean isOwn(Class<?> type) {
            return type == Surroundings.class || type.getPackageName().equals(LockTemplate.class.getPackageName());
        }
    }

    /** Lets no transaction commit that must not without its lock. Stateless: a manager may outlive the context. */
    static final class TransactionGuard implements TransactionExecutionListener {

        static final TransactionGuard INSTANCE = new TransactionGuard();

        private TransactionGuard() {}

        @Override
        public void afterBegin(TransactionExecution transaction, @Nullable Throwable failure) {
            if (failure == null && !transaction.isNested()) {
                TransactionLocks.afterBegin();
            }
        }

        /**
         * Called as late as can be: an exception from here makes the manager roll back. After a nested transaction,
         * which may end with a savepoint, the one around it goes on.
         */
        @Override
        public void beforeCommit(TransactionExecution transaction) {
            CommitGuard.ensureHeld();
            if (!transaction.isNested()) {
                TransactionLocks.ensureHeld();
            }
        }
    }

    /**
     * Rolls back where an exception would let a transaction commit, but a lock of it is lost: the caller would hear only
     * of the loss, as the failure of the commit, and not of the exception.
     */
    record GuardedAttributes(TransactionAttributeSource source) implements TransactionAttributeSource {

        @Override
        public @Nullable TransactionAttribute getTransactionAttribute(Method method, @Nullable Class<?> targetClass) {
            TransactionAttribute attribute = source.getTransactionAttribute(method, targetClass);
            return attribute == null
                    ? null
                    : new DelegatingTransactionAttribute(attribute) {
                        @Override
                        public boolean rollbackOn(Throwable failure) {
                            return super.rollbackOn(failure) || isLost(failure);
                        }
                    };
        }

        private static boolean isLost(Throwable failure) {
            try {
                TransactionStatus status = TransactionAspectSupport.currentTransactionStatus();
                if (status.isNewTransaction() || status.hasSavepoint()) {
                    TransactionGuard.INSTANCE.beforeCommit(status);
                }
                return false;
            } catch (NoTransactionException reactive) {
                return false;
            } catch (LockLostException lost) {
                failure.addSuppressed(lost);
                return true;
            }
        }
    }

    /**
     * Guards every manager: when it is made, or where it was made too early, or is no bean, at the start. Those of a
     * child are used by beans that the advisor of this context locks. Comes right after the auto-proxy creator, which
     * sees the manager itself, and before other post-processors, which may need it.
     */
    // No record: Spring compares post-processors, and a record's equals is made when it is first called, at some cost.
    static final class GuardPostProcessor
            implements BeanPostProcessor,
                    Ordered,
                    SmartInitializingSingleton,
                    ApplicationListener<ContextRefreshedEvent> {

        private final ConfigurableListableBeanFactory beans;
        private final List<ConfigurableTransactionManager> listening = new CopyOnWriteArrayList<>();

        GuardPostProcessor(ConfigurableListableBeanFactory beans) {
            this.beans = beans;
        }

        @Override
        public int getOrder() {
            return HIGHEST_PRECEDENCE + 1;
        }

        @Override
        public Object postProcessAfterInitialization(Object bean, String name) {
            if (bean instanceof TransactionAspectSupport aspect) {
                guard(aspect);
            }
            if (bean instanceof TransactionTemplate template) {
                guard(template);
            }
            if (!(bean instanceof TransactionManager)) {
                return bean;
            }
            if (!beans.containsBeanDefinition(name)) {
                return guarded(bean, Object.class, false);
            }
            RootBeanDefinition definition = LockConfigurations.definition(beans, name);
            return guarded(bean, definition.getResolvableType().resolve(Object.class), definition.isSingleton());
        }

        @Override
        public void afterSingletonsInstantiated() {
            guardAll(beans);
        }

        @Override
        public void onApplicationEvent(ContextRefreshedEvent event) {
            if (event.getApplicationContext() instanceof ConfigurableApplicationContext context
                    && context.getBeanFactory() != beans) {
                guardAll(context.getBeanFactory());
                context.getBeanFactory().addBeanPostProcessor(this);
            }
        }

        private void guardAll(ConfigurableListableBeanFactory factory) {
            for (String name : made(factory, TransactionManager.class)) {
                guarded(factory.getBean(name), Object.class, factory == beans && factory.isSingleton(name));
            }
            for (String name : made(factory, TransactionAspectSupport.class)) {
                guard(factory.getBean(name, TransactionAspectSupport.class));
            }
            for (String name : made(factory, TransactionTemplate.class)) {
                guard(factory.getBean(name, TransactionTemplate.class));
            }
        }

        private static List<String> made(ConfigurableListableBeanFactory factory, Class<?> type) {
            List<String> names = new ArrayList<>();
            for (String name : BeanFactoryUtils.beanNamesForTypeIncludingAncestors(factory, type, false, false)) {
                if (factory.containsSingleton(name) || !factory.containsLocalBean(name)) {
                    names.add(name);
                }
            }
            return names;
        }

        /** Guards what annotations use: a manager that may be no bean, and the rules of its rollbacks. */
        private void guard(TransactionAspectSupport aspect) {
            TransactionAttributeSource source = aspect.getTransactionAttributeSource();
            if (source != null && !(source instanceof GuardedAttributes)) {
                aspect.setTransactionAttributeSource(new GuardedAttributes(source));
            }
            TransactionManager manager = aspect.getTransactionManager();
            if (manager != null) {
                aspect.setTransactionManager((TransactionManager) guarded(manager, TransactionManager.class, false));
            }
        }

        private void guard(TransactionTemplate template) {
            PlatformTransactionManager manager = template.getTransactionManager();
            if (manager != null) {
                template.setTransactionManager(
                        (PlatformTransactionManager) guarded(manager, PlatformTransactionManager.class, false));
            }
        }

        /** Returns the manager, or what stands before it; a manager of this context has its guard for ever. */
        private Object guarded(Object manager, Class<?> declared, boolean isKept) {
            Object guarded = CommitGuard.guarded(manager, declared, beans);
            for (Object each : CommitGuard.telling(guarded)) {
                ConfigurableTransactionManager telling = (ConfigurableTransactionManager) each;
                listen(telling);
                if (isKept && !listening.contains(telling)) {
                    listening.add(telling);
                }
            }
            return guarded;
        }

        /** Listens again to the managers whose listeners the application has set after the start. */
        void listenAgain() {
            listening.forEach(GuardPostProcessor::listen);
        }

        /** The listeners of a manager may be a list that cannot be added to. */
        private static void listen(ConfigurableTransactionManager manager) {
            if (!manager.getTransactionExecutionListeners().contains(TransactionGuard.INSTANCE)) {
                List<TransactionExecutionListener> listeners =
                        new ArrayList<>(manager.getTransactionExecutionListeners());
                listeners.add(TransactionGuard.INSTANCE);
                manager.setTransactionExecutionListeners(listeners);
            }
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class GuardConfiguration {

        @Bean
        @ConditionalOnMissingBean
        AcquisitionInterceptor acquisitionInterceptor(
                LockkeeperProperties properties, GuardPostProcessor lockTransactionGuardPostProcessor) {
            return new Surroundings(properties.insideTransaction(), lockTransactionGuardPostProcessor);
        }

        /** A bean, so that Boot adds it to its managers. */
        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static TransactionGuard lockTransactionGuard() {
            return TransactionGuard.INSTANCE;
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static GuardPostProcessor lockTransactionGuardPostProcessor(GivenObjects lockkeeperGivenObjects) {
            return new GuardPostProcessor(lockkeeperGivenObjects.beans());
        }
    }
}
