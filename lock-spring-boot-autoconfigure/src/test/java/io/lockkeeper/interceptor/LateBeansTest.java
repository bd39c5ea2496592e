/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import io.lockkeeper.annotation.DistributedLocked;
import java.util.List;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.aspectj.lang.annotation.Aspect;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.AutowireCapableBeanFactory;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.scheduling.annotation.Scheduled;

/** Beans of which the start knows an interface, and nothing of the class behind it. */
class LateBeansTest {

    @ParameterizedTest
    @EnumSource
    void aMethodThatCannotWorkIsReportedWhenItsBeanIsMade(Wrong wrong) {
        for (String scope : List.of(BeanDefinition.SCOPE_SINGLETON, BeanDefinition.SCOPE_PROTOTYPE)) {
            with(wrong, scope).run(context -> {
                assertThat(context).hasNotFailed();
                for (int i = 0; i < 2; i++) {
                    assertThatThrownBy(() -> context.getBean(Stock.class))
                            .hasRootCauseInstanceOf(DistributedLockedConfigurationException.class)
                            .rootCause()
                            .hasMessageContaining(wrong.problem);
                }
            });
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatAFactoryMakesBeforeTheEndOfTheStartIsReportedAtTheStart(Wrong wrong) {
        runner().withBean("product", ProductFactory.class, () -> new ProductFactory(wrong))
                .withBean("user", User.class)
                .run(context -> assertThat(context.getStartupFailure())
                        .isInstanceOf(DistributedLockedConfigurationException.class)
                        .hasMessageContaining(wrong.problem));
    }

    @ParameterizedTest
    @ValueSource(strings = {"interceptor", "aspect"})
    void aBeanThatSpringNeverProxiesIsReportedWhenItIsMade(String name) {
        runner().withUserConfiguration(NeverProxied.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThatThrownBy(() -> context.getBean(name))
                    .hasRootCauseInstanceOf(DistributedLockedConfigurationException.class)
                    .rootCause()
                    .hasMessageContaining("is not locked, because Spring puts no proxy around the bean [" + name + "]");
        });
        runner().withUserConfiguration(NeverProxied.class)
                .withPropertyValues("lockkeeper.enabled=false")
                .run(context -> assertThat(context.getBean(name)).isNotNull());
    }

    @Test
    void anAnnotationOnTheClassIsReportedWhenTheBeanIsMade() {
        runner().withUserConfiguration(NeverProxied.class)
                .run(context -> assertThatThrownBy(() -> context.getBean("onTheClass"))
                        .hasRootCauseInstanceOf(DistributedLockedConfigurationException.class)
                        .rootCause()
                        .hasMessageContaining("OnTheClass: has the annotation on the class"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatTheStartDoesNotSeeIsWarnedOfWhenTheBeanIsMade(boolean byClass) {
        ApplicationContextRunner runner = runner().withPropertyValues("spring.aop.proxy-target-class=" + byClass);
        runner.withUserConfiguration(WarnedBeans.class).run(context -> {
            try (LogRecorder log = new LogRecorder(DistributedLocked.class)) {
                for (int i = 0; i < 2; i++) {
                    context.getBean("warned", Stock.class);
                }
                assertThat(log.lines())
                        .satisfiesExactlyInAnyOrder(
                                line -> assertThat(line).contains("Warned.held()", "@Scheduled starts it on each"),
                                line -> assertThat(line).contains("Warned.read()", "goes on after the method"),
                                line -> assertThat(line).contains("Warned.begin()", "when the container calls it"));
            }
        });
    }

    @Test
    void whatTheStartHasWarnedOfIsNotSaidAgain() {
        try (LogRecorder log = new LogRecorder(DistributedLocked.class)) {
            runner().withBean("warned", Warned.class, Warned::new, definition -> definition.setScope("prototype"))
                    .run(context -> {
                        List<String> said = log.lines();
                        assertThat(said).hasSize(2);
                        context.getBean("warned");
                        assertThat(log.lines()).isEqualTo(said);
                    });
        }
    }

    @Lazy
    @Configuration(proxyBeanMethods = false)
    static class WarnedBeans {
        @Bean(initMethod = "begin")
        @Scope("prototype")
        Stock warned() {
            return new Warned();
        }
    }

    interface Reading {
        Stream<String> read();

        void begin();
    }

    static class Warned implements Stock, Reading {
        @Override
        @Scheduled(fixedDelay = 1_000_000)
        @DistributedLocked(name = "stock", waitTime = "1s")
        public List<String> held() {
            return heldNow();
        }

        @Override
        @DistributedLocked("stock")
        public Stream<String> read() {
            return Stream.empty();
        }

        @Override
        @DistributedLocked("stock")
        public void begin() {}
    }

    @Lazy
    @Configuration(proxyBeanMethods = false)
    static class NeverProxied {
        @Bean
        Interceptor interceptor() {
            return new Interceptor();
        }

        @Bean
        @Scope("prototype")
        Advising aspect() {
            return new Advising();
        }

        @Bean
        Stock onTheClass() {
            return new OnTheClass();
        }
    }

    static class Interceptor implements MethodInterceptor {
        @Override
        public @Nullable Object invoke(MethodInvocation call) throws Throwable {
            return call.proceed();
        }

        @DistributedLocked("interceptor")
        public void work() {}
    }

    @Aspect
    static class Advising {
        @DistributedLocked("advising")
        public void work() {}
    }

    @SilentFaultsTest.First
    static class OnTheClass implements Stock {
        @Override
        public List<String> held() {
            return heldNow();
        }
    }

    @Test
    void aBeanThatIsLockedIsNoAlarmWhateverIsPutAroundIt() {
        BeanPostProcessor wrapping = new BeanPostProcessor() {
            @Override
            public Object postProcessAfterInitialization(Object bean, String name) {
                return bean instanceof Stock stock && name.equals("wrapped") ? new Wrapped(stock) : bean;
            }
        };
        runner().withBean("wrapping", BeanPostProcessor.class, () -> wrapping).run(context -> {
            GenericApplicationContext application = (GenericApplicationContext) context.getSourceApplicationContext();
            for (String name : List.of("plain", "wrapped")) {
                application.registerBean(name, Stock.class, Right::new);
                assertThat(application.getBean(name, Stock.class).held()).containsExactly("stock");
            }
        });
    }

    @Test
    void aLateBeanOfAChildContextWithoutProxiesIsReportedWhenItIsMade() {
        runner().run(parent -> {
            try (AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
                child.setParent(parent);
                child.refresh();
                child.registerBean("stock", Right.class);
                assertThatThrownBy(() -> child.getBean("stock"))
                        .hasRootCauseInstanceOf(DistributedLockedConfigurationException.class)
                        .rootCause()
                        .hasMessageContaining("is not locked, because Spring puts no proxy around the bean [stock]");
            }
        });
    }

    /** Test support of Spring does so with the instance of a test class. */
    @Test
    void anInstanceThatIsToStayAsItIsIsNotChecked() {
        runner().run(context -> {
            FinalClass instance = new FinalClass();
            String name = FinalClass.class.getName() + AutowireCapableBeanFactory.ORIGINAL_INSTANCE_SUFFIX;
            assertThat(context.getAutowireCapableBeanFactory().initializeBean(instance, name))
                    .isSameAs(instance);
        });
    }

    private static ApplicationContextRunner with(Wrong wrong, String scope) {
        RootBeanDefinition definition = new RootBeanDefinition(Stock.class, wrong::stock);
        definition.setScope(scope);
        definition.setLazyInit(true);
        return runner().withInitializer(
                        context -> ((GenericApplicationContext) context).registerBeanDefinition("stock", definition));
    }

    private static List<String> heldNow() {
        return LockContext.current().map(LockLease::names).orElse(List.of());
    }

    enum Wrong {
        FINAL_CLASS("belongs to a final or sealed class"),
        FINAL_METHOD("is final"),
        PRIVATE_METHOD("is private"),
        MISSPELT_FALLBACK("there is no method 'bussy'");

        private final String problem;

        Wrong(String problem) {
            this.problem = problem;
        }

        Stock stock() {
            return switch (this) {
                case FINAL_CLASS -> new FinalClass();
                case FINAL_METHOD -> new FinalMethod();
                case PRIVATE_METHOD -> new PrivateMethod();
                case MISSPELT_FALLBACK -> new Misspelt();
            };
        }
    }

    public interface Stock {
        List<String> held();
    }

    private record Wrapped(Stock stock) implements Stock {
        @Override
        public List<String> held() {
            return stock.held();
        }
    }

    static class Right implements Stock {
        @Override
        @DistributedLocked("stock")
        public List<String> held() {
            return heldNow();
        }
    }

    static final class FinalClass implements Stock {
        @Override
        @DistributedLocked("stock")
        public List<String> held() {
            return heldNow();
        }
    }

    static class FinalMethod implements Stock {
        @Override
        @DistributedLocked("stock")
        public final List<String> held() {
            return heldNow();
        }
    }

    static class Misspelt implements Stock {
        @Override
        @DistributedLocked(name = "stock", fallbackMethod = "bussy")
        public List<String> held() {
            return heldNow();
        }
    }

    static class PrivateMethod implements Stock {
        @Override
        public List<String> held() {
            return inside();
        }

        @DistributedLocked("stock")
        private List<String> inside() {
            return heldNow();
        }
    }

    static class ProductFactory implements FactoryBean<Stock> {
        private final Wrong product;

        ProductFactory(Wrong product) {
            this.product = product;
        }

        @Override
        public Stock getObject() {
            return product.stock();
        }

        @Override
        public Class<?> getObjectType() {
            return Stock.class;
        }
    }

    static class User {
        User(Stock stock) {
            assertThat(stock).isNotNull();
        }
    }
}
