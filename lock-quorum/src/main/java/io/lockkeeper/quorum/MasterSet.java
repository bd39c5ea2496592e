/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoreTraits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.function.Consumer;
import java.util.function.Function;

/** Opens and closes all masters in parallel: each may wait for its server. */
final class MasterSet {

    /** A waiting caller is not told when a lock is free, so it asks often. */
    private static final Duration POLL_INTERVAL = Duration.ofMillis(500);

    private MasterSet() {}

    /** Opens all masters, or none, and returns what can be promised of them together. */
    static StoreTraits open(List<Master> masters, Function<LockStore, StoreTraits> opening) {
        List<StoreTraits> traits = new ArrayList<>();
        List<Master> opened = new ArrayList<>();
        try {
            inParallel(masters, master -> {
                StoreTraits own = opening.apply(master.store());
                synchronized (traits) {
                    traits.add(own);
                    opened.add(master);
                }
                if (own.claims()) {
                    throw new IllegalArgumentException("The masters of a quorum do not wait for replicas: the majority"
                            + " takes their place. Set replica acks to 0");
                }
            });
        } catch (RuntimeException wrong) {
            inParallel(opened, master -> master.store().close());
            throw wrong;
        }
        Duration timeout = traits.stream()
                .map(StoreTraits::commandTimeout)
                .max(Duration::compareTo)
                .orElseThrow();
        Duration grant = traits.stream()
                .map(StoreTraits::grantTime)
                .min(Duration::compareTo)
                .orElseThrow();
        Duration poll = traits.stream()
                .map(StoreTraits::pollInterval)
                .min(Duration::compareTo)
                .filter(shortest -> shortest.compareTo(POLL_INTERVAL) < 0)
                .orElse(POLL_INTERVAL);
        return new StoreTraits(timeout, poll, grant, false);
    }

    /** Closes all masters; of several failures the first is thrown. */
    static void close(List<Master> masters, Duration patience) {
        inParallel(masters, master -> master.close(patience));
    }

    private static void inParallel(List<Master> masters, Consumer<Master> action) {
        ExecutorService threads = DaemonThreads.cached("lockkeeper-quorum");
        try {
            CompletableFuture.allOf(masters.stream()
                            .map(master -> CompletableFuture.runAsync(() -> action.accept(master), threads))
                            .toArray(CompletableFuture<?>[]::new))
                    .join();
        } catch (CompletionException failure) {
            throw failure.getCause() instanceof RuntimeException known ? known : failure;
        } finally {
            threads.shutdown();
        }
    }
}
