/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lockkeeper.DistributedLock;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.LockStore;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Ten thousand virtual threads of two instances on a hundred locks: all are served, and none keeps its carrier. */
public abstract class VirtualThreadsContract {

    @RegisterExtension
    final FencingOrder fencing = new FencingOrder();

    private static final int THREADS = 10_000;
    private static final int NAMES = 100;
    private static final int VIRTUAL_THREADS = 21;

    /** Before, a virtual thread kept its carrier in every monitor. */
    private static final int MONITORS_WITHOUT_PINNING = 24;

    private static final String PINNED = "jdk.VirtualThreadPinned";

    private final int jdk = Runtime.version().feature();

    @TempDir
    Path folder;

    /** Returns a new store over the locks that all stores of one test share. */
    protected abstract LockStore store();

    @Test
    void virtualThreadsAreAllServedAndNeverPinned() throws Exception {
        assumeTrue(jdk >= VIRTUAL_THREADS, "virtual threads came with JDK 21");
        int[] counters = new int[NAMES];
        try (Recording recording = new Recording();
                LockTemplate first =
                        LockTemplate.builder(fencing.watch(store())).build();
                LockTemplate second =
                        LockTemplate.builder(fencing.watch(store())).build()) {
            // A thread that loads a class is pinned, in anybody's code: it is done before.
            serve(List.of(first, second), new int[NAMES]);
            recording.enable(PINNED).withThreshold(Duration.ZERO).withStackTrace();
            recording.start();
            serve(List.of(first, second), counters);
            recording.stop();
            assertThat(counters).containsOnly(THREADS / NAMES);
            assertThat(first.toString() + second).contains("held=0, names=0").doesNotContain("names=1");
            if (jdk >= MONITORS_WITHOUT_PINNING) {
                assertThat(pinnedInOurs(recording)).isEmpty();
            }
        }
    }

    private static void serve(List<LockTemplate> instances, int[] counters) throws Exception {
        ExecutorService threads = newVirtualThreadPerTaskExecutor();
        try {
            CountDownLatch begin = new CountDownLatch(1);
            List<Future<?>> workers = new ArrayList<>(THREADS);
            for (int i = 0; i < THREADS; i++) {
                int number = i;
                LockTemplate mine = instances.get(i / NAMES % instances.size());
                workers.add(threads.submit(() -> {
                    begin.await();
                    count(mine, number, counters);
                    return number;
                }));
            }
            begin.countDown();
            for (Future<?> worker : workers) {
                worker.get(2, TimeUnit.MINUTES);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** One step under a lock, in one of the ways to block for it. */
    private static void count(LockTemplate template, int number, int[] counters) throws InterruptedException {
        int name = number % NAMES;
        LockRequest request = LockRequest.of("virtual " + name).withWaitTime(Duration.ofMinutes(1));
        if (number < THREADS / 4) {
            template.run(request, lease -> counters[name]++);
        } else if (number < THREADS / 2) {
            template.run(request.withMode(LockMode.FAIR), lease -> counters[name]++);
        } else {
            DistributedLock lock = template.lock("virtual " + name);
            if (number % 2 == 0) {
                lock.lock();
            } else {
                lock.lockInterruptibly();
            }
            try {
                counters[name]++;
            } finally {
                lock.unlock();
            }
        }
    }

    private static ExecutorService newVirtualThreadPerTaskExecutor() throws ReflectiveOperationException {
        // Unknown to the JDK for which this is compiled.
        return (ExecutorService)
                Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    }

    private List<RecordedEvent> pinnedInOurs(Recording recording) throws IOException {
        Path file = folder.resolve("pinned.jfr");
        recording.dump(file);
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals(PINNED))
                .filter(event -> event.getStackTrace() == null
                        || event.getStackTrace().getFrames().stream()
                                .anyMatch(frame ->
                                        frame.getMethod().getType().getName().startsWith("io.lockkeeper")))
                .toList();
    }
}
