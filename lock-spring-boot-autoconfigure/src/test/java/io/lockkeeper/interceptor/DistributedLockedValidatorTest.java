/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.memory.MemoryLockStore;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;

class DistributedLockedValidatorTest {

    @Test
    void allFaultsOfAllMethodsComeInOneReport() {
        runner().withBean(EverythingWrong.class).withBean(AlsoWrong.class).run(context -> {
            assertThat(faults(context))
                    .extracting(fault -> fault.method() + " " + fault.attribute())
                    .containsExactlyInAnyOrder(
                            "alsoWrong() name",
                            "everything(String) name",
                            "everything(String) name",
                            "everything(String) value",
                            "everything(String) waitTime",
                            "everything(String) leaseTime",
                            "everything(String) retryCount",
                            "everything(String) retryDelay",
                            "everything(String) fallbackMethod",
                            "everything(String) skipWhenLocked",
                            "everything(String) skipWhenLocked",
                            "everything(String) minHoldTime",
                            "everything(String) lockTemplate",
                            "hidden() ",
                            "hidden() waitTime",
                            "later() ",
                            "sealed() ",
                            "shared() ");
            assertThat(context.getStartupFailure()).hasStackTraceContaining("Wrong use of @DistributedLocked");
        });
    }

    @Test
    void aFinalClassIsAFaultAmongTheOthersAndDoesNotStopTheReport() {
        runner().withBean(FinalClass.class).withBean(AlsoWrong.class).run(context -> assertThat(faults(context))
                .extracting(DistributedLockedFault::problem)
                .hasSize(2)
                .anyMatch(problem -> problem.contains("belongs to a final or sealed class")));
    }

    @Test
    void aClassWithPrivateConstructorsAloneIsAFaultToo() {
        runner().withBean(PrivateConstructor.class, PrivateConstructor::create)
                .withBean(AlsoWrong.class)
                .run(context -> assertThat(faults(context)).hasSize(2).anySatisfy(fault -> {
                    assertThat(fault.problem())
                            .isEqualTo("belongs to a class with private constructors alone, of which no proxy"
                                    + " can be made");
                    assertThat(fault.remedy()).isEqualTo("Give PrivateConstructor one that is not private");
                }));
    }

    @Test
    void aRecordIsToBecomeAClass() {
        runner().withBean(Sale.class, () -> new Sale("x"))
                .run(context -> assertThat(faults(context)).singleElement().satisfies(fault -> {
                    assertThat(fault.problem()).startsWith("belongs to a final or sealed class");
                    assertThat(fault.remedy())
                            .isEqualTo("Write Sale as a class that can be extended: a record and an enum cannot");
                }));
    }

    @Test
    void lazyAndPrototypeBeansAreCheckedAndNotCreated() {
        LazyBeans.created.set(0);
        runner().withUserConfiguration(LazyBeans.class).run(context -> {
            assertThat(faults(context))
                    .extracting(DistributedLockedFault::method)
                    .containsExactly("lazy()", "prototype()");
            assertThat(LazyBeans.created).hasValue(0);
        });
    }

    @Test
    void everythingIsCheckedWithLazyInitialisationToo() {
        runner().withPropertyValues("spring.main.lazy-initialization=true")
                .withUserConfiguration(LazyBeans.class)
                .run(context -> assertThat(faults(context)).hasSize(2));
    }

    @Test
    void theFallbackOfABeanThatIsOnlyKnownByItsInterfaceIsFoundWhenItRuns() {
        runner().withUserConfiguration(HiddenImplementation.class).run(context -> {
            assertThat(context).hasNotFailed();
            LockedApplication.whileHeldElsewhere(context, "hidden", () -> assertThat(
                            context.getBean(Work.class).work())
                    .isEqualTo("busy"));
        });
    }

    @Test
    void severalTemplatesWithoutAChoiceAreAFault() {
        ApplicationContextRunner two = runner().withBean("one", LockOperations.class, LockOperations::withoutLocking)
                .withBean("two", LockTemplate.class, () -> LockTemplate.builder(new MemoryLockStore())
                        .build())
                .withBean(Plain.class);
        two.run(context -> assertThat(faults(context)).singleElement().satisfies(fault -> {
            assertThat(fault.attribute()).isEqualTo("lockTemplate");
            assertThat(fault.remedy()).contains("one", "two");
        }));
    }

    @Test
    void aMethodOutsideTheInterfacesOfAJdkProxyIsAFault() {
        runner().withPropertyValues("spring.aop.proxy-target-class=false")
                .withBean(Outside.class)
                .run(context -> assertThat(faults(context))
                        .singleElement()
                        .satisfies(fault -> assertThat(fault.problem()).contains("is in no interface of Outside")));
    }

    @Test
    void aWaitTimeThatRetriesIgnoreIsAWarning() {
        assertThat(warningsOf(runner().withBean(Retrying.class)))
                .singleElement()
                .asString()
                .contains("Retrying.retrying() has retryCount and waitTime");
    }

    @Test
    void noBeanIsCreatedTooEarly() {
        assertThat(warningsOf(runner().withBean(Plain.class))).isEmpty();
    }

    /** Returns what is logged as a warning, by anybody, while an application starts. */
    private static List<String> warningsOf(ApplicationContextRunner runner) {
        Logger root = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
        ListAppender<ILoggingEvent> appender = new ListAppender<>();
        appender.start();
        Level level = root.getLevel();
        root.setLevel(Level.INFO);
        root.addAppender(appender);
        try {
            runner.run(context -> assertThat(context).hasNotFailed());
        } finally {
            root.detachAppender(appender);
            root.setLevel(level);
        }
        return appender.list.stream()
                .filter(event -> event.getLevel().isGreaterOrEqual(Level.WARN)
                        || event.getFormattedMessage().contains("not eligible"))
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }

    private static List<DistributedLockedFault> faults(AssertableApplicationContext context) {
        assertThat(context).hasFailed();
        Throwable failure = context.getStartupFailure();
        while (!(failure instanceof DistributedLockedConfigurationException wrong)) {
            failure = failure.getCause();
        }
        return wrong.faults();
    }

    @SuppressWarnings("unused")
    static class EverythingWrong {
        @DistributedLocked(
                value = "order",
                name = {"'order:' + #id", "#{#other}"},
                waitTime = "soon",
                leaseTime = "-1s",
                retryCount = -1,
                retryDelay = "0s",
                fallbackMethod = "nowhere",
                skipWhenLocked = true,
                minHoldTime = "5",
                lockTemplate = "nowhere")
        public int everything(String id) {
            return 0;
        }

        @DistributedLocked(waitTime = "x")
        private void hidden() {}

        @DistributedLocked
        public static void shared() {}

        @DistributedLocked
        public final void sealed() {}

        @DistributedLocked
        public Future<Void> later() {
            return CompletableFuture.completedFuture(null);
        }
    }

    static class AlsoWrong {
        @DistributedLocked("")
        public void alsoWrong() {}
    }

    static final class FinalClass {
        @DistributedLocked
        public void locked() {}
    }

    static class Plain {
        @DistributedLocked
        public void plain() {}
    }

    static class Retrying {
        @DistributedLocked(retryCount = 1, waitTime = "1s")
        public void retrying() {}
    }

    interface Inside {
        void inside();
    }

    static class Outside implements Inside {
        @Override
        @DistributedLocked
        public void inside() {}

        @DistributedLocked
        public void outside() {}
    }

    interface Work {
        @DistributedLocked(name = "hidden", fallbackMethod = "busy")
        String work();
    }

    @Configuration(proxyBeanMethods = false)
    static class HiddenImplementation {
        @Bean
        @Lazy
        Work work() {
            return new Work() {
                @Override
                public String work() {
                    return "worked";
                }

                @SuppressWarnings("unused")
                private String busy() {
                    return "busy";
                }
            };
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class LazyBeans {
        static final AtomicInteger created = new AtomicInteger();

        @Bean
        @Lazy
        LazyBean lazy() {
            created.incrementAndGet();
            return new LazyBean();
        }

        @Bean
        @Scope("prototype")
        PrototypeBean prototype() {
            created.incrementAndGet();
            return new PrototypeBean();
        }
    }

    static class LazyBean {
        @DistributedLocked(waitTime = "x")
        public void lazy() {}
    }

    static class PrototypeBean {
        @DistributedLocked(waitTime = "x")
        public void prototype() {}
    }

    static class PrivateConstructor {
        private PrivateConstructor() {}

        static PrivateConstructor create() {
            return new PrivateConstructor();
        }

        @DistributedLocked("private")
        public void run() {}
    }

    record Sale(String product) {
        @DistributedLocked("sale")
        public void run() {}
    }
}
