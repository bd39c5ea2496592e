/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One caller who has asked for a lock and has no lease yet. It is completed exactly once: with the lease, with a
 * failure, or by the caller who cancels it.
 */
final class PendingRequest extends CompletableFuture<ManagedLease> {

    static final Duration WITHOUT_LIMIT = Duration.ofNanos(Long.MAX_VALUE / 2);

    /** How much longer a caller whose time is up waits for an answer that is due. */
    static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** The least of that, also if the end of the wait was noticed late: an answer that has arrived meanwhile counts. */
    private static final long LEAST_GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

    final long number;
    final LockRequest request;

    final ClockReading asked;
    final Thread thread = Thread.currentThread();

    /** Whether the caller holds another lock, and may go on while the engine closes. */
    final boolean nested;

    /** Whether a thread is blocked until the request is completed, and ends its wait itself. */
    final boolean blocking;

    /** How long one try may take, in nanoseconds; {@link Long#MAX_VALUE}: without limit. */
    final long patienceNanos;

    /** The failure of the store that is being reported to the caller; null: none. */
    @Nullable
    StoreException failure;

    /** Whether each of its tries must be answered within one command timeout. */
    final boolean triesAtOnce;

    /** When the present try began: the first one, or a retry. Guarded by the local lock. */
    ClockReading tried;

    /** Whether the time is up, and only an answer that is due is awaited. Guarded by the local lock. */
    boolean inGrace;

    int tries = 1;

    /** How the lock came to the caller; set with the lease. */
    volatile LockListener.Way path = LockListener.Way.ANSWER;

    /** The number of tries after which another one was scheduled. Guarded by this. */
    private int triesEnded;

    /** When its time is up, on the monotonic clock; {@link ClockReading#NEVER}: it has no limit, or none any more. */
    private volatile long endNanos;

    /** Whether an error ended the call of the blocked thread, which receives no lease. */
    volatile boolean abandoned;

    /** Its lease, which the caller may not have received yet. */
    @Nullable
    volatile ManagedLease lease;

    /** Whether the caller's result is being completed, or has been. Guarded by this. */
    private boolean answering;

    /** The caller's future: if the caller completes it, the request is withdrawn. Null: a thread is blocked instead. */
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
        this.triesAtOnce = wait.isZero();
        this.patienceNanos = triesAtOnce
                ? commandTimeout.toNanos()
                : wait.compareTo(WITHOUT_LIMIT) > 0 ? Long.MAX_VALUE : wait.toNanos();
        this.endNanos = isLimited() ? asked.nanos() + patienceNanos : ClockReading.NEVER;
    }

    /** Returns whether the caller waits for a held lock; false: it wants an answer at once. */
    boolean waits() {
        return !triesAtOnce && !inGrace;
    }

    boolean isLimited() {
        return patienceNanos != Long.MAX_VALUE;
    }

    /** Returns whether the time is up, unless a blocked thread ends the wait itself. */
    boolean isDue(ClockReading now) {
        long end = timerNanos();
        return end != ClockReading.NEVER && end - now.nanos() <= 0;
    }

    long endNanos() {
        return endNanos;
    }

    /** Returns when a timer has to end the wait, on the monotonic clock, or never. */
    long timerNanos() {
        return blocking ? ClockReading.NEVER : endNanos;
    }

    /** Removes the limit of the wait, or of the present try. */
    void endTime() {
        endNanos = ClockReading.NEVER;
    }

    /** Prolongs a wait that is over by a moment. */
    void beginGrace(ClockReading now) {
        inGrace = true;
        endNanos = now.nanos() + Math.max(LEAST_GRACE_NANOS, leftNanos(now) + GRACE_NANOS);
    }

    /** Returns the time that is left of a limited wait; negative: the time since its end. */
    long leftNanos(ClockReading now) {
        return patienceNanos - (now.nanos() - tried.nanos());
    }

    boolean isWithdrawn() {
        return result != null && result.isDone();
    }

    /** Returns whether a thread waits for it, which goes on with its lease. */
    boolean isOfThread() {
        return result == null;
    }

    /** Returns whether the caller shares the local lock of its name: all others have one of their own. */
    boolean isPlain() {
        return (request.mode() == LockMode.EXCLUSIVE || request.mode() == LockMode.READ)
                && request.names().size() == 1
                && request.leaseTime() == null
                && request.minHoldTime().isZero();
    }

    /** Returns whether the present call may complete the caller's result: true for the first call only. */
    synchronized boolean beginAnswer() {
        boolean first = !answering;
        answering = true;
        return first;
    }

    boolean mayRetry() {
        return tries <= request.retryCount();
    }

    /** Schedules another try, once for each try, even if several threads see its end. */
    synchronized void retryOnce(Consumer<PendingRequest> schedule) {
        if (triesEnded < tries) {
            endTime();
            schedule.accept(this);
            triesEnded = tries;
        }
    }

    synchronized void retry(ClockReading now) {
        tries++;
        tried = now;
        failure = null;
        inGrace = false;
        endNanos = now.nanos() + patienceNanos;
    }
}
