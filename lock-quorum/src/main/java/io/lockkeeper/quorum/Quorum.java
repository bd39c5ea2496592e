/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.quorum.Tally.Rule;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * The masters of an open store, and the times that hold for all of them.
 *
 * @param masters the masters
 * @param commandTimeout within which every command is answered
 * @param leaseTime after which a master that was restarted is trusted again
 * @param timer runs what is due later
 */
record Quorum(List<Master> masters, Duration commandTimeout, Duration leaseTime, Timer timer) {

    /** Asks all masters the same, and decides by counting. */
    <T, R> CompletableFuture<R> ask(Function<Master, CompletableFuture<T>> question, Rule<T, R> rule) {
        return decide(masters.stream().map(question).toList(), rule);
    }

    /** Decides by counting answers that are in the order of the masters. */
    <T, R> CompletableFuture<R> decide(List<CompletableFuture<T>> answers, Rule<T, R> rule) {
        return Tally.decide(answers, (i, failure) -> masters.get(i).describe(failure), rule);
    }

    /** Returns the longest time for which the engine may ask: the lease, and its own margin. */
    long longestLeaseMillis() {
        return leaseTime.toMillis() + Math.max(100, leaseTime.toMillis() / 100);
    }

    /** Returns after what time nothing of an attempt that is not renewed can be left at any master. */
    long longestTraceNanos() {
        return TimeUnit.MILLISECONDS.toNanos(longestLeaseMillis()) + 2 * commandTimeout.toNanos();
    }

    /** Returns why a time is refused after which a restarted master, which has forgotten the hold, is trusted again. */
    StoreException tooLong(String what) {
        return new StoreException(
                "on independent masters the " + what + " must be at most the lease time of the template, "
                        + leaseTime.toMillis() + " ms, because a master that was restarted is trusted again after it",
                null);
    }
}
