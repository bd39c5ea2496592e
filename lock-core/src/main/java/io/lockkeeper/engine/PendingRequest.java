/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One caller who has asked for a lock and has no lease yet. It is completed exactly once: with the lease, with a failure, or by
 * the caller who cancels it.
 */
final class PendingRequest extends CompletableFuture<ManagedLease> {

    /** No lock is waited for so long. */
    private static final Duration WITHOUT_LIMIT = Duration.ofNanos(Long.MAX_VALUE / 2);

    final long number;
    final LockRequest request;

    /** When the caller asked. */
    final ClockReading asked;

    /** The thread of the call. */
    final Thread thread = Thread.currentThread();

    /** Whether the caller holds another lock, and may go on while the engine closes. */
    final boolean nested;

    /** Whether a thread is blocked until the request is completed, and ends its wait itself. */
    final boolean blocking;

    /** How long one try may take, in nanoseconds; {@link Long#MAX_VALUE}: without limit. */
    final long patienceNanos;

    /** When the present try began: the first one, or a retry. Guarded by the local lock. */
    ClockReading tried;

    /** Whether the caller waits where the lock is held; false: it wants an answer at once. Guarded by the local lock. */
    boolean waits;

    /** Whether the time is up, and an answer that is due at any moment is awaited. Guarded by the local lock. */
    boolean inGrace;

    /** Whether it stands in the queue of its local lock. Guarded by the local lock. */
    boolean queued;

    /** How many tries were made. */
    int tries = 1;

    /** When a blocked thread has to end its wait, on the monotonic clock; meaningless unless {@link #timed}. */
    volatile long timeoutNanos;

    volatile boolean timed;

    /** Whether an error ended the call of a blocked thread, which receives nothing. */
    volatile boolean abandoned;

    /** The lease that it was given, perhaps not received. */
    @Nullable
    volatile ManagedLease lease;

    /** The timer's task that ends the wait; null: there is none. */
    Scheduler.@Nullable Timeout timeout;

    /** Completed when the place of a caller who leaves is gone in the store; null: the caller has not left. */
    volatile @Nullable CompletableFuture<@Nullable Void> placeGone;

    /** Whether the caller is being told the end, or does not want it any more. Guarded by this. */
    private boolean answering;

    /** What the caller has in hand: ended by the caller, the request is withdrawn. Null: a thread is blocked instead. */
    private final @Nullable CompletableFuture<?> result;

    PendingRequest(
            long number,
            LockRequest request,
            ClockReading asked,
            boolean nested,
            @Nullable CompletableFuture<?> result,
            Duration commandTimeout) {
        this.number = number;
        this.request = request;
        this.asked = asked;
        this.tried = asked;
        this.nested = nested;
        this.result = result;
        this.blocking = result == null && request.retryCount() == 0;
        Duration wait = request.retryCount() > 0 || request.waitTime() == null ? Duration.ZERO : request.waitTime();
        this.waits = !wait.isZero();
        this.patienceNanos =
                !waits ? commandTimeout.toNanos() : wait.compareTo(WITHOUT_LIMIT) > 0 ? Long.MAX_VALUE : wait.toNanos();
    }

    boolean isLimited() {
        return patienceNanos != Long.MAX_VALUE;
    }

    /** Returns whether the caller has ended the future that it has in hand. */
    boolean isWithdrawn() {
        return result != null && result.isDone();
    }

    /** Returns whether the caller shares the local lock of its name: all others have one of their own. */
    boolean isPlain() {
        return (request.mode() == LockMode.EXCLUSIVE || request.mode() == LockMode.READ)
                && request.names().size() == 1
                && request.leaseTime() == null
                && request.minHoldTime().isZero();
    }

    /** Returns whether it is for who asks this to tell the end: for the first one alone. */
    synchronized boolean beginAnswer() {
        boolean first = !answering;
        answering = true;
        return first;
    }

    /** Returns whether another try is allowed. */
    boolean mayRetry() {
        return tries <= request.retryCount();
    }

    /** Begins another try. */
    void retry(ClockReading now) {
        tries++;
        tried = now;
        inGrace = false;
    }

    /**
     * Arms the task that ends the wait, in place of an earlier one. The task may run before this is done, and arm the next
     * one: that has to be after this.
     */
    synchronized void timeoutBy(Supplier<Scheduler.Timeout> task) {
        stopTimeout();
        Scheduler.Timeout next = task.get();
        if (timeout == null) {
            timeout = next;
        }
        if (isDone()) {
            stopTimeout();
        }
    }

    synchronized void stopTimeout() {
        if (timeout != null) {
            timeout.cancel();
            timeout = null;
        }
    }

    /** Begins to leave: returns what is completed when its place is gone. */
    synchronized CompletableFuture<@Nullable Void> leaving() {
        CompletableFuture<@Nullable Void> gone = placeGone;
        if (gone == null) {
            gone = new CompletableFuture<>();
            placeGone = gone;
        }
        return gone;
    }
}
