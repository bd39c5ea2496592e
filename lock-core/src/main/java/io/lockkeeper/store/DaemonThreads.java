/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Threads that do not keep a process alive and go away when they are idle; and a wait on threads of any kind.
 *
 * <p>Internal: for the modules of this project alone, and may change in any release.
 */
public final class DaemonThreads {

    private static final long IDLE_SECONDS = 10;

    private DaemonThreads() {}

    /** Returns an executor with a limit of threads, whose names begin with a given one; further work queues. */
    public static ThreadPoolExecutor limited(String name, int threads) {
        ThreadPoolExecutor executor = new ThreadPoolExecutor(
                threads, threads, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory(name));
        executor.allowCoreThreadTimeOut(true);
        return executor;
    }

    /** Joins an answer. The wait of a future itself is refused where a ForkJoinPool has no thread to spare. */
    public static <T> T join(CompletableFuture<T> answer) {
        Semaphore told = new Semaphore(0);
        answer.whenComplete((value, failure) -> told.release());
        told.acquireUninterruptibly();
        return answer.join();
    }

    /** Returns a factory of daemon threads whose names begin with a given one. */
    public static ThreadFactory factory(String name) {
        AtomicInteger number = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, name + "-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }
}
