/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongBinaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * What an engine has from the platform, all of it replaced in tests.
 *
 * @param scheduler the clocks and the timer
 * @param background runs what never blocks and is waited for by no thread
 * @param callbacks runs the callbacks of losses
 * @param completions runs what callers hang on futures
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
     * Logs a line of a handler of errors: where the log lacks memory, too, what the handler does next matters more.
     * Takes its parts, as there may be none for a lambda.
     */
    static void quietly(Logger log, String line, @Nullable Object about, Throwable failure) {
        try {
            log.error(line, about, failure);
        } catch (Throwable unsaid) {
            // The step goes on without its line.
        }
    }

    ClockReading now() {
        return scheduler.now();
    }

    long nanoTime() {
        return scheduler.nanoTime();
    }
}
