/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A JVM in which as many callers wait as it is told to. */
final class WaitingWorker {

    private static final Duration LONG = Duration.ofHours(1);
    private static final int WARM = 2_000;

    private final LockTemplate locks;
    private final int waiters;
    private final int names;
    private final List<CompletableFuture<LockLease>> waiting;

    private WaitingWorker(LockTemplate locks, int waiters, int names) {
        this.locks = locks;
        this.waiters = waiters;
        this.names = names;
        this.waiting = new ArrayList<>(Math.max(waiters, WARM));
    }

    /** Arguments: the port of Redis, how many wait, for how many names. */
    public static void main(String[] arguments) throws Exception {
        int threads = ProcessFigures.threads();
        RedisConnectionFactory connections = Connections.jedis(Integer.parseInt(arguments[0]));
        try (LockTemplate locks = LockTemplate.builder(
                        new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .shutdownWait(Duration.ZERO)
                .build()) {
            WaitingWorker worker =
                    new WaitingWorker(locks, Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
            WorkerLoop.answer(Map.of(
                    "prepare", number -> worker.prepare(),
                    "ask", number -> worker.ask(worker.waiters),
                    "waiting", number -> worker.waiting(),
                    "heap", number -> ProcessFigures.heap(),
                    "cpu", number -> ProcessFigures.cpuNanos(),
                    "threads", number -> ProcessFigures.threads() - threads));
        }
        System.exit(0);
    }

    /** Loads what is needed: some wait and go away. */
    private long prepare() {
        ask(WARM);
        Renewals.pause(Duration.ofSeconds(1).toNanos());
        waiting.forEach(one -> one.cancel(false));
        waiting.clear();
        Renewals.pause(Duration.ofSeconds(1).toNanos());
        return WARM;
    }

    /** Returns how long it took to ask, in ns. */
    private long ask(int count) {
        long begin = System.nanoTime();
        IntStream.range(0, count)
                .mapToObj(i -> LockRequest.of(ManyLocks.name(i % names)).withWaitTime(LONG))
                .forEach(request -> waiting.add(locks.acquireAsync(request)));
        return System.nanoTime() - begin;
    }

    private long waiting() {
        return waiting.stream().filter(one -> !one.isDone()).count();
    }
}
