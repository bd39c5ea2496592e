/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongBinaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * The platform services of an engine, all of them replaced in tests.
 *
 * @param scheduler the clocks and the timer
 * @param background runs steps that never block, and for which no thread waits
 * @param callbacks runs the callbacks of losses
 * @param completions completes the futures of callers, and so runs what depends on them
 * @param listener hears what happens; never throws
 * @param random returns a number between two others, the second one excluded
 * @param giveWay lets another thread go first
 */
record EngineContext(
        Scheduler scheduler,
        Executor background,
        Executor callbacks,
        Executor completions,
        LockListener listener,
        LongBinaryOperator random,
        Runnable giveWay) {

    static long random(long origin, long bound) {
        return ThreadLocalRandom.current().nextLong(origin, bound);
    }

    /**
     * Logs an error, and ignores a failure to log it, for which there may be no memory: what the caller does next is
     * more important. Takes the parts of the line, because a lambda needs memory, too.
     */
    static void quietly(Logger log, String line, @Nullable Object about, Throwable failure) {
        try {
            log.error(line, about, failure);
        } catch (Throwable unsaid) {
            // The caller goes on without the line.
        }
    }

    ClockReading now() {
        return scheduler.now();
    }

    long nanoTime() {
        return scheduler.nanoTime();
    }
}
