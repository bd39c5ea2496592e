/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import io.lockkeeper.annotation.DistributedLocked;
import java.io.ByteArrayInputStream;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Optional;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.ProxyType;
import org.springframework.context.annotation.Proxyable;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.support.SimpleThreadScope;
import org.springframework.util.ClassUtils;
import org.springframework.util.SerializationUtils;

/**
 * Beans that are made in unusual ways, and are right as they are: no alarm at the start, and their methods are locked.
 */
class OddBeansTest {

    private final ApplicationContextRunner runner = runner().withInitializer(
                    context -> context.getBeanFactory().registerScope("thread", new SimpleThreadScope()))
            .withUserConfiguration(Odd.class, ConfigurationWithLocks.class);

    @ParameterizedTest
    @ValueSource(strings = {"spring.aop.auto=true", "spring.aop.auto=false", "spring.main.lazy-initialization=true"})
    void allAreLockedAndNoneIsAnAlarm(String property) {
        runner.withPropertyValues(property).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBean(Repository.class).find("x")).containsExactly("find:x");
            assertThat(context.getBean(Repository.class).byDefault("x")).containsExactly("default:x");
            assertThat(context.getBean("text", TextWorker.class).work("x")).containsExactly("work:x");
            assertThat(context.getBean("text", TextWorker.class).inherited("x")).containsExactly("inherited:x");
            assertThat(context.getBean("number", NumberWorker.class).work(7)).containsExactly("work:7");
            assertThat(context.getBean(WithDefault.class).byDefault("x")).containsExactly("default:x");
            assertThat(context.getBean("scoped", Hidden.class).call()).containsExactly("hidden");
            assertThat(context.getBean("lazyProxy", Holder.class).hidden.call()).containsExactly("hidden");
            assertThat(context.getBean(ConfigurationWithLocks.class).call()).containsExactly("configuration");
            assertThat(context.getBean(NestedGeneric.class).value(Optional.of("x")))
                    .containsExactly("generic:x");
        });
    }

    @Test
    void aLambdaOrProxyLocksUnderTheNameOfItsInterface() {
        ProxyFactory factory = new ProxyFactory(Unnamed.class, (MethodInterceptor) call -> held());
        Unnamed withoutTarget = (Unnamed) factory.getProxy();
        factory.setTarget(new Object());
        Unnamed proxy = (Unnamed) factory.getProxy();
        ClassLoader loader = Unnamed.class.getClassLoader();
        Object plain = Proxy.newProxyInstance(loader, new Class<?>[] {Unnamed.class}, (self, method, args) -> held());
        for (Unnamed bean : List.of(OddBeansTest::held, withoutTarget, proxy, (Unnamed) plain)) {
            runner().withBean(Unnamed.class, () -> bean)
                    .run(context -> assertThat(context.getBean(Unnamed.class).call())
                            .containsExactly(Unnamed.class.getName() + ".call"));
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {FarFirst.class, NearFirst.class, AboveNear.class})
    void theNearerOfTwoInterfacesLocksInWhicheverOrderTheyStand(Class<?> bean) {
        for (boolean byClass : new boolean[] {true, false}) {
            runner().withBean("bean", bean)
                    .withPropertyValues("spring.aop.proxy-target-class=" + byClass)
                    .run(context -> assertThat(
                                    context.getBean("bean", Far.class).call())
                            .containsExactly("near"));
        }
    }

    @Test
    void aBeanWithoutLocksMayBeARecordOrFinal() {
        runner().withBean(Plain.class, () -> new Plain("x"))
                .run(context -> assertThat(context).hasNotFailed());
    }

    /** Spring 6 does not know the annotation. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aFinalClassThatIsToBeProxiedByItsInterfacesIsLocked(boolean ofMethod) {
        assumeTrue(ClassUtils.isPresent("org.springframework.context.annotation.Proxyable", null));
        (ofMethod ? runner().withUserConfiguration(ByMethod.class) : runner().withBean(ByInterfaces.class))
                .run(context -> assertThat(context.getBean(Calls.class).call()).containsExactly("interfaces"));
    }

    /** As a server writes the beans of its sessions. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aBeanThatWasWrittenAndReadAgainIsLocked(boolean byClass) {
        runner().withPropertyValues("spring.aop.proxy-target-class=" + byClass)
                .withBean(Basket.class)
                .run(context -> {
                    byte[] written = SerializationUtils.serialize(context.getBean(Calls.class));
                    Calls read = (Calls) new ObjectInputStream(new ByteArrayInputStream(written)).readObject();
                    assertThat(AopUtils.isCglibProxy(read)).isEqualTo(byClass);
                    assertThat(read.call()).containsExactly("basket");
                });
    }

    private static List<String> held() {
        return LockContext.current().map(LockLease::names).orElse(List.of());
    }

    interface Unnamed {
        @DistributedLocked
        List<String> call();
    }

    interface Far {
        @DistributedLocked("far")
        List<String> call();
    }

    interface Near extends Far {
        @Override
        @DistributedLocked("near")
        List<String> call();
    }

    static class FarFirst implements Far, Near {
        @Override
        public List<String> call() {
            return held();
        }
    }

    static class NearFirst implements Near, Far {
        @Override
        public List<String> call() {
            return held();
        }
    }

    static class AboveNear extends NearFirst implements Far {
        @Override
        public List<String> call() {
            return held();
        }
    }

    record Plain(String name) {}

    static class Basket implements Calls, Serializable {
        private static final long serialVersionUID = 1L;

        @Override
        @DistributedLocked("basket")
        public List<String> call() {
            return held();
        }
    }

    interface Calls {
        List<String> call();
    }

    @Proxyable(ProxyType.INTERFACES)
    static final class ByInterfaces implements Calls {
        @Override
        @DistributedLocked("interfaces")
        public List<String> call() {
            return held();
        }
    }

    record ByMethodOnly() implements Calls {
        @Override
        @DistributedLocked("interfaces")
        public List<String> call() {
            return held();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class ByMethod {
        @Bean
        @Proxyable(interfaces = Calls.class)
        ByMethodOnly made() {
            return new ByMethodOnly();
        }
    }

    public interface Repository {
        @DistributedLocked("find:#{#id}")
        List<String> find(String id);

        @DistributedLocked("default:#{#id}")
        default List<String> byDefault(String id) {
            return held();
        }
    }

    interface Defaults {
        @DistributedLocked("default:#{#id}")
        default List<String> byDefault(String id) {
            return held();
        }
    }

    static class WithDefault implements Defaults {}

    abstract static class Worker<T> {
        @DistributedLocked("work:#{#input}")
        public abstract List<String> work(T input);

        @DistributedLocked("inherited:#{#input}")
        public List<String> inherited(T input) {
            return held();
        }
    }

    static class TextWorker extends Worker<String> {
        @Override
        public List<String> work(String input) {
            return held();
        }
    }

    static class NumberWorker extends Worker<Integer> {
        @Override
        public List<String> work(Integer input) {
            return held();
        }
    }

    interface Generic<T, R> {
        R value(T input);
    }

    static class NestedGeneric implements Generic<Optional<String>, List<String>> {
        @Override
        @DistributedLocked("generic:#{#input}")
        public List<String> value(Optional<String> input) {
            return held();
        }
    }

    static class Hidden {
        @DistributedLocked("hidden")
        List<String> call() {
            return held();
        }
    }

    record Holder(Hidden hidden) {}

    /** A proxy of an interface that nobody implements, as those of Spring Data. */
    static class RepositoryFactory implements FactoryBean<Repository> {
        @Override
        public Repository getObject() {
            ProxyFactory factory = new ProxyFactory();
            factory.setInterfaces(Repository.class);
            factory.setOpaque(true);
            factory.addAdvice((MethodInterceptor) call -> held());
            return (Repository) factory.getProxy();
        }

        @Override
        public Class<?> getObjectType() {
            return Repository.class;
        }
    }

    @Configuration
    static class ConfigurationWithLocks {
        @DistributedLocked("configuration")
        List<String> call() {
            return held();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Odd {
        @Bean
        static RepositoryFactory repository() {
            return new RepositoryFactory();
        }

        @Bean
        TextWorker text() {
            return new TextWorker();
        }

        @Bean
        Worker<Integer> number() {
            return new NumberWorker();
        }

        @Bean
        WithDefault withDefault() {
            return new WithDefault();
        }

        @Bean
        NestedGeneric nestedGeneric() {
            return new NestedGeneric();
        }

        @Bean
        @Scope(scopeName = "thread", proxyMode = ScopedProxyMode.TARGET_CLASS)
        Hidden scoped() {
            return new Hidden();
        }

        @Bean
        Hidden plain() {
            return new Hidden();
        }

        @Bean
        Holder lazyProxy(@Lazy Hidden plain) {
            return new Holder(plain);
        }
    }
}
