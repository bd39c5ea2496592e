/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import io.lockkeeper.interceptor.SalesDatabase.Sales;
import java.lang.ref.WeakReference;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Mockito;
import org.springframework.aop.Advisor;
import org.springframework.aop.ClassFilter;
import org.springframework.aop.MethodBeforeAdvice;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.ComposablePointcut;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.beans.BeansException;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Primary;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.Ordered;
import org.springframework.core.PriorityOrdered;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.CannotCreateTransactionException;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.TransactionManagementConfigurer;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.SimpleTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.ClassUtils;

/** Transaction managers of all kinds, and locks whose loss must not be committed. */
@Timeout(60)
class TransactionGuardTest {

    private final ApplicationContextRunner runner =
            LockedApplication.runner().withUserConfiguration(SalesDatabase.class, Transactions.class);

    private final LogRecorder log = new LogRecorder(DistributedLocked.class);
    private final LogRecorder losses = new LogRecorder(LockLease.class);

    @AfterEach
    void stopRecording() {
        log.close();
        losses.close();
    }

    @Test
    void aManagerThatIsMadeEarlyIsGuardedOnce() {
        runner.withUserConfiguration(Early.class).withBean(Shop.class).run(context -> {
            assertRollback(context.getBean(Shop.class), context.getBean(Sales.class));
            assertGuardedOnce(context.getBean(PlatformTransactionManager.class));
            assertThat(log.lines()).isEmpty();
        });
    }

    @Test
    void theGuardIsABeanThatOthersAddToTheirManagers() {
        runner.withBean(Shop.class)
                .withBean(
                        "customizing",
                        BeanFactoryPostProcessor.class,
                        () -> beans -> beans.addBeanPostProcessor(
                                new Customizer(() -> beans.getBean(TransactionExecutionListener.class))))
                .run(context -> {
                    assertRollback(context.getBean(Shop.class), context.getBean(Sales.class));
                    assertGuardedOnce(context.getBean(PlatformTransactionManager.class));
                });
    }

    @Test
    void managersOfSpringBootAreGuardedOnce() {
        LockedApplication.runner()
                .withConfiguration(AutoConfigurations.of(bootTransactions()))
                .withUserConfiguration(Database.class, Transactions.class)
                .withBean(Shop.class)
                .run(context -> {
                    assertRollback(context.getBean(Shop.class), context.getBean(Sales.class));
                    assertGuardedOnce(context.getBean(PlatformTransactionManager.class));
                });
    }

    @Test
    void aManagerOfAChildIsGuarded() {
        LockedApplication.runner().run(parent -> {
            try (AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
                child.setParent(parent);
                child.register(SalesDatabase.class, Transactions.class, Late.class, Shop.class);
                AopConfigUtils.registerAspectJAnnotationAutoProxyCreatorIfNecessary(child);
                child.refresh();
                assertRollback(child.getBean(Shop.class), child.getBean(Sales.class));
                assertGuardedOnce(child.getBean("transactions", PlatformTransactionManager.class));
                assertGuardedOnce(child.getBean("late", PlatformTransactionManager.class));
            }
        });
    }

    @Test
    void aManagerThatIsNoBeanIsGuardedWhereAnnotationsNameNoOther() {
        runner.withUserConfiguration(OfAnnotations.class)
                .withBean(Shop.class)
                .run(context -> assertRollback(context.getBean(Shop.class), context.getBean(Sales.class)));
    }

    @ParameterizedTest
    @ValueSource(classes = {OfTemplate.class, OwnOfTemplate.class})
    void aManagerThatIsNoBeanIsGuardedWhereATransactionTemplateHasIt(Class<?> templates) {
        runner.withUserConfiguration(templates).withBean(BeginningShop.class).run(context -> {
            TransactionTemplate template = context.getBean("ofTemplate", TransactionTemplate.class);
            BeginningShop shop = context.getBean(BeginningShop.class);
            Sales sales = context.getBean(Sales.class);
            assertThatExceptionOfType(LockLostException.class)
                    .isThrownBy(() -> shop.sell(() -> template.executeWithoutResult(status -> {
                        sales.add();
                        loseHere(context.getBean(LockInspector.class));
                    })));
            assertThat(sales.committed()).isZero();
        });
    }

    @Test
    void theTemplateOfAChildGuardsAManagerThatIsNoBean() {
        runner.withBean(BeginningShop.class).run(parent -> {
            try (AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
                child.setParent(parent);
                child.register(OfTemplate.class);
                child.refresh();
                TransactionTemplate template = child.getBean("ofTemplate", TransactionTemplate.class);
                assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> parent.getBean(BeginningShop.class)
                        .sell(() -> template.executeWithoutResult(status -> {
                            parent.getBean(Sales.class).add();
                            loseHere(parent.getBean(LockInspector.class));
                        })));
                assertThat(parent.getBean(Sales.class).committed()).isZero();
            }
        });
    }

    static class OfTemplate {
        @Bean
        TransactionTemplate ofTemplate(DataSource dataSource) {
            return new TransactionTemplate(new DataSourceTransactionManager(dataSource));
        }
    }

    static class OwnOfTemplate {
        @Bean
        TransactionTemplate ofTemplate(DataSource dataSource) {
            return new TransactionTemplate(new Own(dataSource));
        }
    }

    @Test
    void aManagerBehindAProxyThatIsNoBeanIsGuarded() {
        runner.withUserConfiguration(Proxied.class).withBean(Shop.class).run(context -> {
            assertRollback(context.getBean(Shop.class), context.getBean(Sales.class));
            assertThat(log.lines()).isEmpty();
        });
    }

    @Configuration(proxyBeanMethods = false)
    static class Proxied {
        @Bean
        @Primary
        PlatformTransactionManager proxied(DataSource dataSource) {
            ProxyFactory proxy = new ProxyFactory(new DataSourceTransactionManager(dataSource));
            proxy.setInterfaces(PlatformTransactionManager.class);
            return (PlatformTransactionManager) proxy.getProxy();
        }
    }

    @Test
    void aManagerWithAListOfListenersThatCannotBeAddedToIsGuarded() {
        runner.withUserConfiguration(Listening.class).withBean(Shop.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertRollback(context.getBean(Shop.class), context.getBean(Sales.class));
        });
    }

    @Test
    void aMethodWhoseOwnTransactionWouldCommitIsRefused() {
        for (Class<?> shop : new Class<?>[] {Shop.class, TransactionalShop.class}) {
            runner.withUserConfiguration(Delegated.class).withBean(shop).run(context -> assertThat(
                            context.getStartupFailure())
                    .hasMessageContaining("onLost: FAIL promises that a transaction rolls back")
                    .hasMessageContaining(Hidden.class.getName()));
        }
    }

    @ParameterizedTest
    @CsvSource({"singleton,true", "singleton,false", "prototype,true", "prototype,false"})
    void aMethodWhoseOwnTransactionWouldCommitIsRefusedWhenItsBeanIsMade(String scope, boolean byClass) {
        Class<?> transactions = byClass ? Transactions.class : TransactionsByInterfaces.class;
        RootBeanDefinition late = lateBean(scope);
        LockedApplication.runner()
                .withUserConfiguration(SalesDatabase.class, transactions, Delegated.class)
                .withPropertyValues("spring.aop.proxy-target-class=" + byClass)
                .withInitializer(
                        context -> ((GenericApplicationContext) context).registerBeanDefinition("selling", late))
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    for (int i = 0; i < 2; i++) {
                        assertThatExceptionOfType(BeansException.class)
                                .isThrownBy(() -> context.getBean(Selling.class))
                                .havingRootCause()
                                .isInstanceOf(DistributedLockedConfigurationException.class)
                                .withMessageContaining("onLost: FAIL promises that a transaction rolls back");
                    }
                });
    }

    @Test
    void whereTheManagerIsMadeAfterTheBeanItIsNamed() {
        runner.withUserConfiguration(Delegated.class)
                .withInitializer(context -> {
                    context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor());
                    ((GenericApplicationContext) context).registerBeanDefinition("selling", lateBean("singleton"));
                })
                .run(context -> {
                    context.getBean(Selling.class).sell();
                    assertThat(log.lines())
                            .singleElement()
                            .asString()
                            .startsWith("WARN Transactions of " + Hidden.class.getName());
                });
    }

    private static RootBeanDefinition lateBean(String scope) {
        RootBeanDefinition late = new RootBeanDefinition(Selling.class, SellingShop::new);
        late.setScope(scope);
        late.setLazyInit(true);
        return late;
    }

    public interface Selling {
        void sell();
    }

    static class SellingShop implements Selling {
        @Override
        @Transactional
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void sell() {}
    }

    /** No proxy can be put around it, as it may be injected by its class, which is final. */
    @ParameterizedTest
    @ValueSource(
            classes = {
                DelegatedToBean.class,
                DelegatedToNoBean.class,
                DelegatedToArray.class,
                DelegatedToMap.class,
                DelegatedToRing.class
            })
    void theManagerInsideOfOneOfAFinalClassIsGuarded(Class<?> managers) {
        runner.withUserConfiguration(managers)
                .withBean(Shop.class)
                .withBean(BeginningShop.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertRollback(context.getBean(Shop.class), context.getBean(Sales.class));
                    assertThat(log.lines()).isEmpty();
                });
    }

    /** It takes listeners, calls none of them, and passes transactions on to an object that is no bean. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theManagerInsideOfOneThatTakesListenersIsGuarded(boolean isProxied) {
        runner.withUserConfiguration(Taken.class)
                .withPropertyValues("proxied=" + isProxied)
                .withBean(Shop.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertRollback(context.getBean(Shop.class), context.getBean(Sales.class));
                    assertThat(log.lines()).isEmpty();
                });
    }

    static class Taken {
        @Bean
        @Primary
        PlatformTransactionManager taking(DataSource dataSource, @Value("${proxied}") boolean isProxied) {
            PlatformTransactionManager taking = new Taking(new DataSourceTransactionManager(dataSource));
            ProxyFactory proxy = new ProxyFactory(taking);
            proxy.setProxyTargetClass(true);
            return isProxied ? (PlatformTransactionManager) proxy.getProxy() : taking;
        }
    }

    /** It takes listeners and calls none of them, and nothing finds the one that it passes transactions on to. */
    @ParameterizedTest
    @ValueSource(classes = {TakenAndFound.class, FoundElsewhere.class, OfUnknownAnnotations.class})
    void aManagerThatFindsAnotherThatIsNoBeanIsGuarded(Class<?> managers) {
        runner.withUserConfiguration(managers)
                .withBean(Shop.class)
                .withBean(BeginningShop.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    Sales sales = context.getBean(Sales.class);
                    assertRollback(context.getBean(Shop.class), sales);
                    TransactionTemplate transactions =
                            new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
                    if (managers != OfUnknownAnnotations.class) {
                        assertThatExceptionOfType(LockLostException.class)
                                .isThrownBy(() -> context.getBean(BeginningShop.class)
                                        .sell(() -> transactions.executeWithoutResult(status -> {
                                            sales.add();
                                            loseHere(context.getBean(LockInspector.class));
                                        })));
                        assertThat(sales.committed()).isZero();
                    }
                    context.getBean(Shop.class).sell();
                    assertThat(sales.committed()).isEqualTo(1);
                    assertThat(log.lines()).isEmpty();
                });
    }

    static class TakenAndFound {
        @Bean
        @Primary
        Taking taking(DataSource dataSource) {
            PlatformTransactionManager manager = new DataSourceTransactionManager(dataSource);
            return new Taking((Supplier<PlatformTransactionManager>) () -> manager);
        }
    }

    static class TakenByInterface {
        @Bean
        @Primary
        PlatformTransactionManager taking(DataSource dataSource) {
            return new TakenAndFound().taking(dataSource);
        }
    }

    static class FoundElsewhere {
        @Bean
        @Primary
        PlatformTransactionManager choosing(DataSource dataSource) {
            PlatformTransactionManager manager = new DataSourceTransactionManager(dataSource);
            return new Choosing<>("tenant", name -> manager);
        }
    }

    record OfUnknownAnnotations(DataSource dataSource) implements TransactionManagementConfigurer {
        @Override
        public PlatformTransactionManager annotationDrivenTransactionManager() {
            PlatformTransactionManager manager = new DataSourceTransactionManager(dataSource);
            return new Choosing<>("tenant", name -> manager);
        }
    }

    /** The loss comes after the body and after the first look, while the transaction is being committed. */
    @Test
    void aManagerThatFindsAnotherIsAskedAsLateAsCanBe() {
        runner.withUserConfiguration(FoundElsewhere.class)
                .withBean(BeginningShop.class)
                .run(context -> {
                    Sales sales = context.getBean(Sales.class);
                    LockInspector inspector = context.getBean(LockInspector.class);
                    TransactionTemplate transactions =
                            new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
                    assertThatExceptionOfType(LockLostException.class)
                            .isThrownBy(() -> context.getBean(BeginningShop.class)
                                    .sell(() -> transactions.executeWithoutResult(status -> {
                                        sales.add();
                                        TransactionSynchronizationManager.registerSynchronization(
                                                new TransactionSynchronization() {
                                                    @Override
                                                    public void beforeCommit(boolean readOnly) {
                                                        loseHere(inspector);
                                                    }
                                                });
                                    })));
                    assertThat(sales.committed()).isZero();
                });
    }

    /** It sees the class of the manager, and not a proxy by interfaces before it. */
    @Test
    void adviceOfTheApplicationForTheClassOfAManagerRuns() {
        AtomicInteger commits = new AtomicInteger();
        DefaultPointcutAdvisor counting = new DefaultPointcutAdvisor(
                new ComposablePointcut((ClassFilter) Taking.class::isAssignableFrom),
                (MethodBeforeAdvice) (method, arguments, target) -> {
                    if (method.getName().equals("commit")) {
                        commits.incrementAndGet();
                    }
                });
        runner.withUserConfiguration(TakenByInterface.class)
                .withBean("counting", Advisor.class, () -> counting)
                .withBean(Shop.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    context.getBean(Shop.class).sell();
                    assertThat(commits).hasValue(1);
                    assertThatExceptionOfType(LockLostException.class)
                            .isThrownBy(context.getBean(Shop.class)::sellAndLose);
                    assertThat(context.getBean(Sales.class).committed()).isEqualTo(1);
                });
    }

    private static void loseHere(LockInspector inspector) {
        try {
            LockedApplication.lose(inspector, "stock");
        } catch (InterruptedException interrupt) {
            throw new IllegalStateException(interrupt);
        }
    }

    /** It is of a final class. */
    @ParameterizedTest
    @ValueSource(classes = {FoundByFinalClass.class, RoomInArray.class, RoomInMap.class})
    void aManagerThatMayFindAnotherAndCannotBeGuardedIsNamedAndNotRefused(Class<?> managers) {
        runner.withUserConfiguration(managers).withBean(Shop.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(log.lines())
                    .singleElement()
                    .asString()
                    .startsWith("WARN Transactions of " + getClass().getName() + "$")
                    .contains("declare its bean with the type PlatformTransactionManager", "ensureHeld()");
        });
    }

    static class FoundByFinalClass {
        @Bean
        @Primary
        Finding finding(ObjectProvider<DataSourceTransactionManager> managers) {
            return new Finding(managers);
        }
    }

    static class RoomInArray {
        @Bean
        @Primary
        InArrayField later() {
            return new InArrayField(new PlatformTransactionManager[1]);
        }
    }

    static class RoomInMap {
        @Bean
        @Primary
        InMapField later() {
            return new InMapField(new HashMap<>());
        }
    }

    @Test
    void aManagerMayBeInjectedByItsClass() {
        runner.withUserConfiguration(TakenAndFound.class).run(context -> assertThat(context.getBean(Taking.class))
                .isSameAs(context.getBean(PlatformTransactionManager.class)));
        runner.withUserConfiguration(TakenByInterface.class).run(context -> assertThat(context.getBean(Taking.class))
                .isSameAs(context.getBean(PlatformTransactionManager.class)));
        runner.withUserConfiguration(Delegated.class).run(context -> assertThat(context.getBean(Hidden.class))
                .isSameAs(context.getBean(PlatformTransactionManager.class)));
    }

    @Test
    void listenersThatAreSetAfterTheStartDoNotTakeTheGuardAway() {
        runner.withBean(Shop.class).run(context -> {
            DataSourceTransactionManager manager = context.getBean(DataSourceTransactionManager.class);
            manager.setTransactionExecutionListeners(List.of(new TransactionExecutionListener() {}));
            assertRollback(context.getBean(Shop.class), context.getBean(Sales.class));
            assertThat(manager.getTransactionExecutionListeners()).hasSize(2);
        });
    }

    @Test
    void theManagerOfAParentDoesNotKeepAClosedChild() {
        new ApplicationContextRunner()
                .withUserConfiguration(SalesDatabase.class)
                .run(parent -> {
                    WeakReference<?> child = closedChild(parent);
                    assertGuardedOnce(parent.getBean(PlatformTransactionManager.class));
                    Awaitility.await().until(() -> {
                        System.gc();
                        return child.refersTo(null);
                    });
                });
    }

    private static WeakReference<?> closedChild(ApplicationContext parent) {
        AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext();
        child.setParent(parent);
        TestPropertyValues.of("lockkeeper.store=memory").applyTo(child);
        child.register(LockkeeperAutoConfiguration.class, Transactions.class, Shop.class);
        child.refresh();
        assertRollback(child.getBean(Shop.class), child.getBean(Sales.class));
        child.close();
        return new WeakReference<>(child.getBeanFactory());
    }

    @Test
    void aLazyManagerBesideOneThatWouldCommitDoesNotHideIt() {
        runner.withUserConfiguration(Delegated.class, Late.class)
                .withBean(Shop.class)
                .run(context -> assertThat(context.getStartupFailure())
                        .hasMessageContaining("onLost: FAIL promises that a transaction rolls back")
                        .hasMessageContaining(Hidden.class.getName()));
        runner.withUserConfiguration(Delegated.class, Late.class)
                .withBean(NamingShop.class)
                .run(context -> assertThat(context).hasNotFailed());
        runner.withUserConfiguration(Late.class)
                .withUserConfiguration(NotPrimary.class)
                .withBean(NamingLateShop.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBeanFactory().containsSingleton("late"))
                            .isFalse();
                });
    }

    static class NotPrimary {
        @Bean
        Hidden hidden(DataSource dataSource) {
            return Hidden.of(dataSource);
        }
    }

    static class NamingLateShop {
        @Transactional("late")
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void sell() {}
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theManagersInsideOfCollectionsOfOneThatTakesListenersAreGuarded(boolean isNested) {
        runner.withUserConfiguration(TakenInside.class)
                .withPropertyValues("nested=" + isNested)
                .withBean(Shop.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertRollback(context.getBean(Shop.class), context.getBean(Sales.class));
                    assertThat(log.lines()).isEmpty();
                });
    }

    static class TakenInside {
        @Bean
        @Primary
        PlatformTransactionManager taking(DataSource dataSource, @Value("${nested}") boolean isNested) {
            PlatformTransactionManager manager = new DataSourceTransactionManager(dataSource);
            return new Taking(
                    isNested ? Map.of("tenant", List.of(manager)) : new PlatformTransactionManager[] {manager});
        }
    }

    static class Taking implements PlatformTransactionManager, ConfigurableTransactionManager {

        private final Object managers;
        private Collection<TransactionExecutionListener> listeners = List.of();

        Taking(Object managers) {
            this.managers = managers;
        }

        private PlatformTransactionManager manager() {
            return managers instanceof Supplier<?> supplier
                    ? (PlatformTransactionManager) supplier.get()
                    : managers instanceof PlatformTransactionManager[] array
                            ? array[0]
                            : managers instanceof Map<?, ?> map
                                    ? (PlatformTransactionManager) ((List<?>) map.get("tenant")).get(0)
                                    : (PlatformTransactionManager) managers;
        }

        @Override
        public void setTransactionExecutionListeners(Collection<TransactionExecutionListener> all) {
            listeners = all;
        }

        @Override
        public Collection<TransactionExecutionListener> getTransactionExecutionListeners() {
            return listeners;
        }

        @Override
        public TransactionStatus getTransaction(TransactionDefinition definition) {
            return manager().getTransaction(definition);
        }

        @Override
        public void commit(TransactionStatus status) {
            manager().commit(status);
        }

        @Override
        public void rollback(TransactionStatus status) {
            manager().rollback(status);
        }
    }

    @ParameterizedTest
    @ValueSource(
            classes = {TwoLevels.class, InArray.class, Nested.class, Found.class, LazyDelegate.class, ByFunction.class})
    void aManagerThatDelegatesToAGuardedBeanAtAnyDepthIsGuarded(Class<?> managers) {
        runner.withUserConfiguration(managers).withBean(Shop.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertRollback(context.getBean(Shop.class), context.getBean(Sales.class));
            assertThat(log.lines()).isEmpty();
        });
    }

    static class TwoLevels {
        @Bean
        PlatformTransactionManager routing(@Qualifier("transactions") PlatformTransactionManager manager) {
            return new Delegating(manager);
        }

        @Bean
        @Primary
        PlatformTransactionManager metered(@Qualifier("routing") PlatformTransactionManager manager) {
            return new Delegating(manager);
        }
    }

    static class InArray {
        @Bean
        @Primary
        PlatformTransactionManager choosing(@Qualifier("transactions") PlatformTransactionManager manager) {
            return new Choosing<>(new PlatformTransactionManager[] {manager}, all -> all[0]);
        }
    }

    static class Nested {
        @Bean
        @Primary
        PlatformTransactionManager choosing(@Qualifier("transactions") PlatformTransactionManager manager) {
            return new Choosing<>(
                    Map.of("tenant", List.of(manager)), all -> all.get("tenant").get(0));
        }
    }

    record Choosing<T>(T managers, Function<T, PlatformTransactionManager> choice)
            implements PlatformTransactionManager {
        @Override
        public TransactionStatus getTransaction(TransactionDefinition definition) {
            return choice.apply(managers).getTransaction(definition);
        }

        @Override
        public void commit(TransactionStatus status) {
            choice.apply(managers).commit(status);
        }

        @Override
        public void rollback(TransactionStatus status) {
            choice.apply(managers).rollback(status);
        }
    }

    static class LazyDelegate {
        @Bean
        @Primary
        PlatformTransactionManager metered(@Lazy @Qualifier("transactions") PlatformTransactionManager manager) {
            return new Delegating(manager);
        }
    }

    static class ByFunction {
        @Bean
        @Primary
        PlatformTransactionManager choosing(BeanFactory beans) {
            return new Choosing<>("transactions", name -> beans.getBean(name, PlatformTransactionManager.class));
        }
    }

    /** As @MockitoBean does. It commits nothing. */
    @Test
    void aMockOfAManagerIsNotRefused() {
        runner.withBean(
                        "mocked",
                        PlatformTransactionManager.class,
                        () -> Mockito.mock(PlatformTransactionManager.class),
                        definition -> definition.setPrimary(true))
                .withBean(Shop.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(log.lines()).isEmpty();
                });
    }

    @ParameterizedTest
    @ValueSource(classes = {Refusing.class, CommittingByItself.class})
    void aManagerThatRefusesListenersIsGuarded(Class<?> managers) {
        runner.withUserConfiguration(managers).withBean(Shop.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertRollback(context.getBean(Shop.class), context.getBean(Sales.class));
            assertThat(log.lines()).isEmpty();
        });
    }

    static class Refusing {
        @Bean
        @Primary
        PlatformTransactionManager refusing(DataSource dataSource) {
            return new RefusingManager(new DataSourceTransactionManager(dataSource));
        }
    }

    static class RefusingManager extends Taking {

        RefusingManager(PlatformTransactionManager manager) {
            super(manager);
        }

        @Override
        public void setTransactionExecutionListeners(Collection<TransactionExecutionListener> all) {
            throw new UnsupportedOperationException("listeners are fixed");
        }
    }

    @Test
    void aMethodThatNamesAnotherManagerIsNot() {
        runner.withUserConfiguration(Delegated.class).withBean(NamingShop.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(log.lines())
                    .singleElement()
                    .asString()
                    .startsWith("WARN Transactions of " + Hidden.class.getName())
                    .contains("ensureHeld()");
        });
    }

    @Test
    void aManagerThatCannotBeGuardedIsNamedOnceWhereOnlyBodiesMayUseIt() {
        runner.withUserConfiguration(Delegated.class)
                .withBean(BeginningShop.class)
                .run(context -> assertThat(log.lines())
                        .singleElement()
                        .asString()
                        .startsWith("WARN Transactions of " + Hidden.class.getName()));
        runner.withUserConfiguration(Delegated.class)
                .withInitializer(context ->
                        context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
                .withBean(BeginningShop.class)
                .run(context -> {
                    assertThat(log.lines()).hasSize(1);
                    context.getBean("hidden");
                    assertThat(log.lines()).hasSize(2);
                });
    }

    @Test
    void whereEveryLossIsOnlyReportedNothingIsSaid() {
        runner.withUserConfiguration(Delegated.class)
                .withBean(ReportingShop.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(log.lines()).isEmpty();
                });
    }

    @Test
    void aLossBetweenTheBodyAndTheCommitRollsBack() {
        runner.withPropertyValues("lockkeeper.inside-transaction=release-after-completion")
                .withBean(Shop.class)
                .withBean(ReportingShop.class)
                .run(context -> {
                    Sales sales = context.getBean(Sales.class);
                    Shop shop = context.getBean(Shop.class);
                    ReportingShop reporting = context.getBean(ReportingShop.class);
                    LockInspector inspector = context.getBean(LockInspector.class);
                    TransactionTemplate transactions = context.getBean(TransactionTemplate.class);
                    assertThatExceptionOfType(LockLostException.class)
                            .isThrownBy(() -> transactions.executeWithoutResult(status -> {
                                shop.sell();
                                loseWhatIsKept(inspector);
                            }));
                    assertThat(sales.committed()).isZero();
                    transactions.executeWithoutResult(status -> {
                        reporting.sell();
                        loseWhatIsKept(inspector);
                    });
                    assertThat(sales.committed()).isEqualTo(1);
                });
    }

    @Test
    void aLockThatIsHeldOnAlreadyIsGuardedFromTheFirstMethodThatWantsIt() {
        runner.withPropertyValues("lockkeeper.inside-transaction=release-after-completion")
                .withBean(Shop.class)
                .withBean(ReportingShop.class)
                .run(context -> {
                    Sales sales = context.getBean(Sales.class);
                    Shop shop = context.getBean(Shop.class);
                    ReportingShop reporting = context.getBean(ReportingShop.class);
                    LockInspector inspector = context.getBean(LockInspector.class);
                    TransactionTemplate transactions = context.getBean(TransactionTemplate.class);
                    assertThatExceptionOfType(LockLostException.class)
                            .isThrownBy(() -> transactions.executeWithoutResult(status -> {
                                reporting.sell();
                                shop.sell();
                                reporting.sell();
                                loseWhatIsKept(inspector);
                            }));
                    assertThat(sales.committed()).isZero();
                });
    }

    @Test
    void anExceptionRollsBackATransactionThatHoldsALostLockOn() {
        runner.withPropertyValues("lockkeeper.inside-transaction=release-after-completion")
                .withBean(Shop.class)
                .withBean(Committing.class)
                .run(context -> {
                    LockInspector inspector = context.getBean(LockInspector.class);
                    assertThatExceptionOfType(IllegalArgumentException.class)
                            .isThrownBy(() -> context.getBean(Committing.class).run(() -> {
                                context.getBean(Shop.class).sell();
                                loseWhatIsKept(inspector);
                                throw new IllegalArgumentException("own");
                            }))
                            .satisfies(failure -> assertThat(failure.getSuppressed())
                                    .singleElement()
                                    .isInstanceOf(LockLostException.class));
                    assertThat(context.getBean(Sales.class).committed()).isZero();
                });
    }

    static class Committing {
        @Transactional(noRollbackFor = IllegalArgumentException.class)
        public void run(Runnable body) {
            body.run();
        }
    }

    @Test
    void theLogNamesTheMethodAndTheThreadOfALoss() {
        runner.withBean(ReportingShop.class).run(context -> {
            String thread = Thread.currentThread().getName();
            context.getBean(ReportingShop.class).lose();
            // The callback that ends the body runs on a thread of its own, beside the one that writes the line.
            Awaitility.await().untilAsserted(() -> assertThat(losses.lines())
                    .singleElement()
                    .asString()
                    .startsWith("WARN Lock 'stock'")
                    .contains("ReportingShop.lose", thread));
        });
    }

    private void loseWhatIsKept(LockInspector inspector) {
        int before = losses.lines().size();
        inspector.forceRelease("stock");
        Awaitility.await()
                .pollInterval(Duration.ofMillis(5))
                .until(() -> losses.lines().size() > before);
    }

    private static void assertRollback(Shop shop, Sales sales) {
        assertThatExceptionOfType(LockLostException.class).isThrownBy(shop::sellAndLose);
        assertThat(sales.committed()).isZero();
    }

    private static void assertGuardedOnce(PlatformTransactionManager manager) {
        assertThat(((AbstractPlatformTransactionManager) manager).getTransactionExecutionListeners())
                .singleElement()
                .satisfies(guard -> assertThat(guard.getClass().getSimpleName()).isEqualTo("TransactionGuard"));
    }

    private static Class<?>[] bootTransactions() {
        return Stream.of(
                        "org.springframework.boot.transaction.autoconfigure.TransactionManagerCustomizationAutoConfiguration",
                        "org.springframework.boot.autoconfigure.transaction.TransactionManagerCustomizationAutoConfiguration",
                        "org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration",
                        "org.springframework.boot.autoconfigure.jdbc.DataSourceTransactionManagerAutoConfiguration")
                .filter(name -> ClassUtils.isPresent(name, null))
                .map(name -> ClassUtils.resolveClassName(name, null))
                .toArray(Class<?>[]::new);
    }

    @EnableTransactionManagement(proxyTargetClass = true)
    static class Transactions {}

    @EnableTransactionManagement
    static class TransactionsByInterfaces {}

    static class Database {
        @Bean
        DataSource dataSource() {
            return new SalesDatabase().dataSource();
        }

        @Bean
        Sales sales(DataSource dataSource) {
            return new Sales(dataSource);
        }
    }

    static class Early {
        @Bean
        static EarlyBird early(PlatformTransactionManager manager) {
            return new EarlyBird(manager);
        }
    }

    /** Nothing can be put around it: it may be injected by its class, which is final. */
    static class Delegated {
        @Bean
        @Primary
        Hidden hidden(DataSource dataSource) {
            return Hidden.of(dataSource);
        }
    }

    static class DelegatedToNoBean {
        @Bean
        @Primary
        Delegating delegating(DataSource dataSource) {
            return new Delegating(new DataSourceTransactionManager(dataSource));
        }
    }

    static class DelegatedToArray {
        @Bean
        @Primary
        InArrayField routing(DataSource dataSource) {
            return new InArrayField(new PlatformTransactionManager[] {new DataSourceTransactionManager(dataSource)});
        }
    }

    static class DelegatedToMap {
        @Bean
        @Primary
        InMapField routing(DataSource dataSource) {
            return new InMapField(Map.of("tenant", List.of(new DataSourceTransactionManager(dataSource))));
        }
    }

    static class DelegatedToRing {
        @Bean
        @Primary
        InRing routing(DataSource dataSource) {
            Object[] ring = {new DataSourceTransactionManager(dataSource), null};
            ring[1] = ring;
            return new InRing(ring);
        }
    }

    interface Routing extends PlatformTransactionManager {

        PlatformTransactionManager manager();

        @Override
        default TransactionStatus getTransaction(TransactionDefinition definition) {
            return manager().getTransaction(definition);
        }

        @Override
        default void commit(TransactionStatus status) {
            manager().commit(status);
        }

        @Override
        default void rollback(TransactionStatus status) {
            manager().rollback(status);
        }
    }

    @SuppressWarnings("ArrayRecordComponent")
    record InArrayField(PlatformTransactionManager[] managers) implements Routing {
        @Override
        public PlatformTransactionManager manager() {
            return managers[0];
        }
    }

    /** An array that is inside of itself. */
    @SuppressWarnings("ArrayRecordComponent")
    record InRing(Object[] ring) implements Routing {
        @Override
        public PlatformTransactionManager manager() {
            return (PlatformTransactionManager) ring[0];
        }
    }

    record InMapField(Map<String, List<PlatformTransactionManager>> managers) implements Routing {
        @Override
        public PlatformTransactionManager manager() {
            return managers.get("tenant").get(0);
        }
    }

    static class DelegatedToBean {
        @Bean
        @Primary
        Delegating delegating(DataSourceTransactionManager manager) {
            return new Delegating(manager);
        }
    }

    static class Found {
        @Bean
        @Primary
        PlatformTransactionManager finding(ObjectProvider<DataSourceTransactionManager> managers) {
            return new Finding(managers);
        }
    }

    static class Late {
        @Lazy
        @Bean(defaultCandidate = false)
        PlatformTransactionManager late(DataSource dataSource) {
            return new DataSourceTransactionManager(dataSource);
        }
    }

    record OfAnnotations(DataSource dataSource) implements TransactionManagementConfigurer {
        @Override
        public PlatformTransactionManager annotationDrivenTransactionManager() {
            return new DataSourceTransactionManager(dataSource);
        }
    }

    static class Listening {
        @Bean
        @Primary
        PlatformTransactionManager listening(DataSource dataSource) {
            DataSourceTransactionManager manager = new DataSourceTransactionManager(dataSource);
            manager.setTransactionExecutionListeners(List.of(new TransactionExecutionListener() {}));
            return manager;
        }
    }

    record Finding(ObjectProvider<? extends PlatformTransactionManager> managers)
            implements PlatformTransactionManager {
        @Override
        public TransactionStatus getTransaction(TransactionDefinition definition) {
            return managers.getObject().getTransaction(definition);
        }

        @Override
        public void commit(TransactionStatus status) {
            managers.getObject().commit(status);
        }

        @Override
        public void rollback(TransactionStatus status) {
            managers.getObject().rollback(status);
        }
    }

    static class CommittingByItself {
        @Bean
        @Primary
        Own own(DataSource dataSource) {
            return new Own(dataSource);
        }
    }

    /** It knows no synchronizations. */
    static class Own implements PlatformTransactionManager {

        private final DataSource dataSource;

        Own(DataSource dataSource) {
            this.dataSource = dataSource;
        }

        @Override
        public TransactionStatus getTransaction(TransactionDefinition definition) {
            try {
                ConnectionHolder connection = new ConnectionHolder(dataSource.getConnection());
                connection.getConnection().setAutoCommit(false);
                TransactionSynchronizationManager.bindResource(dataSource, connection);
                return new SimpleTransactionStatus();
            } catch (SQLException failure) {
                throw new CannotCreateTransactionException("no connection", failure);
            }
        }

        @Override
        public void commit(TransactionStatus status) {
            end(Connection::commit);
        }

        @Override
        public void rollback(TransactionStatus status) {
            end(Connection::rollback);
        }

        private void end(End end) {
            ConnectionHolder connection =
                    (ConnectionHolder) TransactionSynchronizationManager.unbindResource(dataSource);
            try (Connection ending = connection.getConnection()) {
                end.of(ending);
            } catch (SQLException failure) {
                throw new TransactionSystemException("not ended", failure);
            }
        }

        private interface End {
            void of(Connection connection) throws SQLException;
        }
    }

    /** Nothing can see the manager that it passes transactions on to. */
    record Hidden(TransactionOperation getting, Ending committing, Ending rollingBack)
            implements PlatformTransactionManager {

        static Hidden of(DataSource dataSource) {
            PlatformTransactionManager manager = new DataSourceTransactionManager(dataSource);
            return new Hidden(manager::getTransaction, manager::commit, manager::rollback);
        }

        @Override
        public TransactionStatus getTransaction(TransactionDefinition definition) {
            return getting.apply(definition);
        }

        @Override
        public void commit(TransactionStatus status) {
            committing.apply(status);
        }

        @Override
        public void rollback(TransactionStatus status) {
            rollingBack.apply(status);
        }

        interface TransactionOperation {
            TransactionStatus apply(TransactionDefinition definition);
        }

        interface Ending {
            void apply(TransactionStatus status);
        }
    }

    record Delegating(PlatformTransactionManager manager) implements PlatformTransactionManager {
        @Override
        public TransactionStatus getTransaction(TransactionDefinition definition) {
            return manager.getTransaction(definition);
        }

        @Override
        public void commit(TransactionStatus status) {
            manager.commit(status);
        }

        @Override
        public void rollback(TransactionStatus status) {
            manager.rollback(status);
        }
    }

    /** Makes the manager before any other post-processor is there. */
    static class EarlyBird implements BeanPostProcessor, PriorityOrdered {

        EarlyBird(PlatformTransactionManager manager) {
            assertThat(manager).isInstanceOf(DataSourceTransactionManager.class);
        }

        @Override
        public int getOrder() {
            return Ordered.HIGHEST_PRECEDENCE;
        }
    }

    /** What Spring Boot does with its managers. */
    record Customizer(Supplier<TransactionExecutionListener> listener) implements BeanPostProcessor {
        @Override
        public Object postProcessBeforeInitialization(Object bean, String name) {
            if (bean instanceof AbstractPlatformTransactionManager manager) {
                manager.addListener(listener.get());
            }
            return bean;
        }
    }

    static class Shop {

        private final Sales sales;
        private final LockInspector inspector;

        Shop(Sales sales, LockInspector inspector) {
            this.sales = sales;
            this.inspector = inspector;
        }

        @Transactional
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void sellAndLose() throws InterruptedException {
            sales.add();
            LockedApplication.lose(inspector, "stock");
        }

        @Transactional
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void sell() {
            sales.add();
        }
    }

    @Transactional
    static class TransactionalShop {
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void sell() {}
    }

    static class NamingShop {
        @Transactional("transactions")
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void sell() {}
    }

    static class BeginningShop {
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void sell(Runnable transaction) {
            transaction.run();
        }

        @DistributedLocked(name = "stock", onLost = LossPolicy.INTERRUPT)
        public void buy() {}
    }

    static class ReportingShop {

        private final Sales sales;
        private final LockInspector inspector;

        ReportingShop(Sales sales, LockInspector inspector) {
            this.sales = sales;
            this.inspector = inspector;
        }

        @Transactional
        @DistributedLocked("stock")
        public void sell() {
            sales.add();
        }

        @DistributedLocked("stock")
        public void lose() throws InterruptedException {
            LockedApplication.lose(inspector, "stock");
        }
    }
}
