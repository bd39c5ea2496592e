/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Objects;
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
     * Runs commands that must be under way at the same time, whoever waits for them.
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
