/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import io.lockkeeper.store.DaemonThreads;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the callbacks of users on three threads, however many callbacks there are, while a fourth looks on. Where none
 * could begin for 50 ms, all may be blocked, perhaps until another callback has run, and there is one thread more:
 * callbacks wait for each other, but never for ever.
 */
final class CallbackThreads implements Executor {

    private static final Logger log = LoggerFactory.getLogger(CallbackThreads.class);
    private static final int USUAL = 3;
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final ThreadFactory factory = DaemonThreads.factory("lockkeeper-callback");
    private final Deque<Runnable> tasks = new ArrayDeque<>();
    private int threads;
    private int running;

    /** How many threads wait and were not called. */
    private int idle;

    /** How many threads were called while they waited, and have not arrived yet. */
    private int called;

    /** How many threads were started and have not arrived yet. */
    private int started;

    /** Whether a thread looks after tasks that wait while the usual threads are busy. */
    private boolean watched;

    private long lastBegun = System.nanoTime();

    @Override
    public void execute(Runnable task) {
        add(task, false);
    }

    /** Returns an executor whose tasks are the next ones to begin. */
    Executor urgent() {
        return task -> add(task, true);
    }

    private synchronized void add(Runnable task, boolean urgent) {
        if (urgent) {
            tasks.addFirst(task);
        } else {
            tasks.addLast(task);
        }
        try {
            summon();
        } catch (RuntimeException | Error noThread) {
            if (threads == 0) {
                tasks.remove(task);
                throw new RejectedExecutionException("No thread can be had for a callback", noThread);
            }
            log.warn("A callback waits until a thread is free, because no further one can be had", noThread);
        }
    }

    /** Sees to it that somebody takes the next task, or looks after it. */
    private void summon() {
        int coming = called + started;
        if (running + coming >= USUAL && (watched || coming > 0)) {
            return;
        }
        if (idle > 0) {
            idle--;
            called++;
            notify();
        } else {
            factory.newThread(this::work).start();
            threads++;
            started++;
        }
    }

    private void work() {
        Runnable task = arrive();
        while (task != null) {
            try {
                task.run();
            } catch (Throwable failure) {
                log.error("A callback failed", failure);
            }
            // What a callback leaves set is meant for nobody here.
            Thread.interrupted();
            task = goOn();
        }
    }

    private synchronized @Nullable Runnable arrive() {
        started--;
        return next();
    }

    private synchronized @Nullable Runnable goOn() {
        running--;
        return tasks.isEmpty() ? next() : begin();
    }

    /** Returns what a thread runs that did not run anything just now; null: there is no more work for it. */
    private @Nullable Runnable next() {
        long idleUntil = System.nanoTime() + IDLE_NANOS;
        while (true) {
            long patience = lastBegun + PATIENCE_NANOS - System.nanoTime();
            long rest = idleUntil - System.nanoTime();
            if (!tasks.isEmpty() && (running < USUAL || patience <= 0)) {
                return begin();
            }
            if (!tasks.isEmpty() && !watched) {
                watched = true;
                pause(patience);
                watched = false;
            } else if (rest > 0) {
                pause(rest);
            } else {
                threads--;
                return null;
            }
        }
    }

    private Runnable begin() {
        running++;
        lastBegun = System.nanoTime();
        Runnable task = tasks.remove();
        if (!tasks.isEmpty()) {
            try {
                summon();
            } catch (RuntimeException | Error noThread) {
                // This task is taken, and must run; this thread comes back for the next one.
                log.warn("Callbacks wait until a thread is free, because no further one can be had", noThread);
            }
        }
        return task;
    }

    private void pause(long nanos) {
        idle++;
        try {
            TimeUnit.NANOSECONDS.timedWait(this, nanos);
        } catch (InterruptedException foreign) {
            // Nobody else knows these threads; a callback may have kept its own.
            log.debug("A thread for callbacks was interrupted", foreign);
        } finally {
            // Whoever wakes first answers a call, also where its time is up: nobody else may be there any more.
            if (called > 0) {
                called--;
            } else {
                idle--;
            }
        }
    }
}
