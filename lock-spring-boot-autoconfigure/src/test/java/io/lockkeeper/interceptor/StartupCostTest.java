/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.lockkeeper.LockOperations;
import io.lockkeeper.annotation.DistributedLocked;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.annotation.AnnotationDescription;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.implementation.StubMethod;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.springframework.aop.framework.autoproxy.InfrastructureAdvisorAutoProxyCreator;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;

/** Classes that are made for the test, so that none of them was looked at before. */
class StartupCostTest {

    /** 150 ms are promised; the machine may be a slow one, and coverage is measured. */
    private static final long LIMIT_MILLIS = 400;

    private static final int ROUNDS = 3;
    private static final int METHODS_PER_CLASS = 10;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

    @Test
    void aThousandAnnotatedMethodsAmongTwoThousandBeansAreCheckedInAMoment(TestReporter reporter) {
        List<Long> millis = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            // New classes each time: only the compiler is warm.
            millis.add(millisOf("Round" + round + "Bean"));
        }
        reporter.publishEntry("CPU time for 1,000 annotated methods, ms", millis.toString());
        assertThat(Collections.min(millis)).as("of " + millis).isLessThan(LIMIT_MILLIS);
    }

    private long millisOf(String prefix) {
        DefaultListableBeanFactory beans = beans(prefix, 100);
        for (int i = 0; i < 1_900; i++) {
            beans.registerBeanDefinition("plain" + i, new RootBeanDefinition(i % 2 == 0 ? Plain.class : Other.class));
        }
        // As it is when the beans of an application have been made.
        beans.freezeConfiguration();
        assertThat(beans.getBeanDefinitionCount()).isEqualTo(2_000);
        DistributedLockedValidator validator = validator(beans);
        long before = threads.getCurrentThreadCpuTime();
        assertThatCode(validator::afterSingletonsInstantiated).doesNotThrowAnyException();
        return TimeUnit.NANOSECONDS.toMillis(threads.getCurrentThreadCpuTime() - before);
    }

    private static DistributedLockedValidator validator(DefaultListableBeanFactory beans) {
        DistributedLockedAdvisor advisor = new DistributedLockedAdvisor(beans, 0);
        beans.registerSingleton("advisor", advisor);
        beans.registerSingleton("operations", LockOperations.withoutLocking());
        beans.addBeanPostProcessor(new InfrastructureAdvisorAutoProxyCreator());
        return new DistributedLockedValidator(beans, advisor, false, () -> false);
    }

    private static DefaultListableBeanFactory beans(String prefix, int classes) {
        DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
        for (int i = 0; i < classes; i++) {
            beans.registerBeanDefinition(prefix + i, new RootBeanDefinition(type(prefix + i)));
        }
        return beans;
    }

    private static Class<?> type(String name) {
        DynamicType.Builder<?> type = new ByteBuddy().subclass(Object.class).name("io.lockkeeper.generated." + name);
        for (int i = 0; i < METHODS_PER_CLASS; i++) {
            type = type.defineMethod("method" + i, void.class, Modifier.PUBLIC)
                    .withParameter(String.class, "id")
                    .intercept(StubMethod.INSTANCE)
                    .annotateMethod(AnnotationDescription.Builder.ofType(DistributedLocked.class)
                            .defineArray("name", "order:#{#id.toLowerCase()}:" + i)
                            .define("waitTime", "2s")
                            .build());
        }
        try (DynamicType.Unloaded<?> made = type.make()) {
            return made.load(StartupCostTest.class.getClassLoader(), ClassLoadingStrategy.Default.WRAPPER)
                    .getLoaded();
        }
    }

    static class Plain {
        public void run() {}
    }

    static class Other {
        public String name() {
            return "other";
        }
    }
}
