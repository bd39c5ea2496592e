/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.weaving;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import io.lockkeeper.interceptor.DistributedLockedConfigurationException;
import io.lockkeeper.interceptor.LogRecorder;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Mockito;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;

/** Woven classes of class loaders that find the aspect, or do not. */
class AspectReachTest {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
            .withPropertyValues("lockkeeper.store=memory", "lockkeeper.mode=aspectj");

    @Test
    void anAspectThatIsThereIsReached() {
        runner.withBean(Woven.class).run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void anAspectThatIsNotThereFailsTheStart() throws ClassNotFoundException {
        Class<?> woven = new WovenClassLoader(false).loadClass(Woven.class.getName());
        runner.withBean(woven).run(context -> assertThat(context.getStartupFailure())
                .hasStackTraceContaining("Woven.sell(): has a lock woven into it that would not be found when"
                        + " it is called: java.lang.ClassNotFoundException:"
                        + " io.lockkeeper.weaving.DistributedLockedAspect")
                .hasStackTraceContaining("find lock-spring-boot-autoconfigure where the application has it"));
    }

    @Test
    void anAspectOfAnotherApplicationFailsTheStart() throws ClassNotFoundException {
        Class<?> woven = new WovenClassLoader(true).loadClass(Woven.class.getName());
        runner.withBean(woven).run(context -> assertThat(context.getStartupFailure())
                .hasStackTraceContaining(
                        "its class loader has a io.lockkeeper.weaving.DistributedLockedAspect" + " of its own"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"annotated", "implemented", "plain", "prototype", "repository"})
    void aBeanThatIsKnownByItsInterfaceIsCheckedWhenItIsMade(String name) {
        runner.withUserConfiguration(Late.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBean("woven", Stock.class)).isNotNull();
            assertThat(context.getBean("mock", Stock.class)).isNotNull();
            assertThat(context.getBean("unlocked", Unannotated.class)).isNotNull();
            assertThatThrownBy(() -> context.getBean(name))
                    .hasRootCauseInstanceOf(DistributedLockedConfigurationException.class)
                    .rootCause()
                    .hasMessageContaining(
                            name.equals("plain")
                                    ? "has no lock woven into it"
                                    : "is annotated in Stock, and the weaver looks only at the method that runs");
        });
        runner.withUserConfiguration(Late.class)
                .withPropertyValues("lockkeeper.enabled=false")
                .run(context -> assertThat(context.getBean(name)).isNotNull());
    }

    /** As those of Spring Data. */
    @Test
    void aProxyWhoseTargetDoesNotImplementItsInterfaceFailsTheStart() {
        runner.withUserConfiguration(Late.class).withBean("user", User.class).run(context -> assertThat(
                        context.getStartupFailure())
                .isInstanceOf(DistributedLockedConfigurationException.class)
                .hasMessageContaining("Stock.sell(): is annotated in Stock, and the weaver")
                .hasMessageEndingWith("or use lockkeeper.mode=proxy."));
    }

    /** As the fragments of Spring Data repositories. */
    @Test
    void aProxyMayPassCallsOnToABeanThatIsWoven() {
        runner.withBean(WovenStock.class)
                .withBean("repository", FactoryBean.class, () -> factory(StockRepository.class))
                .withBean("user", User.class)
                .run(context -> assertThat(context).hasNotFailed());
        runner.withBean(Woven.class)
                .withBean("repository", FactoryBean.class, () -> factory(StockRepository.class))
                .withBean("user", User.class)
                .run(context -> assertThat(context.getStartupFailure())
                        .hasMessageContaining("Stock.sell(): is annotated in Stock, and the weaver"));
    }

    @Test
    void aDefaultMethodOfAProxyThatANearerInterfaceOverridesIsAFault() {
        runner.withUserConfiguration(Defaults.class).run(context -> {
            assertThat(context.getBean("woven", WovenDefault.class)).isNotNull();
            assertThatThrownBy(() -> context.getBean("overriding"))
                    .hasRootCauseInstanceOf(DistributedLockedConfigurationException.class)
                    .rootCause()
                    .hasMessageContaining("is annotated in WovenDefault, and the weaver looks only at the method");
        });
    }

    @Test
    void theWeaverNeedsNotHaveRunWhileAllBeansAreKnownByTheirInterfaces() {
        runner.withUserConfiguration(OnlyLate.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBean("woven")).isNotNull();
            assertThatThrownBy(() -> context.getBean("implemented"))
                    .hasRootCauseInstanceOf(DistributedLockedConfigurationException.class);
        });
    }

    @Test
    void aCallAfterEachEndIsWarnedOfOnce() throws Throwable {
        MethodInterceptor application = call -> null;
        MethodInvocation call = Mockito.mock(MethodInvocation.class);
        Mockito.when(call.getMethod()).thenReturn(Unwoven.class.getMethod("sell"));
        try (LogRecorder log = new LogRecorder(DistributedLocked.class)) {
            for (int end = 1; end <= 2; end++) {
                WovenLocks.attach(application);
                WovenLocks.detach(application);
                MethodInterceptor closed = WovenLocks.interceptor();
                closed.invoke(call);
                closed.invoke(call);
                assertThat(log.lines()).hasSize(end).allMatch(line -> line.contains("Unwoven.sell was called after"));
            }
        }
    }

    @Test
    void aBeanThatAChildContextMakesLaterIsChecked() {
        runner.withBean(Woven.class).run(parent -> {
            try (AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
                child.setParent(parent);
                child.register(Late.class);
                child.refresh();
                assertThat(child.getBean("woven")).isNotNull();
                assertThatThrownBy(() -> child.getBean("implemented"))
                        .hasRootCauseInstanceOf(DistributedLockedConfigurationException.class);
            }
        });
    }

    @Test
    void aBeanOfAChildContextIsChecked() {
        runner.withBean(Woven.class).run(parent -> {
            for (Class<?> bean : List.of(Woven.class, Unwoven.class)) {
                try (AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
                    child.setParent(parent);
                    child.register(Woven.class, bean);
                    if (bean == Woven.class) {
                        child.refresh();
                    } else {
                        assertThatExceptionOfType(DistributedLockedConfigurationException.class)
                                .isThrownBy(child::refresh)
                                .withMessageContaining("Unwoven.sell(): has no lock woven into it");
                    }
                }
            }
        });
    }

    interface Stock {
        @DistributedLocked("stock")
        void sell();
    }

    static class Implementing implements Stock {
        @Override
        public void sell() {}
    }

    static class Unwoven {
        @DistributedLocked("stock")
        public void sell() {}
    }

    interface Unannotated {
        void sell();
    }

    private static <T> FactoryBean<T> factory(Class<T> type) {
        return new FactoryBean<>() {
            @Override
            public T getObject() {
                ProxyFactory factory = new ProxyFactory(type, (MethodInterceptor) call -> null);
                factory.setTarget(new Object());
                return type.cast(factory.getProxy());
            }

            @Override
            public Class<?> getObjectType() {
                return type;
            }
        };
    }

    interface StockRepository extends Stock {}

    /** See {@link Woven}. */
    interface WovenDefault {
        @DistributedLocked("default")
        default void sell() {
            DistributedLockedAspect.aspectOf();
            sell_aroundBody0(this);
        }

        @SuppressWarnings({"MethodName", "UnusedVariable"})
        private static void sell_aroundBody0(WovenDefault self) {}
    }

    interface Overriding extends WovenDefault {
        @Override
        default void sell() {}
    }

    @Lazy
    @Configuration(proxyBeanMethods = false)
    static class Defaults {
        @Bean
        Woven first() {
            return new Woven();
        }

        @Bean
        FactoryBean<WovenDefault> woven() {
            return factory(WovenDefault.class);
        }

        @Bean
        FactoryBean<Overriding> overriding() {
            return factory(Overriding.class);
        }
    }

    @Lazy
    @Configuration(proxyBeanMethods = false)
    static class OnlyLate {
        @Bean
        Stock woven() {
            return new WovenStock();
        }

        @Bean
        Stock implemented() {
            return new Implementing();
        }
    }

    record User(@Qualifier("repository") Stock stock) {}

    static class Plain extends Unwoven implements Unannotated {}

    static class WovenStock extends Woven implements Stock {
        @Override
        @DistributedLocked("stock")
        public void sell() {
            DistributedLockedAspect.aspectOf();
            sell_aroundBody0(this);
        }

        @SuppressWarnings({"MethodName", "UnusedVariable"})
        private static void sell_aroundBody0(WovenStock self) {}
    }

    @Lazy
    @Configuration(proxyBeanMethods = false)
    static class Late {
        @Bean
        Woven first() {
            return new Woven();
        }

        @Bean
        Stock woven() {
            return new WovenStock();
        }

        @Bean
        Stock mock() {
            return Mockito.mock(Stock.class);
        }

        @Bean
        FactoryBean<Stock> annotated() {
            return new FactoryBean<>() {
                @Override
                public Stock getObject() {
                    return ProxyFactory.getProxy(Stock.class, (MethodInterceptor) call -> null);
                }

                @Override
                public Class<?> getObjectType() {
                    return Stock.class;
                }
            };
        }

        @Bean
        FactoryBean<Stock> repository() {
            return factory(Stock.class);
        }

        @Bean
        FactoryBean<Unannotated> unlocked() {
            return factory(Unannotated.class);
        }

        @Bean
        Stock implemented() {
            return new Implementing();
        }

        @Bean
        Unannotated plain() {
            return new Plain();
        }

        @Bean
        @Scope("prototype")
        Stock prototype() {
            return new Implementing();
        }
    }

    /** What a weaver leaves in a class file, as far as the start can see it. */
    static class Woven {
        @DistributedLocked("stock")
        void sell() {
            DistributedLockedAspect.aspectOf();
            sell_aroundBody0(this);
        }

        @SuppressWarnings({"MethodName", "UnusedVariable"})
        private static void sell_aroundBody0(Woven self) {}
    }

    /** Has classes of this package of its own. */
    private static final class WovenClassLoader extends ClassLoader {

        private final boolean hasAspect;

        WovenClassLoader(boolean hasAspect) {
            super(WovenClassLoader.class.getClassLoader());
            this.hasAspect = hasAspect;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("io.lockkeeper.weaving.")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            if (known != null) {
                return known;
            }
            if (!hasAspect && name.endsWith("Aspect")) {
                throw new ClassNotFoundException(name);
            }
            return define(name);
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream file = getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] bytes = file.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException unreadable) {
                throw new ClassNotFoundException(name, unreadable);
            }
        }
    }
}
