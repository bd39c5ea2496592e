/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * Fails the answers that do not come.
 *
 * <p>Internal: public for the packages of the drivers alone, and may change in any release.
 *
 * @param timer on which that happens
 */
public record CommandTimeout(ScheduledExecutorService timer) {

    /**
     * Fails an answer after a while, unless it is there by then.
     *
     * @param answer the answer to come
     * @param command for messages
     * @param limit after which the answer fails
     * @param onSilence runs after it was failed
     */
    public void watch(CompletableFuture<?> answer, String command, Duration limit, Runnable onSilence) {
        Runnable end = () -> {
            if (answer.completeExceptionally(Failures.silence(command, limit))) {
                onSilence.run();
            }
        };
        ScheduledFuture<?> timeout = timer.schedule(end, limit.toNanos(), TimeUnit.NANOSECONDS);
        answer.whenComplete((reply, failure) -> timeout.cancel(false));
    }
}
