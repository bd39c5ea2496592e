/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Many threads of three instances want one lock, while one master after the other is away for a while. */
class QuorumContentionTest {

    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration RUN = Duration.ofSeconds(4);
    private static final int INSTANCES = 3;
    private static final int THREADS = 4;

    private final AtomicInteger inside = new AtomicInteger();
    private final List<String> faults = new ArrayList<>();
    private final int[] turns = new int[INSTANCES];
    private long lastToken;

    @Test
    void nobodyIsInsideWithAnotherAndTokensRise() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(INSTANCES * THREADS);
        try (Masters masters = Masters.start(3)) {
            List<LockTemplate> templates = new ArrayList<>();
            for (int i = 0; i < INSTANCES; i++) {
                templates.add(masters.template(LEASE));
                masters.warm(templates.get(i));
            }
            long end = System.nanoTime() + RUN.toNanos();
            List<Future<?>> workers = new ArrayList<>();
            for (int i = 0; i < INSTANCES; i++) {
                int instance = i;
                LockTemplate template = templates.get(i);
                for (int j = 0; j < THREADS; j++) {
                    workers.add(threads.submit(() -> work(template, instance, end)));
                }
            }
            for (int away = 0; System.nanoTime() < end; away = (away + 1) % 3) {
                // Shorter and longer than the command timeout of 1 s.
                long pause = away == 0 ? 1_500 : 400;
                masters.without(away, () -> LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(pause)));
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
            }
            for (Future<?> worker : workers) {
                worker.get(30, TimeUnit.SECONDS);
            }
            masters.awaitNoOwner("contended");
        } finally {
            threads.shutdownNow();
        }
        assertThat(faults).isEmpty();
        assertThat(turns).as("every instance has its turn").doesNotContain(0);
    }

    private void work(LockTemplate template, int instance, long end) {
        LockRequest request = LockRequest.of("contended").withWaitTime(Duration.ofSeconds(20));
        while (System.nanoTime() < end) {
            try (LockLease lease = template.acquire(request)) {
                int others = inside.getAndIncrement();
                synchronized (faults) {
                    if (others > 0) {
                        faults.add(others + " inside with " + lease.fencingToken());
                    }
                    if (lease.fencingToken() <= lastToken) {
                        faults.add(lease.fencingToken() + " after " + lastToken);
                    }
                    lastToken = lease.fencingToken();
                    turns[instance]++;
                }
                inside.decrementAndGet();
            }
        }
    }
}
