/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.testing.JavaProcess;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.springframework.http.ResponseEntity;

/** What a call costs because of the annotation, over what the same lock costs with the template. */
public class HotPathTest {

    private static final int LEAST_ROUNDS = 4;
    private static final int MOST_ROUNDS = 40;
    private static final int CALLS = 5_000;
    private static final long LIMIT_BYTES = 300;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final Order order = new Order("lamp");

    /**
     * In a process of its own: Mockito changes classes of one in which it was used for good, and they allocate more.
     */
    @Test
    void aCallAllocatesLittleMoreThanTheTemplate(TestReporter reporter) {
        try (JavaProcess process = JavaProcess.start(HotPathTest.class)) {
            for (String name : List.of("a constant name", "a parameter", "an expression", "an open result")) {
                String bytes =
                        process.expect(name + ": ", Duration.ofMinutes(2)).substring(name.length() + 2);
                reporter.publishEntry("bytes over the template: " + name, bytes);
                assertThat(Long.parseLong(bytes)).as(name).isLessThan(LIMIT_BYTES);
            }
        }
    }

    public static void main(String... arguments) {
        HotPathTest test = new HotPathTest();
        runner().withBean(Shop.class).run(context -> {
            Shop shop = context.getBean(Shop.class);
            LockOperations locks = context.getBean(LockOperations.class);
            Order order = test.order;
            Runnable constant = () -> locks.run(LockRequest.of("order:lamp"), lease -> {});
            Runnable made = () -> locks.run(LockRequest.of("order:" + order.id()), lease -> {});
            System.out.println("a constant name: " + test.bytesOver(() -> shop.sellLamp(order), constant));
            System.out.println("a parameter: " + test.bytesOver(() -> shop.sellById(order.id()), made));
            System.out.println("an expression: " + test.bytesOver(() -> shop.sell(order), made));
            System.out.println("an open result: " + test.bytesOver(shop::receipt, constant));
        });
    }

    private long bytesOver(Runnable annotated, Runnable plain) {
        long annotatedBytes = Long.MAX_VALUE;
        long plainBytes = Long.MAX_VALUE;
        long over = Long.MAX_VALUE;
        for (int i = 0; i < LEAST_ROUNDS || (i < MOST_ROUNDS && over >= LIMIT_BYTES); i++) {
            // In turn, and the least counts: what is not compiled yet, late on a busy machine, allocates more.
            annotatedBytes = Math.min(annotatedBytes, bytesOf(annotated));
            plainBytes = Math.min(plainBytes, bytesOf(plain));
            over = (annotatedBytes - plainBytes) / CALLS;
        }
        return over;
    }

    private long bytesOf(Runnable call) {
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < CALLS; i++) {
            call.run();
        }
        return threads.getCurrentThreadAllocatedBytes() - before;
    }

    public record Order(String id) {}

    public static class Shop {
        private static final ResponseEntity<?> RECEIPT = ResponseEntity.ok(new ArrayList<>(List.of("lamp")));

        @DistributedLocked("order:#{#order.id}")
        public void sell(Order order) {}

        @DistributedLocked("order:#{#id}")
        public void sellById(String id) {}

        @DistributedLocked("order:lamp")
        public void sellLamp(Order order) {}

        @DistributedLocked("order:lamp")
        public ResponseEntity<?> receipt() {
            return RECEIPT;
        }
    }
}
