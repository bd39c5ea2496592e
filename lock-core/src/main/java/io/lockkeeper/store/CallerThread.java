/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether the present thread does nothing but wait for the answers to the commands that it gives to a store. A store may
 * then do their input and output on this very thread, which saves two switches between threads; it must not block any
 * other caller.
 *
 * <p>Internal: for the modules of this project alone, and may change in any release.
 */
public final class CallerThread {

    private static final Long WITHOUT_END = Long.MAX_VALUE;

    /** Until when the thread waits, on the monotonic clock; absent: it does not wait. */
    private static final ThreadLocal<@Nullable Long> UNTIL = new ThreadLocal<>();

    private static final @Nullable MethodHandle IS_VIRTUAL = isVirtual();

    private CallerThread() {}

    /** Returns whether the present thread waits for the answer to what it asks now. */
    public static boolean waits() {
        return UNTIL.get() != null;
    }

    /** Returns how long the present thread still waits at most; {@link Long#MAX_VALUE}: as long as its commands may take. */
    public static long nanosLeft() {
        Long until = UNTIL.get();
        if (until == null) {
            return 0;
        }
        return until.equals(WITHOUT_END) ? Long.MAX_VALUE : Math.max(0, until - System.nanoTime());
    }

    /**
     * Runs commands to whose answers the present thread waits. On a virtual thread that makes no difference: an interrupt
     * would close the socket that it reads from.
     *
     * @param commands what asks the store
     * @return what it returns
     */
    public static <T extends @Nullable Object> T waiting(Supplier<T> commands) {
        return with(isVirtual(Thread.currentThread()) ? null : WITHOUT_END, commands);
    }

    /**
     * Runs commands to whose answers the present thread waits for a limited time. The store lets it go then, without the
     * answers that are missing; they come on other threads.
     *
     * @param nanos how long the thread waits
     * @param commands what asks the store
     * @return what it returns
     */
    public static <T extends @Nullable Object> T waitingFor(long nanos, Supplier<T> commands) {
        return with(isVirtual(Thread.currentThread()) ? null : (Long) (System.nanoTime() + nanos), commands);
    }

    /**
     * Runs commands that must be under way at the same time, on whichever thread they are awaited.
     *
     * @param commands what asks the store
     * @return what it returns
     */
    public static <T extends @Nullable Object> T notWaiting(Supplier<T> commands) {
        return with(null, commands);
    }

    private static <T extends @Nullable Object> T with(@Nullable Long until, Supplier<T> commands) {
        Long before = UNTIL.get();
        if (Objects.equals(before, until)) {
            return commands.get();
        }
        set(until);
        try {
            return commands.get();
        } finally {
            set(before);
        }
    }

    private static void set(@Nullable Long until) {
        if (until != null) {
            UNTIL.set(until);
        } else {
            UNTIL.remove();
        }
    }

    /**
     * Waits until an answer is there, uninterruptibly.
     *
     * @param answer what the thread waits for
     * @return the answer
     * @throws java.util.concurrent.CompletionException if there is a failure instead
     */
    public static <T extends @Nullable Object> T join(CompletableFuture<T> answer) {
        boolean interrupted = false;
        while (true) {
            try {
                awaitAlone(answer, Long.MAX_VALUE);
                break;
            } catch (InterruptedException interrupt) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return answer.join();
    }

    /**
     * Waits on a worker of a {@link ForkJoinPool} until an answer is there, or a time is over; on other threads not at all.
     * The wait of a future itself would run other tasks of the pool on such a worker, inside of the locks that it holds.
     *
     * @param answer what the thread waits for
     * @param nanos how long at most
     * @throws InterruptedException if the thread is interrupted
     */
    public static void awaitAlone(CompletableFuture<?> answer, long nanos) throws InterruptedException {
        if (answer.isDone() || !(Thread.currentThread() instanceof ForkJoinWorkerThread)) {
            return;
        }
        CountDownLatch done = new CountDownLatch(1);
        answer.whenComplete((value, failure) -> done.countDown());
        ForkJoinPool.managedBlock(new ForkJoinPool.ManagedBlocker() {
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
        });
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
