/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether the present thread does nothing but wait for the answers to the commands that it gives to a store. A store may
 * then do their input and output on this very thread, which saves two switches between threads; it must not block any
 * other caller.
 */
public final class CallerThread {

    private static final ThreadLocal<Boolean> WAITS = new ThreadLocal<>();
    private static final @Nullable MethodHandle IS_VIRTUAL = isVirtual();

    private CallerThread() {}

    /** Returns whether the present thread waits for the answer to what it asks now. */
    public static boolean waits() {
        return Boolean.TRUE.equals(WAITS.get());
    }

    /**
     * Runs commands to whose answers the present thread waits. On a virtual thread that makes no difference: an interrupt
     * would close the socket that it reads from.
     *
     * @param commands what asks the store
     * @return what it returns
     */
    public static <T extends @Nullable Object> T waiting(Supplier<T> commands) {
        return with(!isVirtual(Thread.currentThread()), commands);
    }

    /**
     * Runs commands that must be under way at the same time, whoever waits for them.
     *
     * @param commands what asks the store
     * @return what it returns
     */
    public static <T extends @Nullable Object> T notWaiting(Supplier<T> commands) {
        return with(false, commands);
    }

    private static <T extends @Nullable Object> T with(boolean waits, Supplier<T> commands) {
        boolean before = waits();
        if (before == waits) {
            return commands.get();
        }
        set(waits);
        try {
            return commands.get();
        } finally {
            set(before);
        }
    }

    private static void set(boolean waits) {
        if (waits) {
            WAITS.set(true);
        } else {
            WAITS.remove();
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
