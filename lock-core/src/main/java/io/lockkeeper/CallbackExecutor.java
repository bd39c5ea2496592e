/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import io.lockkeeper.store.DaemonThreads;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Runs the callbacks of users on four threads, however many callbacks there are. Where none could begin for 25 ms, all
 * threads may be blocked, perhaps until another callback has run, and there are four times as many, as far as they are
 * wanted, and from 64 on one more each time: callbacks wait for each other, but never for ever.
 */
final class CallbackExecutor extends ThreadPoolExecutor {

    private static final int THREADS = 4;
    private static final int GROWTH = 4;
    private static final int MANY_THREADS = 64;
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

    private final LinkedBlockingDeque<Runnable> waiting;
    private final AtomicBoolean watched = new AtomicBoolean();

    /** When a callback began last. */
    private volatile long begunNanos = System.nanoTime();

    CallbackExecutor() {
        this(new LinkedBlockingDeque<>());
    }

    private CallbackExecutor(LinkedBlockingDeque<Runnable> waiting) {
        super(THREADS, Integer.MAX_VALUE, 10, TimeUnit.SECONDS, waiting, DaemonThreads.factory("lockkeeper-callback"));
        this.waiting = waiting;
        allowCoreThreadTimeOut(true);
    }

    @Override
    public void execute(Runnable task) {
        super.execute(task);
        watch(PATIENCE_NANOS);
    }

    /** Returns an executor whose tasks are the next ones to begin. */
    Executor urgent() {
        return task -> {
            waiting.addFirst(task);
            prestartCoreThread();
            watch(PATIENCE_NANOS);
        };
    }

    @Override
    protected void beforeExecute(Thread thread, Runnable task) {
        begunNanos = System.nanoTime();
    }

    private void watch(long nanos) {
        if ((!waiting.isEmpty() || getCorePoolSize() > THREADS) && watched.compareAndSet(false, true)) {
            try {
                CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS, Runnable::run)
                        .execute(this::look);
            } catch (Throwable failure) {
                watched.set(false);
                throw failure;
            }
        }
    }

    private void look() {
        long left = PATIENCE_NANOS;
        try {
            long sinceNanos = System.nanoTime() - begunNanos;
            if (waiting.isEmpty()) {
                setCorePoolSize(THREADS);
            } else if (sinceNanos < PATIENCE_NANOS) {
                left = PATIENCE_NANOS - sinceNanos;
            } else {
                int size = getPoolSize();
                int wanted = Math.min(size + waiting.size(), Math.min(GROWTH * size, MANY_THREADS));
                setCorePoolSize(Math.max(getCorePoolSize(), Math.max(size + 1, wanted)));
                // Where a thread could not be started before, the size is there already.
                prestartAllCoreThreads();
            }
        } finally {
            watched.set(false);
            watch(left);
        }
    }
}
