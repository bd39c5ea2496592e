/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.AcquisitionInterceptor;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperProperties.Mode;
import io.lockkeeper.autoconfigure.LockkeeperProperties.StoreType;
import io.lockkeeper.interceptor.DistributedLockedAdvisor;
import io.lockkeeper.interceptor.DistributedLockedValidator;
import io.lockkeeper.interceptor.DistributedLockedValidator.GivenObjects;
import io.lockkeeper.interceptor.LockingMissingException;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.weaving.WovenLocks;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.HierarchicalBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.RuntimeBeanReference;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.annotation.ImportSelector;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;
import org.springframework.core.task.TaskDecorator;
import org.springframework.core.task.support.ContextPropagatingTaskDecorator;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.util.ClassUtils;

/** What the auto-configuration imports. No member of it: Spring would read those that were not chosen too. */
final class LockConfigurations {

    private static final Logger log = LoggerFactory.getLogger(LockkeeperAutoConfiguration.class);
    private static final String QUORUM_STORE = "io.lockkeeper.quorum.QuorumLockStore";
    private static final String EXECUTOR = "lockkeeperExecutor";
    private static final boolean CONTEXT_PROPAGATION =
            ClassUtils.isPresent("io.micrometer.context.ContextSnapshot", LockConfigurations.class.getClassLoader());

    private LockConfigurations() {}

    /** Returns how a bean was defined, in this context or in a parent; an empty definition where it was handed in. */
    static RootBeanDefinition definition(ConfigurableListableBeanFactory beans, String name) {
        return beans.containsBeanDefinition(name)
                ? (RootBeanDefinition) beans.getMergedBeanDefinition(name)
                : !beans.containsLocalBean(name)
                                && beans.getParentBeanFactory() instanceof ConfigurableListableBeanFactory above
                        ? definition(above, name)
                        : new RootBeanDefinition();
    }

    /** Returns whether a bean is given to those who ask for its type alone. */
    static boolean isCandidate(RootBeanDefinition bean) {
        return bean.isAutowireCandidate() && bean.isDefaultCandidate();
    }

    /** Returns whether the template is one that does not lock: a template of the application always locks. */
    static boolean isSwitchedOff(ConfigurableListableBeanFactory beans) {
        return beans.containsLocalBean(Unlocked.NAME)
                || (beans.containsBean(Unlocked.NAME)
                        && beans.getBeanNamesForType(LockOperations.class, true, false).length == 0
                        && beans.getParentBeanFactory() instanceof ConfigurableListableBeanFactory above
                        && isSwitchedOff(above));
    }

    /** Chooses by bound values, each of which may be written in several ways, and by the libraries that are there. */
    record Selector(Environment environment, ClassLoader loader, BeanFactory beans) implements ImportSelector {

        @Override
        public String[] selectImports(AnnotationMetadata importing) {
            Binder values = Binder.get(environment);
            List<Class<?>> chosen = new ArrayList<>();
            boolean isEnabled = bound(values, "enabled", true);
            if (!isLeftToParent(isEnabled ? Unlocked.NAME : Template.NAME)) {
                chosen.add(
                        !isEnabled ? Unlocked.class : beans.containsBean(Template.NAME) ? Above.class : Template.class);
            }
            chosen.add(bound(values, "mode", Mode.PROXY) == Mode.PROXY ? Proxies.class : WovenClasses.class);
            if (ClassUtils.isPresent(
                    "org.springframework.transaction.support.TransactionSynchronizationManager", loader)) {
                chosen.add(TransactionLocks.GuardConfiguration.class);
            }
            return names(chosen.toArray(Class<?>[]::new));
        }

        /** Returns whether what a parent context locks with does here, too: all but what it made as enabled otherwise. */
        private boolean isLeftToParent(String otherwise) {
            BeanFactory above = ((HierarchicalBeanFactory) beans).getParentBeanFactory();
            while (above instanceof ConfigurableListableBeanFactory each) {
                if (Stream.of(each.getBeanNamesForType(LockOperations.class, true, false))
                        .anyMatch(name -> isCandidate(definition(each, name)))) {
                    return !each.containsLocalBean(otherwise);
                }
                above = each.getParentBeanFactory();
            }
            return false;
        }
    }

    /** Chooses the store of the template; none: the library is missing. */
    record StoreSelector(Environment environment, ClassLoader loader) implements ImportSelector {

        @Override
        public String[] selectImports(AnnotationMetadata importing) {
            Binder values = Binder.get(environment);
            if (bound(values, "store", StoreType.REDIS) == StoreType.MEMORY) {
                return names(LockStoreConfiguration.Memory.class);
            }
            boolean isQuorum = !values.bind("lockkeeper.redis.quorum.nodes", Bindable.listOf(String.class))
                    .orElse(List.of())
                    .isEmpty();
            if ((isQuorum && !ClassUtils.isPresent(QUORUM_STORE, loader))
                    || !ClassUtils.isPresent(
                            "org.springframework.data.redis.connection.RedisConnectionFactory", loader)) {
                return names();
            }
            return names(isQuorum ? LockStoreConfiguration.Quorum.class : LockStoreConfiguration.Redis.class);
        }
    }

    private static String[] names(Class<?>... chosen) {
        String[] names = new String[chosen.length];
        for (int i = 0; i < names.length; i++) {
            names[i] = chosen[i].getName();
        }
        return names;
    }

    @SuppressWarnings("unchecked")
    private static <T> T bound(Binder values, String property, T unset) {
        return values.bind("lockkeeper." + property, (Class<T>) unset.getClass())
                .orElse(unset);
    }

    // Found by its name: to look for a type is to look at every bean. The name is that of the class: no other bean has
    // it, and generators of names that look at no annotation give it, too.
    @Configuration(value = Unlocked.NAME, proxyBeanMethods = false)
    @ConditionalOnMissingBean(value = LockOperations.class, search = SearchStrategy.CURRENT)
    static class Unlocked {

        static final String NAME = "io.lockkeeper.autoconfigure.LockConfigurations$Unlocked";

        // Also where beans are lazy: the log says so at the start.
        @Bean
        @Lazy(false)
        LockTemplate lockTemplate(LockkeeperProperties properties) {
            if (properties.enabled()) {
                throw LockStoreConfiguration.chosenOtherwise("lockkeeper.enabled", "false", "true");
            }
            log.warn(
                    "Locking is switched off by lockkeeper.enabled=false: methods with @DistributedLocked and everything"
                            + " else that asks for a lock run at the same time as on other instances");
            return LockTemplate.withoutLocking();
        }
    }

    /** Below a context that is switched off: one above that locks, and its store serves no other template. */
    @Configuration(value = Above.NAME, proxyBeanMethods = false)
    @ConditionalOnMissingBean(value = LockOperations.class, search = SearchStrategy.CURRENT)
    static class Above {

        static final String NAME = "io.lockkeeper.autoconfigure.LockConfigurations$Above";

        @Bean(destroyMethod = "")
        LockTemplate lockTemplate(ConfigurableListableBeanFactory beans) {
            BeanFactory above = beans;
            while (above instanceof HierarchicalBeanFactory each && !each.containsLocalBean(Template.NAME)) {
                above = Objects.requireNonNull(each.getParentBeanFactory(), "one above was enabled");
            }
            return above.getBean("lockTemplate", LockTemplate.class);
        }
    }

    @Configuration(value = Template.NAME, proxyBeanMethods = false)
    @ConditionalOnMissingBean(value = LockOperations.class, search = SearchStrategy.CURRENT)
    @Import(StoreSelector.class)
    static class Template {

        static final String NAME = "io.lockkeeper.autoconfigure.LockConfigurations$Template";

        @Bean(destroyMethod = "close")
        LockTemplate lockTemplate(
                LockkeeperProperties properties,
                ObjectProvider<LockStore> stores,
                ObjectProvider<LockListener> listeners,
                ObjectProvider<AcquisitionInterceptor> interceptor,
                ObjectProvider<TaskDecorator> decorators,
                ConfigurableListableBeanFactory beans,
                Environment environment) {
            String application = environment.getProperty("spring.application.name", "");
            LockTemplate.Builder builder = LockTemplate.builder(store(stores, properties, beans))
                    .waitTime(properties.waitTime())
                    .leaseTime(properties.leaseTime())
                    .retryDelay(properties.retryDelay())
                    .handover(
                            properties.handover().maxPasses(),
                            properties.handover().maxTime())
                    .shutdownWait(properties.shutdown().waitTime())
                    .instanceName(Objects.requireNonNullElse(properties.instanceName(), application))
                    .serviceName(application);
            listeners.orderedStream().forEach(builder::listener);
            interceptor.ifAvailable(builder::interceptor);
            if (beans.containsBean(EXECUTOR)) {
                builder.executor(beans.getBean(EXECUTOR, Executor.class));
            }
            return builder.taskDecorator(decorator(decorators)).build();
        }

        private static LockStore store(
                ObjectProvider<LockStore> stores,
                LockkeeperProperties properties,
                ConfigurableListableBeanFactory beans) {
            LockStore store = stores.getIfUnique();
            if (store != null) {
                return store;
            }
            String[] several = BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, LockStore.class, true, false);
            if (several.length > 0) {
                throw new LockingMissingException(
                        "Lockkeeper cannot choose among several LockStore beans: " + String.join(", ", several) + ".",
                        "Make one of them @Primary, or define a LockTemplate bean for each of them.");
            }
            if (properties.store() != StoreType.MEMORY
                    && !properties.redis().quorum().nodes().isEmpty()
                    && !ClassUtils.isPresent(QUORUM_STORE, beans.getBeanClassLoader())) {
                throw new LockingMissingException(
                        "lockkeeper.redis.quorum.nodes needs the module lock-quorum: add the dependency"
                                + " io.lockkeeper:lock-quorum.",
                        "Add the dependency io.lockkeeper:lock-quorum.");
            }
            throw new LockingMissingException(
                    "Lockkeeper has no place to keep locks: "
                            + (properties.store() == StoreType.REDIS ? "lockkeeper.store is redis, but " : "")
                            + "spring-data-redis is not on the class path.",
                    "Add org.springframework.boot:spring-boot-starter-data-redis, or set lockkeeper.store=memory for an"
                            + " application that runs as one process.");
        }

        private static UnaryOperator<Runnable> decorator(ObjectProvider<TaskDecorator> beans) {
            List<TaskDecorator> decorators =
                    new ArrayList<>(beans.orderedStream().toList());
            if (CONTEXT_PROPAGATION
                    && decorators.stream().noneMatch(ContextPropagatingTaskDecorator.class::isInstance)) {
                decorators.add(new ContextPropagatingTaskDecorator());
            }
            return body -> {
                Runnable decorated = body;
                for (TaskDecorator decorator : decorators) {
                    decorated = decorator.decorate(decorated);
                }
                return decorated;
            };
        }
    }

    @Configuration(proxyBeanMethods = false)
    @Import(AutoProxyCreatorRegistrar.class)
    static class Proxies {

        private static final int ADVISOR_ORDER = Ordered.LOWEST_PRECEDENCE - 100;

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static DistributedLockedAdvisor distributedLockedAdvisor(
                GivenObjects lockkeeperGivenObjects, Environment environment) {
            // Advisors are made before all other beans: the properties bean would come too early.
            int order = bound(Binder.get(environment), "advisor-order", ADVISOR_ORDER);
            return new DistributedLockedAdvisor(lockkeeperGivenObjects.beans(), order);
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static DistributedLockedValidator distributedLockedValidator(GivenObjects lockkeeperGivenObjects) {
            ConfigurableListableBeanFactory beans = lockkeeperGivenObjects.beans();
            // Whether the advisor is still there when beans are made is for the validator to see.
            String[] advisors = BeanFactoryUtils.beanNamesForTypeIncludingAncestors(
                    beans, DistributedLockedAdvisor.class, true, false);
            DistributedLockedAdvisor advisor = advisors.length == 0
                    ? new DistributedLockedAdvisor(beans, ADVISOR_ORDER)
                    : beans.getBean(advisors[0], DistributedLockedAdvisor.class);
            return new DistributedLockedValidator(beans, advisor, false, () -> isSwitchedOff(beans));
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class WovenClasses {

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static WovenLocksAttachment wovenLocksAttachment() {
            return new WovenLocksAttachment();
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static DistributedLockedValidator distributedLockedValidator(
                GivenObjects lockkeeperGivenObjects, WovenLocksAttachment wovenLocksAttachment) {
            ConfigurableListableBeanFactory beans = lockkeeperGivenObjects.beans();
            return new DistributedLockedValidator(
                    beans, wovenLocksAttachment.advisor(), true, () -> isSwitchedOff(beans));
        }

        /**
         * Attaches before the first bean is made. The advisor is no bean, so that no proxy is made for it. Without
         * arguments, as {@link GivenObjects} is.
         */
        static final class WovenLocksAttachment implements BeanFactoryPostProcessor, DisposableBean {

            private @Nullable DistributedLockedAdvisor advisor;

            @Override
            public void postProcessBeanFactory(ConfigurableListableBeanFactory beans) {
                advisor = new DistributedLockedAdvisor(beans, 0);
                WovenLocks.attach((MethodInterceptor) advisor.getAdvice());
            }

            DistributedLockedAdvisor advisor() {
                return Objects.requireNonNull(advisor, "post-processed before it is used");
            }

            @Override
            public void destroy() {
                if (advisor != null) {
                    WovenLocks.detach((MethodInterceptor) advisor.getAdvice());
                }
            }
        }
    }

    /** Spring Boot registers an auto-proxy creator only with {@code spring.aop.auto}. */
    record AutoProxyCreatorRegistrar(Environment environment) implements ImportBeanDefinitionRegistrar {

        @Override
        public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
            AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
            if (environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true)) {
                AopConfigUtils.forceAutoProxyCreatorToUseClassProxying(registry);
            }
        }
    }

    /** Gives each template an inspector named after it where there is no other, and no other bean of that name. */
    static final class InspectorRegistrar implements ImportBeanDefinitionRegistrar {

        private static final String INSPECTOR = "Inspector";
        private static final String HIDDEN = "lockInspector";

        @Override
        public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
            ConfigurableListableBeanFactory beans = (ConfigurableListableBeanFactory) registry;
            if (beans.getBeanNamesForType(LockInspector.class, true, false).length > 0) {
                return;
            }
            for (String template : beans.getBeanNamesForType(LockTemplate.class, true, false)) {
                // It hides that of a parent, as the template does.
                String name = template.equals("lockTemplate")
                                && beans.containsBean(HIDDEN)
                                && !beans.containsLocalBean(HIDDEN)
                        ? HIDDEN
                        : template + INSPECTOR;
                if (registry.isBeanNameInUse(name)) {
                    continue;
                }
                RootBeanDefinition inspector = new RootBeanDefinition(InspectorRegistrar.class);
                inspector.setTargetType(LockInspector.class);
                inspector.setFactoryMethodName("inspector");
                inspector.getConstructorArgumentValues().addGenericArgumentValue(new RuntimeBeanReference(template));
                registry.registerBeanDefinition(name, inspector);
            }
        }

        /** A mock in the place of the template has none, and what a method makes may be null: the start goes on. */
        static LockInspector inspector(@Nullable LockTemplate template) {
            LockInspector inspector = template == null ? null : template.inspector();
            return Objects.requireNonNullElse(inspector, LockInspector.withoutLocking());
        }
    }

    /** Closes the templates when the application ends, before connection factories stop; not when it only stops. */
    record Shutdown(ConfigurableApplicationContext context) implements SmartLifecycle {

        @Override
        public void start() {}

        @Override
        public void stop() {
            if (context.isClosed()) {
                ConfigurableListableBeanFactory beans = context.getBeanFactory();
                for (String name : beans.getBeanNamesForType(LockTemplate.class, false, false)) {
                    if (beans.containsSingleton(name)
                            && !"".equals(definition(beans, name).getDestroyMethodName())) {
                        beans.getBean(name, LockTemplate.class).close();
                    }
                }
            }
        }

        /** What does not run is not stopped. */
        @Override
        public boolean isRunning() {
            return true;
        }

        /** Connection factories have phase 0; web servers and executors stand near the largest integer. */
        @Override
        public int getPhase() {
            return 1024;
        }
    }
}
