/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.memory.MemoryLockStore;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What one caller costs does not grow with the number of those who wait beside it. */
class LocalCrowdTest {

    private final LocalLockFixture fixture = new LocalLockFixture();

    @Test
    void theLastLeavesAsFastAsTheFirst() {
        List<PendingRequest> waiters = new ArrayList<>();
        for (int i = 0; i < 200_000; i++) {
            waiters.add(fixture.enters());
        }
        fixture.queued();
        assertTimeout(Duration.ofSeconds(10), () -> {
            for (int i = waiters.size() - 1; i >= 0; i--) {
                fixture.lock.left(waiters.get(i));
            }
        });
        assertThat(fixture.lock.attempt(fixture.asked().id.toString())).isNull();
    }

    @Test
    void theTimerDoesNotSortThemAtEachLook() {
        EngineFixture engine = new EngineFixture();
        Map<PendingRequest, Boolean> waiters = new ConcurrentHashMap<>();
        for (int i = 0; i < 200_000; i++) {
            waiters.put(engine.begin(EngineFixture.REQUEST), true);
        }
        engine.queued();
        Comparator<PendingRequest> order = Comparator.comparingLong(waiter -> waiter.number);
        long sorts = 0;
        long looks = 0;
        for (int i = 0; i < 10; i++) {
            sorts += cpuNanos(() -> waiters.keySet().stream().sorted(order).forEach(waiter -> {}));
            looks += cpuNanos(() -> engine.time.pass(Duration.ofMillis(250)));
        }
        assertThat(looks).isLessThan(sorts);
    }

    private static long cpuNanos(Runnable work) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadCpuTime();
        work.run();
        return threads.getCurrentThreadCpuTime() - before;
    }

    @Test
    void theTimerTellsNoneThatItsTimeIsUp() throws Exception {
        LockTemplate template = LockTemplate.builder(new MemoryLockStore())
                .executor(Runnable::run)
                .build();
        LockLease held = template.acquire("stock");
        CompletableFuture<String> teller = template.acquireAsync(
                        LockRequest.of("stock").withWaitTime(Duration.ofMillis(300)))
                .handle((lease, refusal) -> Thread.currentThread().getName());
        assertThat(teller.get(20, TimeUnit.SECONDS)).doesNotStartWith("lockkeeper-timer");
        held.close();
        template.close();
    }
}
