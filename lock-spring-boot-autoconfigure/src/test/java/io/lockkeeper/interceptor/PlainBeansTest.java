/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.lockkeeper.annotation.DistributedLocked;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.expression.spel.standard.SpelCompiler;
import org.springframework.test.util.ReflectionTestUtils;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

/** What the library costs where nothing is annotated, and where expressions meet all kinds of types. */
class PlainBeansTest {

    private static final int BEANS = 500;
    private static final int ROUNDS = 5;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @Test
    void prototypesWithoutTheAnnotationCostWhatTheyCostWithoutTheLibrary(TestReporter reporter) {
        long with = bytesOfABean(LockedApplication.runner());
        long without = bytesOfABean(
                new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(AopAutoConfiguration.class)));
        reporter.publishEntry("bytes of a prototype, with and without the library", with + ", " + without);
        assertThat(with).isLessThan(without + without / 4 + 1_000);
    }

    @Test
    void changingTypesOfParametersMakeNoClassesForEver() {
        SpecFixture fixture = new SpecFixture();
        Object compiler = SpelCompiler.getCompiler(getClass().getClassLoader());
        int before = compilations(compiler);
        Shop shop = new Shop();
        Object[] orders = {new One("1"), new Other("2"), new Third("3")};
        for (int i = 0; i < 20_000; i++) {
            Object order = orders[i / 150 % orders.length];
            assertThat(fixture.names(shop, "sell", order)).containsExactly("order:" + (i / 150 % orders.length + 1));
        }
        assertThat(compilations(compiler) - before).isLessThan(50);
    }

    private static int compilations(Object compiler) {
        return Integer.parseInt(String.valueOf(ReflectionTestUtils.getField(compiler, "suffixId")));
    }

    private long bytesOfABean(ApplicationContextRunner runner) {
        long[] least = {Long.MAX_VALUE};
        runner.withUserConfiguration(SalesDatabase.class, Transactions.class)
                .withBean("plain", Plain.class, Plain::new, definition -> definition.setScope("prototype"))
                .run(context -> {
                    for (int i = 0; i < ROUNDS; i++) {
                        least[0] = Math.min(least[0], bytes(context) / BEANS);
                    }
                });
        return least[0];
    }

    private long bytes(ApplicationContext context) {
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < BEANS; i++) {
            context.getBean("plain");
        }
        return threads.getCurrentThreadAllocatedBytes() - before;
    }

    @EnableTransactionManagement(proxyTargetClass = true)
    static class Transactions {}

    static class Plain {

        @Transactional
        public void first() {}

        public void second() {}

        public String third(String text) {
            return text;
        }

        public String fourth(String text) {
            return text;
        }

        public int fifth(int number) {
            return number;
        }
    }

    public record One(String id) {}

    public record Other(String id) {}

    public record Third(String id) {}

    public static class Shop {
        @DistributedLocked("order:#{#order.id}")
        public void sell(Object order) {}
    }
}
