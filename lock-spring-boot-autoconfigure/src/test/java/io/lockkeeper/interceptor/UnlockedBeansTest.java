/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.interceptor.DistributedLockedValidator.GivenObjects;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.aspectj.lang.annotation.Aspect;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Mockito;
import org.springframework.aop.TargetSource;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.framework.ProxyFactoryBean;
import org.springframework.aop.target.AbstractBeanFactoryBasedTargetSource;
import org.springframework.aop.target.AbstractLazyCreationTargetSource;
import org.springframework.aop.target.HotSwappableTargetSource;
import org.springframework.aop.target.LazyInitTargetSource;
import org.springframework.aop.target.PrototypeTargetSource;
import org.springframework.aop.target.ThreadLocalTargetSource;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.AutowireCapableBeanFactory;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.RuntimeBeanReference;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.Ordered;
import org.springframework.core.PriorityOrdered;
import org.springframework.util.ClassUtils;

/** Beans that exist, and whose annotated methods run without a lock for all that. */
class UnlockedBeansTest {

    private final LogRecorder log = new LogRecorder(DistributedLocked.class);

    @AfterEach
    void stopRecording() {
        log.close();
    }

    @Test
    void aBeanThatAPostProcessorNeedsIsMadeTooEarlyAndReported() {
        runner().withUserConfiguration(EarlyBeans.class)
                .run(context -> assertThat(faults(context)).singleElement().satisfies(fault -> {
                    assertThat(fault.method()).isEqualTo("held()");
                    assertThat(fault.problem()).contains("the bean [early] was made before");
                    assertThat(fault.remedy()).contains("ObjectProvider");
                }));
    }

    @Test
    void aProductOfAFactoryThatAPostProcessorNeedsIsMadeTooEarlyAndReported() {
        runner().withUserConfiguration(EarlyProducts.class).run(context -> assertThat(faults(context))
                .singleElement()
                .satisfies(fault -> assertThat(fault.problem()).contains("the bean [product] was made before")));
    }

    /** Or a context that makes prototypes or inner beans all the time would keep the names of all of them. */
    @Test
    void noBeanIsEarlyOnceTheConfigurationIsFrozenAlsoWithoutProxies() {
        DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
        beans.registerBeanDefinition("early", new RootBeanDefinition(Shop.class));
        beans.registerBeanDefinition("late", new RootBeanDefinition(Shop.class));
        GivenObjects objects = new GivenObjects();
        objects.setBeanFactory(beans);
        beans.getBean("early");
        beans.freezeConfiguration();
        beans.getBean("late");

        assertThat(objects.early).containsOnlyKeys("early");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aProductOfAFactoryThatHasAProxyItselfIsReported(boolean byClass) {
        runner().withPropertyValues("spring.aop.proxy-target-class=" + byClass)
                .withBean("product", LockedFactory.class)
                .run(context -> assertThat(faults(context)).singleElement().satisfies(fault -> assertThat(
                                fault.toString())
                        .contains("Product.work(): belongs to a final")));
    }

    @Test
    void productsOfFactoriesThatOtherBeansHaveAreNoAlarm() {
        runner().withUserConfiguration(LockedBeans.class, UserOfProducts.class)
                .run(context -> assertThat(context).hasNotFailed());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aProxyOfAnObjectThatIsNoBeanIsReportedWhenItIsMade(boolean isSwappable) {
        Shop shop = new Shop();
        runner().withInitializer(context -> define(context, isSwappable ? new HotSwappableTargetSource(shop) : shop))
                .run(context -> assertThatExceptionOfType(BeanCreationException.class)
                        .isThrownBy(() -> context.getBean("made"))
                        .havingRootCause()
                        .isInstanceOf(DistributedLockedConfigurationException.class)
                        .withMessageContaining("Shop.held(): is not locked, because the bean [made] is a proxy by"
                                + " interfaces of an object that is no bean. Let its target be a bean, or write the"
                                + " annotation in the interface."));
    }

    @Test
    void aProxyOfALockedBeanIsNoAlarm() {
        runner().withBean("shop", Shop.class)
                .withInitializer(context -> define(context, new RuntimeBeanReference("shop")))
                .run(context -> {
                    assertThat(context.getBean("made", Stock.class).held()).containsExactly("shop");
                    assertThat(log.lines()).isEmpty();
                });
    }

    @Test
    void aProxyOfALockedBeanThatCanBeSwappedIsNoAlarm() {
        runner().withBean(Shop.class).withUserConfiguration(Swapped.class).run(context -> {
            assertThat(context.getBean("swapped", Stock.class).held()).containsExactly("shop");
            assertThat(log.lines()).isEmpty();
        });
    }

    @Configuration(proxyBeanMethods = false)
    static class Swapped {
        @Bean
        Stock swapped(Shop shop) {
            ProxyFactory proxy = new ProxyFactory();
            proxy.setInterfaces(Stock.class);
            proxy.setTargetSource(new HotSwappableTargetSource(shop));
            return (Stock) proxy.getProxy();
        }
    }

    @Test
    void aProxyThatMakesItsTargetLaterIsWarnedOf() {
        runner().withInitializer(context -> define(context, new MakingLater())).run(context -> {
            for (int call = 1; call <= 2; call++) {
                assertThat(context.getBean("made", Stock.class).held()).isEmpty();
            }
            assertThat(log.lines())
                    .containsExactly("WARN The methods with @DistributedLocked of " + Shop.class.getName()
                            + " are not locked: the bean 'made' is a proxy by interfaces that gets its target from "
                            + MakingLater.class.getName() + ", unless that is a bean. Define a bean for it, or let"
                            + " AutowireCapableBeanFactory.createBean make it. Said once for each class and reason");
        });
    }

    @Test
    void anOpaqueProxyThatNoLockCanBeSeenBeforeIsWarnedOf() {
        runner().withInitializer(context -> {
                    define(context, new Shop());
                    context.getBeanFactory()
                            .getBeanDefinition("made")
                            .getPropertyValues()
                            .add("opaque", true);
                })
                .run(context -> {
                    assertThat(context.getBean("made", Stock.class).held()).isEmpty();
                    assertThat(log.lines())
                            .singleElement()
                            .asString()
                            .contains(
                                    "WARN",
                                    "of " + Shop.class.getName()
                                            + " are not locked: the bean 'made' is an opaque proxy by"
                                            + " interfaces, unless its target is a bean");
                });
    }

    @Test
    void opaqueProxiesThatLockAreNoAlarm() {
        BeanFactoryPostProcessor opaque = beans -> beans.getBeanDefinition(AopConfigUtils.AUTO_PROXY_CREATOR_BEAN_NAME)
                .getPropertyValues()
                .add("opaque", true);
        runner().withBean("opaque", BeanFactoryPostProcessor.class, () -> opaque)
                .withPropertyValues("spring.aop.proxy-target-class=false")
                .withBean("shop", Shop.class)
                .run(context -> {
                    assertThat(context.getBean("shop")).isNotInstanceOfAny(Shop.class, Advised.class);
                    assertThat(context.getBean("shop", Stock.class).held()).containsExactly("shop");
                    assertThat(log.lines()).isEmpty();
                });
    }

    @ParameterizedTest
    @ValueSource(classes = {PrototypeTargetSource.class, ThreadLocalTargetSource.class, LazyInitTargetSource.class})
    void aProxyOfABeanThatIsMadeLaterIsNoAlarm(Class<? extends AbstractBeanFactoryBasedTargetSource> type) {
        RootBeanDefinition source = new RootBeanDefinition(type);
        source.getPropertyValues().add("targetBeanName", "shop");
        runner().withBean("shop", Shop.class, Shop::new, definition -> {
                    definition.setLazyInit(true);
                    definition.setScope(type == LazyInitTargetSource.class ? "singleton" : "prototype");
                })
                .withInitializer(context -> {
                    ((GenericApplicationContext) context).registerBeanDefinition("source", source);
                    define(context, new RuntimeBeanReference("source"));
                })
                .run(context -> {
                    assertThat(context.getBean("made", Stock.class).held()).containsExactly("shop");
                    assertThat(log.lines()).isEmpty();
                });
    }

    static class MakingLater extends AbstractLazyCreationTargetSource {
        @Override
        protected Object createObject() {
            return new Shop();
        }

        @Override
        public Class<?> getTargetClass() {
            return Shop.class;
        }
    }

    private static void define(ConfigurableApplicationContext context, Object target) {
        RootBeanDefinition definition = new RootBeanDefinition(ProxyFactoryBean.class);
        definition
                .getPropertyValues()
                .add("proxyInterfaces", Stock.class)
                .add(isSource(target) ? "targetSource" : "target", target);
        ((GenericApplicationContext) context).registerBeanDefinition("made", definition);
    }

    private static boolean isSource(Object target) {
        return target instanceof TargetSource
                || (target instanceof RuntimeBeanReference bean
                        && bean.getBeanName().equals("source"));
    }

    @ParameterizedTest
    @ValueSource(classes = {Advising.class, Infrastructure.class})
    void aBeanThatSpringNeverProxiesIsReported(Class<?> type) {
        runner().withBean(type)
                .run(context -> assertThat(faults(context)).singleElement().satisfies(fault -> {
                    assertThat(fault.problem())
                            .startsWith("is not locked, because Spring puts no proxy around the bean [");
                    assertThat(fault.remedy())
                            .isEqualTo("Write the annotation on a method of another bean, or use LockTemplate");
                }));
    }

    @ParameterizedTest
    @ValueSource(classes = {Advising.class, Infrastructure.class})
    void anObjectWithoutADefinitionOfItsOwnThatSpringNeverProxiesIsReported(Class<?> type) {
        String problem = "is not locked, because Spring puts no proxy around the bean [";
        RootBeanDefinition keeping = new RootBeanDefinition(Keeping.class);
        keeping.getPropertyValues().add("kept", new RootBeanDefinition(type));
        runner().withInitializer(
                        context -> ((GenericApplicationContext) context).registerBeanDefinition("keeping", keeping))
                .run(context -> assertThat(faults(context))
                        .singleElement()
                        .satisfies(fault -> assertThat(fault.problem()).startsWith(problem)));
        runner().run(context -> assertThatExceptionOfType(BeanCreationException.class)
                .isThrownBy(() -> context.getAutowireCapableBeanFactory().createBean(type))
                .havingRootCause()
                .isInstanceOf(DistributedLockedConfigurationException.class)
                .withMessageContaining(problem + type.getName()));
    }

    static class Keeping {
        public void setKept(Object kept) {
            assertThat(kept).isNotNull();
        }
    }

    /** Neither the auto-proxy creator nor the check sees such a bean when it is made. */
    @ParameterizedTest
    @ValueSource(strings = {"eager", "lazy", "prototype"})
    void aBeanOfASyntheticDefinitionIsReported(String kind) {
        ApplicationContextRunner runner = runner().withInitializer(context -> define(context, kind, Shop.class));
        runner.run(context -> assertThat(faults(context)).singleElement().satisfies(fault -> {
            assertThat(fault.method()).isEqualTo("held()");
            assertThat(fault.problem())
                    .isEqualTo("is not locked, because Spring puts no proxy around the bean [synthetic]");
        }));
        runner.withPropertyValues("lockkeeper.enabled=false")
                .run(context -> assertThat(context).hasNotFailed());
    }

    /** What makes it may put it under a lock. */
    @Test
    void aBeanThatASyntheticFactoryMakesLaterIsWarnedOf() {
        runner().withInitializer(context -> define(context, "lazy", ShopFactory.class))
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(log.lines())
                            .containsExactly("WARN The methods with @DistributedLocked of [synthetic] are not locked,"
                                    + " unless what makes these beans locks them: their definitions are synthetic, and"
                                    + " Spring puts no proxies around them");
                });
    }

    /** No post-processor sees them but one that is told of merged definitions. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aSyntheticDefinitionThatTheStartDoesNotSeeIsWarnedOf(boolean isInner) {
        runner().withInitializer(context -> {
                    if (isInner) {
                        RootBeanDefinition holder = new RootBeanDefinition(Holder.class);
                        holder.getPropertyValues().add("shop", synthetic(Shop.class));
                        ((GenericApplicationContext) context).registerBeanDefinition("holder", holder);
                    }
                })
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    GenericApplicationContext application =
                            (GenericApplicationContext) context.getSourceApplicationContext();
                    if (!isInner) {
                        application.registerBeanDefinition("late", synthetic(Shop.class));
                        application.registerBeanDefinition("again", synthetic(Shop.class));
                        application.getBean("late");
                        application.getBean("again");
                    }
                    assertThat(log.lines())
                            .singleElement()
                            .asString()
                            .startsWith("WARN The methods with @DistributedLocked of " + Shop.class.getName())
                            .contains("is synthetic, and Spring puts no proxy around such a bean");
                });
        runner().withPropertyValues("lockkeeper.enabled=false").run(context -> {
            GenericApplicationContext application = (GenericApplicationContext) context.getSourceApplicationContext();
            application.registerBeanDefinition("late", synthetic(Shop.class));
            int before = log.lines().size();
            application.getBean("late");
            assertThat(log.lines()).hasSize(before);
        });
    }

    private static RootBeanDefinition synthetic(Class<?> type) {
        RootBeanDefinition definition = new RootBeanDefinition(type);
        definition.setSynthetic(true);
        return definition;
    }

    static class Holder {
        private Shop shop;

        public Shop getShop() {
            return shop;
        }

        public void setShop(Shop shop) {
            this.shop = shop;
        }
    }

    /** Spring Cloud makes it so for its refresh scope. */
    @Test
    void aScopedProxyOfASyntheticDefinitionIsNoAlarm() {
        BeanFactoryPostProcessor synthetic =
                beans -> ((AbstractBeanDefinition) beans.getBeanDefinition("scoped")).setSynthetic(true);
        runner().withBean("synthetic", BeanFactoryPostProcessor.class, () -> synthetic)
                .withUserConfiguration(LazyScoped.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBean("scoped", Shop.class).held()).containsExactly("shop");
                    assertThat(log.lines()).isEmpty();
                });
    }

    private static void define(ConfigurableApplicationContext context, String kind, Class<?> type) {
        RootBeanDefinition definition = synthetic(type);
        definition.setLazyInit(kind.equals("lazy"));
        definition.setScope(kind.equals("prototype") ? "prototype" : "singleton");
        ((GenericApplicationContext) context).registerBeanDefinition("synthetic", definition);
    }

    static class ShopFactory implements FactoryBean<Shop> {
        @Override
        public Shop getObject() {
            return new Shop();
        }

        @Override
        public Class<?> getObjectType() {
            return Shop.class;
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class LazyScoped {
        @Bean
        @Lazy
        @Scope(scopeName = "prototype", proxyMode = ScopedProxyMode.TARGET_CLASS)
        Shop scoped() {
            return new Shop();
        }
    }

    @Test
    void objectsThatWereHandedInAreOnlyWarnedOf() {
        ApplicationContextInitializer<ConfigurableApplicationContext> handIn =
                context -> context.getBeanFactory().registerSingleton("finished", new Shop());
        runner().withInitializer(handIn).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(log.lines()).singleElement().asString().contains("WARN", "[finished] are not locked");
        });
    }

    @Test
    void objectsThatAreHandedInDuringTheStartAreNamed() {
        runner().withUserConfiguration(HandingIn.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(log.lines()).singleElement().asString().contains("WARN", "[early, late] are not locked");
        });
    }

    /** As another thread may remove it just then. */
    @Test
    void anObjectThatIsRemovedMeanwhileFailsNoEvent() {
        class Vanishing extends DefaultListableBeanFactory {
            @Override
            public String[] getSingletonNames() {
                String[] names = super.getSingletonNames();
                destroySingleton("late");
                return names;
            }
        }
        LockedApplication.runner(
                        new ApplicationContextRunner(() -> new AnnotationConfigApplicationContext(new Vanishing())))
                .run(context -> {
                    context.getSourceApplicationContext().getBeanFactory().registerSingleton("late", new Shop());
                    assertThatNoException().isThrownBy(() -> context.publishEvent("anything"));
                    assertThat(context.containsBean("late")).isFalse();
                    assertThat(log.lines()).isEmpty();
                });
    }

    @Test
    void anObjectThatIsHandedInAfterTheStartIsNamedAtTheNextEvent() {
        runner().run(context -> {
            ConfigurableListableBeanFactory beans =
                    context.getSourceApplicationContext().getBeanFactory();
            beans.registerSingleton("late", new Shop());
            assertThat(log.lines()).isEmpty();
            for (int i = 0; i < 2; i++) {
                context.publishEvent("anything");
                assertThat(log.lines()).singleElement().asString().contains("WARN", "[late] are not locked");
            }
            beans.registerSingleton("last", new Shop());
            context.getSourceApplicationContext().close();
            assertThat(log.lines()).hasSize(2).last().asString().contains("WARN", "[last] are not locked");
        });
        runner().withPropertyValues("lockkeeper.enabled=false").run(context -> {
            int before = log.lines().size();
            context.getSourceApplicationContext().getBeanFactory().registerSingleton("late", new Shop());
            context.publishEvent("anything");
            assertThat(log.lines()).hasSize(before);
        });
    }

    @ParameterizedTest
    @ValueSource(classes = {PriorityGreedy.class, OrderedGreedy.class, PlainGreedy.class})
    void anInnerBeanOfAPostProcessorIsLockedOrReported(Class<?> type) {
        runner().withInitializer(context -> {
                    RootBeanDefinition greedy = new RootBeanDefinition(type);
                    greedy.getPropertyValues().add("shop", new RootBeanDefinition(Shop.class));
                    ((GenericApplicationContext) context).registerBeanDefinition("greedy", greedy);
                })
                .run(context -> {
                    if (type == PlainGreedy.class) {
                        assertThat(context.getBean(PlainGreedy.class).getShop().held())
                                .containsExactly("shop");
                    } else {
                        assertThat(faults(context)).singleElement().satisfies(fault -> assertThat(fault.problem())
                                .contains("was made before locks could be put around it"));
                    }
                });
    }

    static class PlainGreedy extends Holder implements BeanPostProcessor {}

    static class OrderedGreedy extends PlainGreedy implements Ordered {
        @Override
        public int getOrder() {
            return 0;
        }
    }

    static class PriorityGreedy extends OrderedGreedy implements PriorityOrdered {}

    @ParameterizedTest
    @ValueSource(strings = {"list", "map", "array"})
    void objectsInsideOfABeanAreNamedOnceForEachClass(String name) {
        Map<String, Supplier<Object>> beans = Map.of(
                "list", () -> List.of("text", new Shop(), new Shop()),
                "map", () -> Map.of("shop", new Shop()),
                "array", () -> new Stock[] {new Shop()});
        ApplicationContextRunner runner =
                runner().withBean(name, Object.class, beans.get(name), definition -> definition.setScope("prototype"));
        runner.run(context -> {
            assertThat(context.getBean(name)).isNotSameAs(context.getBean(name));
            assertThat(log.lines())
                    .containsExactly("WARN The methods with @DistributedLocked of " + Shop.class.getName()
                            + " are not locked: the bean '" + name + "' has an object of it inside, which is itself no"
                            + " bean. Define a bean for it, or let AutowireCapableBeanFactory.createBean make it."
                            + " Said once for each class and reason");
        });
        runner.withPropertyValues("lockkeeper.enabled=false").run(context -> {
            context.getBean(name);
            assertThat(log.lines()).hasSize(1);
        });
    }

    @Test
    void anObjectThatIsOnlyAutowiredIsNamedOnce() {
        runner().run(context -> {
            AutowireCapableBeanFactory beans = context.getAutowireCapableBeanFactory();
            for (int i = 0; i < 2; i++) {
                beans.autowireBean(new Shop());
            }
            assertThat(log.lines())
                    .singleElement()
                    .asString()
                    .contains("WARN", "of " + Shop.class.getName() + " are not locked: an object of it was autowired");
        });
        runner().run(context -> {
            Shop made = context.getAutowireCapableBeanFactory().createBean(Shop.class);
            assertThat(made.held()).containsExactly("shop");
            assertThat(log.lines()).hasSize(1);
        });
    }

    /** As imported classes have, and what a FullyQualifiedAnnotationBeanNameGenerator names. */
    @Test
    void aBeanThatHasTheNameOfItsClassHidesNoObjects() {
        ApplicationContextRunner runner = runner().withBean(Shop.class.getName(), Shop.class);
        runner.withBean("list", Object.class, () -> List.of(new Shop())).run(context -> {
            assertThat(context.getBean(Shop.class).held()).containsExactly("shop");
            assertThat(log.lines()).singleElement().asString().contains("the bean 'list' has an object of it inside");
        });
        runner.run(context -> {
            AutowireCapableBeanFactory beans = context.getAutowireCapableBeanFactory();
            assertThat(beans.createBean(Shop.class).held()).containsExactly("shop");
            assertThat(log.lines()).hasSize(1);
            beans.autowireBean(new Shop());
            assertThat(log.lines()).hasSize(2).last().asString().contains("an object of it was autowired");
        });
    }

    @Test
    void anObjectThatIsOnlyAutowiredIsNamedAfterOneThatTheFactoryMade() {
        runner().run(context -> {
            AutowireCapableBeanFactory beans = context.getAutowireCapableBeanFactory();
            assertThat(beans.createBean(Shop.class).held()).containsExactly("shop");
            assertThat(log.lines()).isEmpty();
            beans.autowireBean(new Shop());
            assertThat(log.lines()).singleElement().asString().contains("an object of it was autowired");
        });
    }

    @Test
    void anObjectThatTheFactoryMakesMayBeLockedByAProxyByInterfaces() {
        runner().withPropertyValues("spring.aop.proxy-target-class=false").run(context -> {
            Class<?> type = Shop.class;
            Object made = context.getAutowireCapableBeanFactory().createBean(type);
            assertThat(made).isInstanceOf(Stock.class).isNotInstanceOf(Shop.class);
            assertThat(((Stock) made).held()).containsExactly("shop");
            assertThat(log.lines()).isEmpty();
        });
    }

    @Test
    void lockedBeansInsideOfABeanAreNoAlarm() {
        runner().withBean("shop", Shop.class)
                .withUserConfiguration(ListOfBeans.class)
                .run(context -> {
                    assertThat(context.getBean("shops"))
                            .asInstanceOf(InstanceOfAssertFactories.LIST)
                            .hasSize(1);
                    assertThat(log.lines()).isEmpty();
                });
    }

    @Test
    void whatTheDefinitionOfABeanLetsTheContainerCallIsNamed() {
        runner().withUserConfiguration(Initialized.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(log.lines())
                    .hasSize(4)
                    .allMatch(line -> line.contains(" runs without its lock when the container calls it"))
                    .anyMatch(line -> line.contains("Lifecycle.begin()"))
                    .anyMatch(line -> line.contains("Lifecycle.end()"))
                    .anyMatch(line -> line.contains("Closing.close()"))
                    .anyMatch(line -> line.contains("Ending.shutdown()"));
        });
    }

    static class Infrastructure implements AopInfrastructureBean {
        @DistributedLocked("infrastructure")
        public void work() {}
    }

    static class ListOfBeans {
        @Bean
        List<Object> shops(Shop shop) {
            return List.of(shop);
        }
    }

    static class HandingIn {
        @Bean
        static String handsIn(ConfigurableListableBeanFactory beans) {
            beans.registerSingleton("early", new Shop());
            return "text";
        }

        @Bean
        static SmartInitializingSingleton handsInAtTheEnd(ConfigurableListableBeanFactory beans) {
            return () -> beans.registerSingleton("late", new Shop());
        }
    }

    static class Initialized {
        @Bean(initMethod = "begin", destroyMethod = "end")
        Lifecycle lifecycle() {
            return new Lifecycle();
        }

        @Bean
        Closing closing() {
            return new Closing();
        }

        @Bean
        Ending ending() {
            return new Ending();
        }

        @Bean
        ClosingFirst closingFirst() {
            return new ClosingFirst();
        }
    }

    static class Lifecycle {
        @DistributedLocked("lifecycle")
        public void begin() {}

        @DistributedLocked("lifecycle")
        public void end() {}

        @DistributedLocked("lifecycle")
        public void close() {}
    }

    public static class Ending {
        @DistributedLocked("ending")
        public void shutdown() {}
    }

    /** Spring looks for shutdown() only where there is no close(). */
    public static class ClosingFirst {
        public void close() {}

        @DistributedLocked("ending")
        public void shutdown() {}
    }

    static class Closing {
        @DistributedLocked("closing")
        public void close() {}
    }

    /** As the bean overrides of Spring's test support do. */
    @Test
    void mocksInThePlaceOfBeansDoNotStopTheStart() {
        ApplicationContextInitializer<GenericApplicationContext> override = context -> {
            context.registerBeanDefinition("shop", new RootBeanDefinition(Shop.class));
            context.getBeanFactory().registerSingleton("shop", Mockito.mock(Shop.class));
        };
        runner().withInitializer(context -> override.initialize((GenericApplicationContext) context))
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(log.lines()).isEmpty();
                });
    }

    @Test
    void mocksInThePlaceOfBeansOfAChildDoNotStopTheStart() {
        runner().run(parent -> {
            try (AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
                child.setParent(parent);
                AopConfigUtils.registerAspectJAnnotationAutoProxyCreatorIfNecessary(child);
                child.registerBean("shop", Shop.class);
                child.getBeanFactory().registerSingleton("shop", Mockito.mock(Shop.class));
                child.refresh();
                assertThat(child.getBean(Shop.class).held()).isEmpty();
                assertThat(log.lines()).isEmpty();
            }
        });
    }

    @Test
    void beansOfAllKindsThatAreLockedGiveNoAlarm() {
        runner().withUserConfiguration(LockedBeans.class).run(context -> {
            assertThat(context).hasNotFailed();
            for (String name : context.getBeanNamesForType(Shop.class)) {
                assertThat(context.getBean(name, Shop.class).held()).as(name).containsExactly("shop");
            }
            assertThat(context.getBeanNamesForType(Shop.class)).hasSize(5);
            assertThat(log.lines()).isEmpty();
        });
    }

    @Test
    void aBeanOfWhichAPostProcessorOfTheApplicationTakesTheProxyOffIsReported() {
        BeanPostProcessor unwrapping = new BeanPostProcessor() {
            @Override
            public @Nullable Object postProcessAfterInitialization(Object bean, String name) {
                return bean instanceof Shop ? AopProxyUtils.getSingletonTarget(bean) : bean;
            }
        };
        runner().withBean("unwrapping", BeanPostProcessor.class, () -> unwrapping)
                .withBean("shop", Shop.class)
                .run(context -> assertThat(faults(context))
                        .singleElement()
                        .satisfies(fault -> assertThat(fault.problem()).contains("the bean [shop]")));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatThePostProcessorsOfTheApplicationPutAroundTheProxyIsNoAlarm(boolean bySubclass) {
        BeanPostProcessor wrapping = new BeanPostProcessor() {
            @Override
            public Object postProcessAfterInitialization(Object bean, String name) {
                if (!(bean instanceof Shop shop)) {
                    return bean;
                }
                return bySubclass ? new Delegating(shop) : new Wrapped(shop);
            }
        };
        runner().withBean("wrapping", BeanPostProcessor.class, () -> wrapping)
                .withBean("shop", Shop.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBean("shop", Stock.class).held()).containsExactly("shop");
                });
    }

    /** The proxy that locks is made for what is there then. */
    @ParameterizedTest
    @CsvSource({"true,false", "true,true", "false,false", "false,true"})
    void whatAPostProcessorOfTheApplicationPutsAroundABeanTooEarlyIsReported(boolean byProxy, boolean isLazy) {
        BeanPostProcessor wrapping = wrapping(Shop.class, byProxy);
        ApplicationContextRunner runner = runner().withBean("wrapping", BeanPostProcessor.class, () -> wrapping)
                .withBean("shop", Shop.class, Shop::new, definition -> definition.setLazyInit(isLazy));
        String problem =
                "Shop.held(): is not locked, because a BeanPostProcessor puts something around the bean [shop]";
        runner.run(context -> {
            if (isLazy) {
                assertThatExceptionOfType(BeanCreationException.class)
                        .isThrownBy(() -> context.getBean("shop"))
                        .havingRootCause()
                        .isInstanceOf(DistributedLockedConfigurationException.class)
                        .withMessageContaining(problem);
            } else {
                assertThat(context.getStartupFailure())
                        .isInstanceOf(DistributedLockedConfigurationException.class)
                        .hasMessageContaining(problem);
            }
        });
        runner.withPropertyValues("lockkeeper.enabled=false")
                .run(context -> assertThat(context.getBean("shop")).isNotInstanceOf(Shop.class));
    }

    @Test
    void whatIsPutAroundABeanWithTheAnnotationInItsInterfaceIsNoAlarm() {
        BeanPostProcessor wrapping = wrapping(LockingShop.class, true);
        runner().withBean("wrapping", BeanPostProcessor.class, () -> wrapping)
                .withBean("shop", LockingShop.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBean("shop", LockingStock.class).held())
                            .containsExactly("stock");
                });
    }

    @SuppressWarnings("UnnecessaryMethodReference") // Another object is meant, not the same.
    private static BeanPostProcessor wrapping(Class<? extends Stock> type, boolean byProxy) {
        return new BeanPostProcessor() {
            @Override
            public Object postProcessBeforeInitialization(Object bean, String name) {
                if (!type.isInstance(bean)) {
                    return bean;
                }
                Stock stock = (Stock) bean;
                return byProxy
                        ? Proxy.newProxyInstance(
                                type.getClassLoader(),
                                ClassUtils.getAllInterfaces(bean),
                                (proxy, method, arguments) -> method.invoke(bean, arguments))
                        : (Stock) stock::held;
            }
        };
    }

    interface LockingStock extends Stock {
        @Override
        @DistributedLocked("stock")
        List<String> held();
    }

    static class LockingShop implements LockingStock {
        @Override
        public List<String> held() {
            return LockContext.current().map(LockLease::names).orElse(List.of());
        }
    }

    private static List<DistributedLockedFault> faults(AssertableApplicationContext context) {
        assertThat(context).hasFailed();
        assertThat(context.getStartupFailure()).isInstanceOf(DistributedLockedConfigurationException.class);
        return ((DistributedLockedConfigurationException) context.getStartupFailure()).faults();
    }

    private static FactoryBean<Shop> factory(@Nullable Shop product) {
        return new FactoryBean<>() {
            @Override
            public @Nullable Shop getObject() {
                return product;
            }

            @Override
            public Class<?> getObjectType() {
                return Shop.class;
            }
        };
    }

    interface Stock {
        List<String> held();
    }

    private record Wrapped(Shop shop) implements Stock {
        @Override
        public List<String> held() {
            return shop.held();
        }
    }

    static class Delegating extends Shop {
        private final Shop shop;

        Delegating(Shop shop) {
            this.shop = shop;
        }

        @Override
        public List<String> held() {
            return shop.held();
        }
    }

    static class Shop implements Stock {
        @Override
        @DistributedLocked("shop")
        public List<String> held() {
            return LockContext.current().map(LockLease::names).orElse(List.of());
        }
    }

    @Aspect
    static class Advising {
        @DistributedLocked("advising")
        public void advise() {}
    }

    @Configuration(proxyBeanMethods = false)
    static class EarlyBeans {
        @Bean
        static Shop early() {
            return new Shop();
        }

        @Bean
        static Greedy greedy(Shop shop) {
            return new Greedy(shop);
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class EarlyProducts {
        @Bean
        static FactoryBean<Shop> product() {
            return factory(new Shop());
        }

        @Bean
        static Greedy greedy(Shop shop) {
            return new Greedy(shop);
        }
    }

    static class LockedFactory implements FactoryBean<Product> {
        @Override
        @DistributedLocked("factory")
        public Product getObject() {
            return new Product();
        }

        @Override
        public Class<?> getObjectType() {
            return Product.class;
        }
    }

    static final class Product {
        @DistributedLocked("product")
        void work() {}
    }

    @Configuration(proxyBeanMethods = false)
    static class UserOfProducts {
        @Bean
        FactoryBean<Shop> nothing() {
            return factory(null);
        }

        @Bean
        @Scope(scopeName = "prototype", proxyMode = ScopedProxyMode.TARGET_CLASS)
        Shop scoped() {
            return new Shop();
        }

        @Bean
        String user(Shop product, @Nullable @Qualifier("nothing") Shop nothing, Shop scoped) {
            assertThat(product.held()).containsExactly("shop");
            assertThat(scoped.held()).containsExactly("shop");
            assertThat(nothing).isNull();
            return "user";
        }
    }

    private record Greedy(Shop shop) implements BeanPostProcessor, PriorityOrdered {
        @Override
        public int getOrder() {
            return PriorityOrdered.HIGHEST_PRECEDENCE;
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class LockedBeans {
        @Bean
        Shop plain() {
            return new Shop();
        }

        @Bean
        @Lazy
        Shop lazy() {
            return new Shop();
        }

        @Bean
        @Scope("prototype")
        Shop prototype() {
            return new Shop();
        }

        @Bean
        Shop proxied() {
            ProxyFactory factory = new ProxyFactory(new Shop());
            factory.setProxyTargetClass(true);
            return (Shop) factory.getProxy();
        }

        @Bean
        FactoryBean<Shop> product() {
            return factory(new Shop());
        }
    }
}
