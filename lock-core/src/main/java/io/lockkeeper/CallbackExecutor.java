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
 * Runs the callbacks of users on four threads, however many callbacks there are. Where none could begin for 50 ms, all
 * threads may be blocked, perhaps until another callback has run, and there is one more: callbacks wait for each other, but
 * never for ever.
 */
final class CallbackExecutor extends ThreadPoolExecutor {

    private static final int THREADS = 4;
    private static final Executor IN_50_MILLIS =
            CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS, Runnable::run);

    private final LinkedBlockingDeque<Runnable> waiting;
    private final AtomicBoolean watched = new AtomicBoolean();

    /** Whether a callback has begun since the last look. */
    private volatile boolean begun;

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
        watch();
    }

    /** Returns an executor whose tasks are the next ones to begin. */
    Executor urgent() {
        return task -> {
            waiting.addFirst(task);
            prestartCoreThread();
            watch();
        };
    }

    @Override
    protected void beforeExecute(Thread thread, Runnable task) {
        begun = true;
    }

    private void watch() {
        if ((!waiting.isEmpty() || getCorePoolSize() > THREADS) && watched.compareAndSet(false, true)) {
            begun = false;
            IN_50_MILLIS.execute(this::look);
        }
    }

    private void look() {
        try {
            if (waiting.isEmpty()) {
                setCorePoolSize(THREADS);
            } else if (!begun) {
                setCorePoolSize(getPoolSize() + 1);
            }
        } finally {
            watched.set(false);
            watch();
        }
    }
}
