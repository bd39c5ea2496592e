/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongBinaryOperator;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The settings that the local locks of one engine share: how long holds last and stay in this JVM, and attempt ids.
 *
 * @param pollMillis how often a waiting attempt asks again
 * @param maxPassNanos how long a hold may be passed on locally
 * @param claims whether a grant must be confirmed by the store before it is believed
 * @param random returns a number between two others, the second one excluded
 * @param attemptIds returns the id of a new attempt
 * @param longest the longest time for which the store keeps a lock without a renewal; null: any
 */
record LeasePolicy(
        long pollMillis,
        long maxPassNanos,
        boolean claims,
        LongBinaryOperator random,
        Supplier<AcquireSpec.AttemptId> attemptIds,
        @Nullable Duration longest) {

    /** How soon to ask again if the store keeps no places for waiters. */
    static final long BUSY_MILLIS = 50;

    private static final long ASK_AGAIN_MILLIS = 500;

    /**
     * Refuses a time for which the store cannot keep a lock.
     *
     * @throws IllegalArgumentException if it is too long
     */
    void requireKept(String what, @Nullable Duration time, String name) {
        if (longest != null && time != null && time.compareTo(longest) > 0) {
            throw new IllegalArgumentException("The " + what + " of lock '" + name
                    + "' must be at most the lease time of the template, which is " + longest
                    + ", but is " + time + ": a master that was restarted is trusted again after that time");
        }
    }

    /** Returns how soon to ask again after a failure; soon, because a grant may be waiting to be confirmed. */
    long askAgainMillis() {
        return Math.min(pollMillis, ASK_AGAIN_MILLIS);
    }

    /** Returns the delay until the next question: the announced time, at most one poll interval, and some jitter. */
    long pollNanos(long millis) {
        long due = Math.min(pollMillis, Math.max(0, millis));
        return TimeUnit.MILLISECONDS.toNanos(due + random.applyAsLong(5, 25 + due / 20));
    }

    /** Returns the local deadline of a hold that was asked for at a given moment. */
    static ClockReading deadline(long leaseMillis, ClockReading sent) {
        return sent.plusMillis(leaseMillis - AcquireSpec.marginMillis(leaseMillis));
    }

    /** Returns a hold that the store gave in answer to a question: counted from before the question was sent. */
    static StoreHold hold(
            List<String> names,
            AcquireSpec spec,
            AcquireSpec.AttemptId attempt,
            AcquireReply.Acquired reply,
            ClockReading sent,
            ClockReading now) {
        return new StoreHold(
                names,
                spec,
                attempt,
                reply.firstTokens(),
                now,
                deadline(reply.leaseMillis(), sent),
                spec.fixed() ? deadline(spec.leaseMillis(), sent) : null);
    }

    /**
     * Returns the hold of a grant; null if the store must confirm the grant first: because it always must, the grant
     * is one of several locks, or its end is unknown in local time or has passed.
     */
    @Nullable
    StoreHold hold(
            List<String> names,
            AcquireSpec spec,
            AcquireSpec.AttemptId attempt,
            AcquireAttempt.State.Queued waiting,
            Grant grant,
            ClockReading now) {
        ClockReading end = waiting.localTimeOf(grant.untilStoreMillis(), now, 2 * pollMillis);
        if (claims || names.size() > 1 || end == null) {
            return null;
        }
        ClockReading fixedEnd = spec.fixed() ? deadline(spec.leaseMillis(), now) : null;
        ClockReading granted = end.plusMillis(-AcquireSpec.marginMillis(0));
        ClockReading deadline = fixedEnd == null ? granted : granted.orEarlier(fixedEnd);
        StoreHold begun = new StoreHold(names, spec, attempt, List.of(grant.firstToken()), now, deadline, fixedEnd);
        return begun.isValid(now) ? begun : null;
    }

    /** Returns whether a hold may serve another caller of this JVM: for a limited time, and with enough of it left. */
    boolean mayJoin(StoreHold hold, ClockReading now) {
        return !hold.pinned
                && now.nanos() - hold.begunNanos < maxPassNanos
                && hold.fixedEnd() == null
                && hold.isValid(now)
                && hold.deadline().nanosFrom(now) > TimeUnit.MILLISECONDS.toNanos(2 * AcquireSpec.marginMillis(0));
    }
}
