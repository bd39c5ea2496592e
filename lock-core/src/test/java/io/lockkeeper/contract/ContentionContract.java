/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Many threads of several instances on few locks: nobody is inside with another, nobody is forgotten, tokens rise. */
public abstract class ContentionContract {

    @RegisterExtension
    final FencingOrder fencing = new FencingOrder();

    private static final int INSTANCES = 3;
    private static final int THREADS = 8;
    private static final int ROUNDS = 60;
    private static final int PASSES = 5_000;

    /** Returns a new store over the locks that all stores of one test share. */
    protected abstract LockStore store();

    /** Returns the modes of one holder that the store knows, at least {@link LockMode#EXCLUSIVE}. */
    protected List<LockMode> modes() {
        return List.of(LockMode.EXCLUSIVE, LockMode.FAIR, LockMode.WRITE);
    }

    /** A value that two threads at once would spoil, and the last token that was seen. */
    private static final class Guarded {

        private int value;
        private long token;
        private int regressions;

        void step(long nextToken) {
            int before = value;
            Thread.onSpinWait();
            value = before + 1;
            if (nextToken <= token) {
                regressions++;
            }
            token = nextToken;
        }
    }

    @Test
    void noUpdateIsLostAndNoWaiterIsForgotten() throws Exception {
        for (LockMode mode : modes()) {
            contendFor(mode);
        }
    }

    /** Its callers come first as long as nobody else waits. */
    @Test
    void oneInstanceDoesNotKeepALockForWhichAnotherOneWaits() {
        LockRequest request = LockRequest.of("kept").withWaitTime(Duration.ofSeconds(60));
        try (LockTemplate here = patient();
                LockTemplate there = patient()) {
            Deque<CompletableFuture<LockLease>> callers = new ArrayDeque<>();
            Stream.generate(() -> here.acquireAsync(request)).limit(PASSES).forEach(callers::add);
            for (int i = 0; i < 10; i++) {
                callers.remove().join().close();
            }
            callers.element().join();
            CompletableFuture<LockLease> other = there.acquireAsync(request);

            // The news that somebody waits takes a while; without it there are more passes than callers.
            Awaitility.await().pollInterval(Duration.ofMillis(1)).until(() -> {
                CompletableFuture<LockLease> caller = callers.element();
                if (caller.isDone()) {
                    caller.join().close();
                    callers.remove();
                }
                return other.isDone();
            });

            assertThat(callers).isNotEmpty();
            other.join().close();
            callers.remove().join().close();
            // Each of the others would cost a hand-over, which takes long with independent masters.
            callers.forEach(caller -> caller.cancel(false));
        }
    }

    private LockTemplate patient() {
        return LockTemplate.builder(fencing.watch(store()))
                .handover(2, Duration.ofSeconds(60))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    private void contendFor(LockMode mode) throws Exception {
        List<LockTemplate> instances = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(INSTANCES * THREADS);
        Guarded guarded = new Guarded();
        LockRequest request = LockRequest.of("contended " + mode.name().toLowerCase(Locale.ROOT))
                .withMode(mode)
                .withWaitTime(Duration.ofMinutes(2));
        try {
            for (int i = 0; i < INSTANCES; i++) {
                instances.add(LockTemplate.builder(fencing.watch(store()))
                        .shutdownWait(Duration.ZERO)
                        .build());
            }
            List<Future<?>> workers = new ArrayList<>();
            for (int i = 0; i < INSTANCES * THREADS; i++) {
                LockTemplate mine = instances.get(i % INSTANCES);
                workers.add(threads.submit(() -> {
                    for (int round = 0; round < ROUNDS; round++) {
                        mine.run(request, lease -> guarded.step(lease.fencingToken()));
                    }
                }));
            }
            for (Future<?> worker : workers) {
                worker.get(3, TimeUnit.MINUTES);
            }
            assertThat(guarded.value).isEqualTo(INSTANCES * THREADS * ROUNDS);
            assertThat(guarded.regressions).isZero();
        } finally {
            threads.shutdownNow();
            instances.forEach(LockTemplate::close);
        }
    }
}
