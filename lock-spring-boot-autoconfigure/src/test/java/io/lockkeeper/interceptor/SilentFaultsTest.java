/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockOperations;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.OtherPackage;
import jakarta.annotation.PostConstruct;
import jakarta.annotation.Resource;
import java.io.Closeable;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.aspectj.AspectJExpressionPointcut;
import org.springframework.aop.interceptor.AsyncExecutionInterceptor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.beans.factory.BeanNameAware;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AliasFor;
import org.springframework.core.env.Environment;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;

/** What would run without its lock, or without one of its locks, and nobody would notice. */
class SilentFaultsTest {

    private final LogRecorder log = new LogRecorder(DistributedLocked.class);

    @AfterEach
    void stopRecording() {
        log.close();
    }

    @Test
    void aMethodThatOnlyAnotherPackageSeesIsAFault() {
        assertThat(faults(Elsewhere.class))
                .singleElement()
                .asString()
                .contains("hidden(): is only visible in its package");
    }

    @Test
    void aMethodThatTheProxyAnswersItselfIsAFault() {
        assertThat(faults(Equal.class)).hasSize(2).allMatch(fault -> fault.contains("answered by the proxy itself"));
    }

    @Test
    void anAnnotationOnTheClassIsAFault() {
        assertThat(faults(OnTheClass.class))
                .containsExactly(OnTheClass.class.getName()
                        + ": has the annotation on the class, where it locks nothing. Write it on the methods.");
        assertThat(faults(BelowTheClass.class)).hasSize(1);
    }

    @Test
    void severalAnnotationsOnOneMethodAreAFault() {
        assertThat(faults(Twice.class))
                .hasSize(2)
                .anyMatch(fault -> fault.contains("composed(): has several annotations"))
                .anyMatch(fault -> fault.contains("mixed(): has several annotations"));
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                Repeated.class,
                Contained.class,
                OfTwoInterfaces.class,
                InheritingOfTwo.class,
                OfBothAbove.class,
                Doubled.class
            })
    void annotationsOfWhichOnlyOneWouldLockAreAFault(Class<?> bean) {
        assertThat(faults(bean)).singleElement().asString().contains("call(): has several annotations");
    }

    @ParameterizedTest
    @ValueSource(classes = {SameOfTwoInterfaces.class, NearerThanItsInterface.class, NearerThanAnInterface.class})
    void annotationsOfWhichOneIsMeantAreNoFault(Class<?> bean) {
        assertThat(faults(bean)).isEmpty();
    }

    @Test
    void anInterfaceThatContradictsItselfIsAFaultWhateverOthersSay() {
        assertThat(faults(OfAContradiction.class))
                .singleElement()
                .asString()
                .contains("call(), value: says something else than name");
    }

    @Test
    void aFallbackThatReturnsAValueWhereNoneCanBeIsAFault() {
        assertThat(faults(Empty.class))
                .singleElement()
                .asString()
                .contains("busy() returns String where Void is needed");
    }

    @Test
    void anOverridingMethodMayHaveAnAnnotationOfItsOwn() {
        assertThat(faults(Overriding.class)).isEmpty();
    }

    @Test
    void callbacksOfTheContainerAreWarnedOf() {
        assertThat(faults(Callbacks.class)).isEmpty();
        assertThat(log.lines())
                .hasSize(7)
                .allMatch(line -> line.startsWith("WARN") && line.contains("runs without its lock when the container"))
                .anyMatch(line -> line.contains("Callbacks.begin()"))
                .anyMatch(line -> line.contains("Callbacks.close()"))
                .anyMatch(line -> line.contains("Callbacks.resource(Environment)"))
                .anyMatch(line -> line.contains("Callbacks.value(String)"))
                .anyMatch(line -> line.contains("Callbacks.inject(Environment)"))
                .anyMatch(line -> line.contains("Callbacks.setBeanName(String)"))
                .anyMatch(line -> line.contains("Callbacks.afterPropertiesSet()"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aResultThatGoesOnBehindAnOpenReturnTypeIsWarnedOfOnce(boolean ended) {
        CompletableFuture<String> result = new CompletableFuture<>();
        if (ended) {
            result.complete("x");
        }
        runner().withBean(Open.class).run(context -> {
            Open open = context.getBean(Open.class);
            assertThat(open.of("text")).isEqualTo("text");
            assertThat(log.lines()).isEmpty();
            assertThat(open.of(result)).isSameAs(result);
            assertThat(open.of(result)).isSameAs(result);
        });
        assertThat(log.lines()).hasSize(ended ? 0 : 1).allMatch(line -> line.contains("Open.of returned a"));
    }

    @Test
    void aBodyThatAnotherThreadRunsAfterItsLockIsAFault() {
        assertThat(faults(runner().withUserConfiguration(AsynchronousFirst.class), Task.class))
                .singleElement()
                .asString()
                .contains("work(): runs on another thread");
    }

    @Test
    void aBodyThatAnotherThreadRunsForSomeArgumentsIsAFault() {
        assertThat(faults(runner().withUserConfiguration(AsynchronousTexts.class), Texts.class))
                .singleElement()
                .asString()
                .contains("read(Object): runs on another thread");
    }

    @Test
    void aBodyThatAnotherThreadRunsIsNoFaultWithoutLocking() {
        ApplicationContextRunner off = runner().withPropertyValues("lockkeeper.enabled=false");
        assertThat(faults(off.withUserConfiguration(AsynchronousFirst.class), Task.class))
                .isEmpty();
    }

    @Test
    void aBodyThatAnotherThreadRunsUnderItsLockIsNoFault() {
        runner().withUserConfiguration(AsynchronousFirst.class)
                .withBean(Stage.class)
                .run(context -> assertThat(context.getBean(Stage.class).work().get(20, TimeUnit.SECONDS))
                        .isFalse());
    }

    private static List<String> faults(Class<?> bean) {
        return faults(runner(), bean);
    }

    private static List<String> faults(ApplicationContextRunner runner, Class<?> bean) {
        List<String> faults = new ArrayList<>();
        runner.withBean(bean).run(context -> {
            Throwable failure = context.getStartupFailure();
            if (failure instanceof DistributedLockedConfigurationException wrong) {
                wrong.faults().forEach(fault -> faults.add(fault.toString()));
            } else {
                assertThat(failure).isNull();
            }
        });
        return faults;
    }

    @Retention(RetentionPolicy.RUNTIME)
    @DistributedLocked("first")
    @interface First {}

    @Retention(RetentionPolicy.RUNTIME)
    @DistributedLocked("second")
    @interface Second {}

    @Retention(RetentionPolicy.RUNTIME)
    @DistributedLocked
    @Repeatable(Keys.class)
    @interface Key {
        @AliasFor(annotation = DistributedLocked.class, attribute = "name")
        String[] value();
    }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Keys {
        Key[] value();
    }

    @Retention(RetentionPolicy.RUNTIME)
    @First
    @Second
    @interface FirstAndSecond {}

    static class Repeated {
        @Key("one")
        @Key("two")
        public void call() {}
    }

    static class Contained extends Single {
        @Override
        @Key("one")
        @Key("two")
        public void call() {}
    }

    static class Doubled {
        @FirstAndSecond
        public void call() {}
    }

    interface A {
        @DistributedLocked("a")
        void call();
    }

    interface B {
        @DistributedLocked("b")
        void call();
    }

    interface LikeA {
        @DistributedLocked("a")
        void call();
    }

    interface BelowA extends A {
        @Override
        @DistributedLocked("below")
        void call();
    }

    interface NamedB {
        @DistributedLocked(name = "b")
        void call();
    }

    interface Contradiction {
        @DistributedLocked(name = "one", value = "other")
        void call();
    }

    /** The annotation of the class is composed, and the first that is written directly is not the nearest. */
    static class OfAContradiction implements NamedB, Contradiction {
        @Override
        @First
        public void call() {}
    }

    static class OfTwoInterfaces implements A, B {
        @Override
        public void call() {}
    }

    static class Plain {
        public void call() {}
    }

    static class InheritingOfTwo extends Plain implements A, B {}

    /** The interface would lock, and the class is nearer. */
    static class OfBothAbove extends Single implements A {
        @Override
        public void call() {}
    }

    static class SameOfTwoInterfaces implements A, LikeA {
        @Override
        public void call() {}
    }

    static class NearerThanItsInterface implements BelowA {
        @Override
        public void call() {}
    }

    static class NearerThanAnInterface extends Single implements A {}

    static class Elsewhere extends OtherPackage {}

    @First
    static class OnTheClass {
        public void call() {}
    }

    static class BelowTheClass extends OnTheClass {}

    static class Twice {
        @First
        @Second
        public void composed() {}

        @First
        @DistributedLocked("third")
        public void mixed() {}
    }

    static class Single {
        @First
        public void call() {}
    }

    static class Overriding extends Single {
        @Override
        @Second
        public void call() {}
    }

    static class Empty {
        @DistributedLocked(fallbackMethod = "busy")
        @SuppressWarnings("NullAway") // There is no other value of this type.
        public Void call() {
            return null;
        }

        String busy() {
            return "busy";
        }
    }

    @EnableAsync(order = Ordered.HIGHEST_PRECEDENCE)
    static class AsynchronousFirst {}

    @Configuration(proxyBeanMethods = false)
    static class AsynchronousTexts {
        @Bean
        static DefaultPointcutAdvisor inside() {
            AspectJExpressionPointcut texts = new AspectJExpressionPointcut();
            texts.setExpression("execution(* *..SilentFaultsTest.Texts.*(..)) && args(String)");
            AsyncExecutionInterceptor thread = new AsyncExecutionInterceptor(new SimpleAsyncTaskExecutor());
            DefaultPointcutAdvisor advisor = new DefaultPointcutAdvisor(texts, thread);
            advisor.setOrder(Ordered.LOWEST_PRECEDENCE);
            return advisor;
        }
    }

    static class Texts {
        @DistributedLocked("text")
        public void read(Object text) {}
    }

    static class Task {
        @Async
        @DistributedLocked("task")
        public void work() {}

        @Async
        public void unlocked() {}

        @DistributedLocked("same thread")
        public void sameThread() {}
    }

    static class Stage {

        private final LockOperations locks;

        Stage(LockOperations locks) {
            this.locks = locks;
        }

        /** Returns whether another caller gets the lock meanwhile. */
        @Async
        @DistributedLocked("task")
        public CompletableFuture<Boolean> work() {
            return CompletableFuture.completedFuture(locks.tryAcquire("task").isPresent());
        }
    }

    static class Equal {
        @Override
        @DistributedLocked("equal")
        public boolean equals(@Nullable Object other) {
            return super.equals(other);
        }

        @Override
        @DistributedLocked("equal")
        public int hashCode() {
            return super.hashCode();
        }
    }

    static class Callbacks implements InitializingBean, BeanNameAware, Closeable {
        @Override
        @DistributedLocked("close")
        public void close() {}

        @Resource
        @DistributedLocked("resource")
        public void resource(Environment environment) {}

        @Value("text")
        @DistributedLocked("value")
        public void value(String text) {}

        @PostConstruct
        @DistributedLocked("begin")
        public void begin() {}

        @Override
        @DistributedLocked("set")
        public void afterPropertiesSet() {}

        @Autowired
        @DistributedLocked("inject")
        public void inject(Environment environment) {}

        @Override
        @DistributedLocked("name")
        public void setBeanName(String name) {}

        @DistributedLocked("other")
        public void other() {}
    }

    static class Open {
        @DistributedLocked("open")
        public Object of(Object result) {
            return result;
        }
    }
}
