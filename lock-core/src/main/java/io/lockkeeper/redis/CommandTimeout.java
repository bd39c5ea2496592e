/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * Fails the answers that do not come.
 *
 * @param timer on which that happens
 */
record CommandTimeout(ScheduledExecutorService timer) {

    /**
     * Fails an answer after a while, unless it is there by then.
     *
     * @param answer the answer to come
     * @param what the command, for messages
     * @param limit after which the answer fails
     * @param onSilence runs after it was failed
     */
    void watch(CompletableFuture<?> answer, String what, Duration limit, Runnable onSilence) {
        ScheduledFuture<?> timeout = timer.schedule(
                () -> {
                    StoreException silent = new StoreException(
                            "Redis did not answer to " + what + " within " + limit.toMillis() + " ms", null);
                    if (answer.completeExceptionally(silent)) {
                        onSilence.run();
                    }
                },
                limit.toNanos(),
                TimeUnit.NANOSECONDS);
        answer.whenComplete((reply, failure) -> timeout.cancel(false));
    }
}
