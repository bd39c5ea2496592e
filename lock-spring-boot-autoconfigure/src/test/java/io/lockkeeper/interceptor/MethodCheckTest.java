/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.memory.MemoryLockStore;
import io.netty.channel.DefaultEventLoop;
import io.netty.util.concurrent.DefaultEventExecutorGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutorGroup;
import java.io.IOException;
import java.io.InputStream;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;
import org.springframework.util.ClassUtils;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Methods that are called in a way in which their annotation does not do what it is written for. */
class MethodCheckTest {

    private static final String WITHOUT_SKIP =
            " runs on every instance, one after the other: @Scheduled starts it on each"
                    + " of them, and those that find the lock held wait for it. Write skipWhenLocked = true";
    private static final String WITHOUT_MINIMUM = " may run more than once at each time of its @Scheduled: an instance"
            + " whose clock is behind finds the lock free again. Write ";
    private static final String MINIMUM =
            "minHoldTime, longer than the clocks of the instances differ and shorter than the"
                    + " interval, as in minHoldTime = \"30s\"";

    private final LogRecorder log = new LogRecorder(DistributedLocked.class);

    @AfterEach
    void stopRecording() {
        log.close();
    }

    @Test
    void aPackagePrivateMethodOfABaseClassInAnotherClassLoaderIsAFault() throws ReflectiveOperationException {
        ClassLoader reloading = new Reloading();
        Class<?> reloaded = reloading.loadClass(Sub.class.getName());
        assertThat(reloaded.getSuperclass()).isSameAs(Base.class);
        assertThat(reloaded.getPackageName()).isEqualTo(Base.class.getPackageName());
        runner().withClassLoader(reloading).withBean(reloaded).run(context -> assertThat(faults(context))
                .containsExactly(Base.class.getName() + ".hidden(): is only visible in its package, and the class"
                        + " of the bean, " + Sub.class.getName() + ", is in another class loader, where no proxy"
                        + " can lock it. Make it public or protected."));
        runner().withBean(Sub.class)
                .run(context -> assertThat(context.getBean(Sub.class).hidden()).isTrue());
    }

    @ParameterizedTest
    @ValueSource(classes = {Beans.class, LiteBeans.class})
    void aBeanMethodIsAFault(Class<?> configuration) {
        runner().withUserConfiguration(configuration).run(context -> assertThat(faults(context))
                .containsExactly(configuration.getName() + ".work(): is a @Bean method, which makes a bean and"
                        + " locks nothing when that is called. Write the annotation on the methods of the bean"
                        + " that it makes."));
    }

    @ParameterizedTest
    @ValueSource(strings = {"reactor", "netty"})
    void aBlockingMethodOnAnEventLoopIsWarnedOfOnce(String loop) {
        runner().withBean(Blocking.class).run(context -> {
            Blocking blocking = context.getBean(Blocking.class);
            assertThat(blocking.held()).isTrue();
            assertThat(blocking.later().block()).isTrue();
            assertThat(log.lines()).isEmpty();
            assertThat(onEventLoop(loop, blocking)).isTrue();
            assertThat(onEventLoop(loop, blocking)).isTrue();
        });
        assertThat(log.lines())
                .singleElement()
                .asString()
                .matches(
                        "WARN Blocking.held was called on the event loop thread '" + loop + ".*', which it blocks while"
                                + " it waits for the lock and runs\\. Return a Mono, Flux or CompletableFuture, or call it on"
                                + " another thread, as with subscribeOn\\(Schedulers.boundedElastic\\(\\)\\)\\. Said once for"
                                + " each method");
    }

    private static boolean onEventLoop(String loop, Blocking blocking) throws Exception {
        if (loop.equals("reactor")) {
            return Mono.fromCallable(blocking::held)
                    .subscribeOn(Schedulers.newParallel("reactor", 1))
                    .toFuture()
                    .get(10, TimeUnit.SECONDS);
        }
        return on(new DefaultEventLoop(new DefaultThreadFactory(loop)), blocking);
    }

    private static boolean on(EventExecutorGroup threads, Blocking blocking) throws Exception {
        try {
            return threads.submit(blocking::held).get(10, TimeUnit.SECONDS);
        } finally {
            threads.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    @Test
    void aThreadOfNettyThatRunsNoEventLoopMayBlock() {
        runner().withBean(Blocking.class).run(context -> {
            Blocking blocking = context.getBean(Blocking.class);
            CompletableFuture<Boolean> held = new CompletableFuture<>();
            new DefaultThreadFactory("timer")
                    .newThread(() -> held.complete(blocking.held()))
                    .start();
            assertThat(held.get(10, TimeUnit.SECONDS)).isTrue();
            assertThat(on(new DefaultEventExecutorGroup(1), blocking)).isTrue();
        });
        assertThat(log.lines()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"waiting", "repeated", "composed", "retrying"})
    void aScheduledMethodThatEveryInstanceRunsInTurnIsWarnedOf(String method) {
        assertThat(warnings(method)).containsExactly(WITHOUT_SKIP + " and " + MINIMUM);
    }

    @Test
    void aScheduledMethodWithAMinimumHoldThatWaitsIsWarnedOf() {
        assertThat(warnings("holding")).containsExactly(WITHOUT_SKIP);
    }

    @ParameterizedTest
    @CsvSource({"skipping", "trying", "falling", "zero"})
    void aScheduledMethodThatMayRunAgainIsWarnedOf(String method) {
        assertThat(warnings(method)).containsExactly(WITHOUT_MINIMUM + MINIMUM);
    }

    @ParameterizedTest
    @CsvSource({"right", "configured", "unscheduled"})
    void otherMethodsGiveNoAlarm(String method) {
        assertThat(warnings(method)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"0, false", "0s, false", "1s, true"})
    void whetherAScheduledMethodWaitsMayBeSaidByTheProperty(String waitTime, boolean waits) {
        runner().withPropertyValues("lockkeeper.wait-time=" + waitTime)
                .withBean(ScheduledJob.class)
                .run(context -> assertThat(context).hasNotFailed());
        assertThat(log.lines())
                .containsExactly("WARN " + ScheduledJob.class.getName() + ".run()"
                        + (waits ? WITHOUT_SKIP + " and " : WITHOUT_MINIMUM) + MINIMUM);
    }

    @Test
    void aTemplateOfTheApplicationSaysWhetherAScheduledMethodWaits() {
        runner().withPropertyValues("lockkeeper.wait-time=1s")
                .withBean(LockTemplate.class, () -> LockTemplate.builder(new MemoryLockStore())
                        .waitTime(Duration.ZERO)
                        .build())
                .withBean(ScheduledJob.class)
                .run(context -> assertThat(context).hasNotFailed());
        assertThat(log.lines())
                .containsExactly("WARN " + ScheduledJob.class.getName() + ".run()" + WITHOUT_MINIMUM + MINIMUM);
    }

    private List<String> warnings(String method) {
        assertThat(new SpecFixture().faults(Jobs.class, method)).isEmpty();
        String begin = "WARN " + Jobs.class.getName() + "." + method + "()";
        assertThat(log.lines()).allMatch(line -> line.startsWith(begin));
        return log.lines().stream().map(line -> line.substring(begin.length())).toList();
    }

    @Test
    void aScheduledMethodOfAConfigurationIsLocked() {
        runner().withUserConfiguration(ScheduledConfiguration.class).run(context -> assertThat(
                        context.getBean(ScheduledConfiguration.class).run())
                .isTrue());
        assertThat(log.lines()).isEmpty();
    }

    private static List<String> faults(AssertableApplicationContext context) {
        assertThat(context).hasFailed();
        return ((DistributedLockedConfigurationException) context.getStartupFailure())
                .faults().stream().map(DistributedLockedFault::toString).toList();
    }

    public static class Base {
        public Base() {}

        @DistributedLocked("hidden")
        boolean hidden() {
            return LockContext.current().isPresent();
        }
    }

    static class Sub extends Base {}

    /** Loads {@link Sub} anew, as DevTools does with the classes of an application, and all others as they are. */
    private static final class Reloading extends ClassLoader {
        Reloading() {
            super(MethodCheckTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals(Sub.class.getName())) {
                return super.loadClass(name, resolve);
            }
            try (InputStream file = Sub.class.getResourceAsStream(ClassUtils.getClassFileName(Sub.class))) {
                byte[] code = file.readAllBytes();
                return defineClass(name, code, 0, code.length);
            } catch (IOException unreadable) {
                throw new ClassNotFoundException(name, unreadable);
            }
        }
    }

    @Configuration
    static class Beans {
        @Bean
        @DistributedLocked("work")
        public Object work() {
            return new Object();
        }
    }

    static class LiteBeans {
        @Bean
        @DistributedLocked("work")
        public Object work() {
            return new Object();
        }
    }

    static class Blocking {
        @DistributedLocked("blocking")
        public boolean held() {
            return LockContext.current().isPresent();
        }

        @DistributedLocked("blocking")
        public Mono<Boolean> later() {
            return Mono.just(true);
        }
    }

    @Scheduled(cron = "0 * * * * *")
    @Retention(RetentionPolicy.RUNTIME)
    @interface EachMinute {}

    static class Jobs {
        @Scheduled(fixedRate = 1_000)
        @DistributedLocked
        public void waiting() {}

        @Schedules({@Scheduled(fixedRate = 1_000), @Scheduled(cron = "0 * * * * *")})
        @DistributedLocked
        public void repeated() {}

        @EachMinute
        @DistributedLocked
        public void composed() {}

        @EachMinute
        @DistributedLocked(waitTime = "5s", minHoldTime = "30s")
        public void holding() {}

        @EachMinute
        @DistributedLocked(retryCount = 2)
        public void retrying() {}

        @EachMinute
        @DistributedLocked(skipWhenLocked = true)
        public void skipping() {}

        @EachMinute
        @DistributedLocked(waitTime = "0s")
        public void trying() {}

        @EachMinute
        @DistributedLocked(waitTime = "0s", fallbackMethod = "busy")
        public void falling() {}

        @EachMinute
        @DistributedLocked(skipWhenLocked = true, minHoldTime = "0s")
        public void zero() {}

        @EachMinute
        @DistributedLocked(skipWhenLocked = true, minHoldTime = "30s")
        public void right() {}

        @EachMinute
        @DistributedLocked(skipWhenLocked = true, minHoldTime = "${known.wait}")
        public void configured() {}

        @DistributedLocked
        public void unscheduled() {}

        void busy() {}
    }

    static class ScheduledJob {
        @EachMinute
        @DistributedLocked
        public void run() {}
    }

    @Configuration
    static class ScheduledConfiguration {
        @EachMinute
        @DistributedLocked(skipWhenLocked = true, minHoldTime = "1ms")
        public Boolean run() {
            return LockContext.current().isPresent();
        }
    }
}
