/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockContext;
import io.lockkeeper.annotation.DistributedLocked;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.support.AopUtils;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.support.SimpleThreadScope;
import org.springframework.core.annotation.AliasFor;
import org.springframework.core.task.TaskExecutor;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;

class AttachingTest {

    private final ApplicationContextRunner runner = runner().withBean(Shop.class);

    @ParameterizedTest
    @ValueSource(
            strings = {
                "spring.aop.auto=true",
                "spring.aop.auto=false",
                "spring.aop.proxy-target-class=false",
                "spring.aop.auto=false,spring.aop.proxy-target-class=false",
                "spring.main.lazy-initialization=true"
            })
    void methodsAreLockedHoweverBeansAreProxied(String properties) {
        runner.withPropertyValues(properties.split(",")).run(AttachingTest::everythingIsLocked);
    }

    @Test
    void methodsAreLockedWithoutAspectJ() {
        runner.withClassLoader(new FilteredClassLoader("org.aspectj")).run(AttachingTest::everythingIsLocked);
    }

    @Test
    void classesAreProxiedUnlessInterfacesAreAskedFor() {
        runner.withPropertyValues("spring.aop.auto=false")
                .run(context -> assertThat(AopUtils.isCglibProxy(context.getBean(Counter.class)))
                        .isTrue());
        runner.withPropertyValues("spring.aop.auto=false", "spring.aop.proxy-target-class=false")
                .run(context -> assertThat(AopUtils.isJdkDynamicProxy(context.getBean(Counter.class)))
                        .isTrue());
    }

    @Test
    void aMethodOfASuperclassThatKnowsNothingOfTheInterfaceIsLocked() {
        runner().withBean(Adapted.class)
                .run(context ->
                        assertThat(context.getBean(Adapted.class).count("x")).containsExactly("count:x"));
    }

    @Test
    void anOverridingMethodIsLockedAsTheOneItOverrides() {
        runner().withBean(Overriding.class)
                .run(context ->
                        assertThat(context.getBean(Overriding.class).call("x")).containsExactly("composed:x"));
    }

    @Test
    void genericMethodsAreLockedThroughTheirBridges() {
        runner().withBean(TextHandler.class).run(context -> {
            Handler<String> handler = context.getBean(TextHandler.class);
            assertThat(handler.handle("x")).containsExactly("handled:x");
        });
    }

    @Test
    void scopedBeansAreLocked() {
        runner().withUserConfiguration(ScopedBeans.class)
                .withInitializer(context -> context.getBeanFactory().registerScope("thread", new SimpleThreadScope()))
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBean(Composed.class).call("x")).containsExactly("composed:x");
                });
    }

    @Test
    void aTargetThatIsAProxyItselfIsLocked() {
        runner().withBean(Counter.class, () -> (Counter) Proxy.newProxyInstance(
                        AttachingTest.class.getClassLoader(),
                        new Class<?>[] {Counter.class},
                        (proxy, method, args) -> method.getName().equals("count") ? heldNames() : null))
                .run(context ->
                        assertThat(context.getBean(Counter.class).count("x")).containsExactly("count:x"));
    }

    @Test
    void aScopedBeanThatIsProxiedByItsClassMayHaveMethodsOutsideItsInterfaces() {
        runner().withUserConfiguration(ScopedBeans.class)
                .withPropertyValues("spring.aop.proxy-target-class=false")
                .withInitializer(context -> context.getBeanFactory().registerScope("thread", new SimpleThreadScope()))
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBean(Mixed.class).outside("x")).containsExactly("outside:x");
                });
    }

    @Test
    void anAsynchronousMethodIsLockedOnTheThreadThatRunsIt() {
        runner().withUserConfiguration(Executors.class)
                .withBean(Background.class)
                .run(context -> {
                    CompletableFuture<String> ran = new CompletableFuture<>();
                    context.getBean(Background.class).work(ran);
                    assertThat(ran.get(10, TimeUnit.SECONDS)).isEqualTo("worker [background]");
                });
    }

    private static void everythingIsLocked(ApplicationContext context) {
        assertThat(context.getBean(Counter.class).count("x")).containsExactly("count:x");
        assertThat(context.getBean(Counter.class).composed("y")).containsExactly("composed:y");
    }

    private static List<String> heldNames() {
        return LockContext.require().names();
    }

    @Retention(RetentionPolicy.RUNTIME)
    @DistributedLocked(waitTime = "1s")
    @interface Exclusive {
        @AliasFor(annotation = DistributedLocked.class, attribute = "name")
        String[] key();
    }

    public interface Counter {
        @DistributedLocked("count:#{#key}")
        List<String> count(String key);

        List<String> composed(String key);
    }

    public static class Shop implements Counter {
        @Override
        public List<String> count(String key) {
            return heldNames();
        }

        @Override
        @Exclusive(key = "composed:#{#key}")
        public List<String> composed(String key) {
            return heldNames();
        }
    }

    static class Base {
        public List<String> count(String key) {
            return heldNames();
        }

        public List<String> composed(String key) {
            return heldNames();
        }
    }

    static class Adapted extends Base implements Counter {}

    static class Composed {
        @Exclusive(key = "composed:#{#key}")
        public List<String> call(String key) {
            return heldNames();
        }
    }

    static class Overriding extends Composed {
        @Override
        public List<String> call(String key) {
            return super.call(key);
        }
    }

    interface Handler<T> {
        List<String> handle(T input);
    }

    static class TextHandler implements Handler<String> {
        @Override
        @DistributedLocked("handled:#{#input}")
        public List<String> handle(String input) {
            return heldNames();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class ScopedBeans {
        @Bean
        @Scope(scopeName = "thread", proxyMode = ScopedProxyMode.TARGET_CLASS)
        Composed composed() {
            return new Composed();
        }

        @Bean
        @Scope(scopeName = "thread", proxyMode = ScopedProxyMode.TARGET_CLASS)
        Mixed mixed() {
            return new Mixed();
        }
    }

    static class Mixed implements Runnable {
        @Override
        public void run() {}

        @DistributedLocked("outside:#{#key}")
        public List<String> outside(String key) {
            return heldNames();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAsync(proxyTargetClass = true)
    static class Executors {
        @Bean
        TaskExecutor taskExecutor() {
            return task -> new Thread(task, "worker").start();
        }
    }

    static class Background {
        @Async
        @DistributedLocked("background")
        public void work(CompletableFuture<String> ran) {
            ran.complete(Thread.currentThread().getName() + " " + heldNames());
        }
    }
}
