/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;

/** One caller's attempts: a first one and so many further ones, none of which queues, with a jittered delay between. */
final class Retries {

    private final LockRequest request;
    private final Scheduler scheduler;
    private final Executor background;
    private final Function<LockRequest, CompletableFuture<HeldLease>> once;
    private final CompletableFuture<HeldLease> outcome = new CompletableFuture<>();
    private Duration waited = Duration.ZERO;
    private int attempts;

    Retries(
            LockRequest request,
            Scheduler scheduler,
            Executor background,
            Function<LockRequest, CompletableFuture<HeldLease>> once) {
        this.request = request;
        this.scheduler = scheduler;
        this.background = background;
        this.once = once;
    }

    CompletableFuture<HeldLease> begin() {
        attempt();
        return outcome;
    }

    private void attempt() {
        if (outcome.isDone()) {
            return;
        }
        attempts++;
        try {
            begin(once.apply(request));
        } catch (Throwable failure) {
            outcome.completeExceptionally(failure);
        }
    }

    private void begin(CompletableFuture<HeldLease> attempt) {
        outcome.whenComplete((lease, failure) -> attempt.cancel(false));
        attempt.whenComplete((lease, failure) -> {
            if (lease != null) {
                lease.events().attempts(attempts);
                if (!outcome.complete(lease)) {
                    background.execute(lease::giveBack);
                }
            } else if (failure instanceof LockNotAcquiredException busy) {
                tryAgain(busy);
            } else if (failure != null) {
                outcome.completeExceptionally(failure);
            }
        });
    }

    private void tryAgain(LockNotAcquiredException busy) {
        try {
            again(busy);
        } catch (Throwable failure) {
            outcome.completeExceptionally(failure);
        }
    }

    private void again(LockNotAcquiredException busy) {
        waited = waited.plus(busy.waited());
        if (attempts > request.retryCount()) {
            outcome.completeExceptionally(new LockNotAcquiredException(
                    request.names(), waited, attempts, busy.holder().orElse(null)));
            return;
        }
        Duration delay = jittered(request.retryDelay() == null ? Duration.ofMillis(100) : request.retryDelay());
        waited = waited.plus(delay);
        scheduler.schedule(() -> background.execute(this::attempt), delay.toNanos());
    }

    private static Duration jittered(Duration delay) {
        long nanos = Claim.measurable(delay).toNanos();
        return Duration.ofNanos((long) (nanos * ThreadLocalRandom.current().nextDouble(0.5, 1.5)));
    }
}
