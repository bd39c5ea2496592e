/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Threads that wait for answers. */
final class CallerThread {

    private static final @Nullable MethodHandle IS_VIRTUAL = isVirtual();

    private CallerThread() {}

    /**
     * Returns for how long the store may do I/O on this thread, which waits for the given time; 0 on a virtual thread,
     * on which an interrupt would close the socket.
     */
    static long waits(long nanos) {
        return isVirtual(Thread.currentThread()) ? 0 : nanos;
    }

    /** Waits for an answer, uninterruptibly, and joins it. */
    static <T extends @Nullable Object> T join(CompletableFuture<T> answer) {
        awaitUninterruptibly(answer, Long.MAX_VALUE);
        return answer.join();
    }

    /** Waits until an answer is there, or a time is over; an interrupt is set again at the end. */
    static void awaitUninterruptibly(CompletableFuture<?> answer, long nanos) {
        long begun = System.nanoTime();
        boolean interrupted = false;
        for (boolean waited = false; !waited; ) {
            try {
                await(answer, nanos - (System.nanoTime() - begun));
                waited = true;
            } catch (InterruptedException interrupt) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Waits until an answer is there, or a time is over. On a worker of a {@link ForkJoinPool} the future's own wait
     * would run other tasks of the pool, while this thread holds its locks.
     */
    static void await(CompletableFuture<?> answer, long nanos) throws InterruptedException {
        if (answer.isDone()) {
            return;
        }
        CountDownLatch done = new CountDownLatch(1);
        answer.whenComplete((value, failure) -> done.countDown());
        ForkJoinPool.ManagedBlocker wait = new ForkJoinPool.ManagedBlocker() {
            @Override
            @SuppressWarnings("ReturnValueIgnored") // Whether it is done is asked by the caller.
            public boolean block() throws InterruptedException {
                done.await(nanos, TimeUnit.NANOSECONDS);
                return true;
            }

            @Override
            public boolean isReleasable() {
                return done.getCount() == 0;
            }
        };
        try {
            ForkJoinPool.managedBlock(wait);
        } catch (RejectedExecutionException noThreadLeft) {
            // Thrown before the wait: the pool cannot add a thread in place of this one.
            wait.block();
        }
    }

    private static boolean isVirtual(Thread thread) {
        try {
            return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(thread);
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static @Nullable MethodHandle isVirtual() {
        try {
            return MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException olderPlatform) {
            return null;
        }
    }
}
