/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** One attempt of a local lock to get the lock from the store, under an id of its own. Guarded by the local lock. */
final class AcquireAttempt {

    sealed interface State {

        /** The store has been asked for the first time, or will be, and has not answered. */
        record Asking() implements State {}

        /** The attempt has a place in the store's queue, or waits for the time to ask again. */
        final class Queued implements State {

            /** The last answer that placed it in the queue, and when its question was sent; null: it has no place. */
            AcquireReply.@Nullable Queued place;

            @Nullable
            ClockReading sampled;

            /** Why the last question failed; null: it did not. */
            @Nullable
            StoreException failure;

            /** Who held the lock at the last look; null: unknown. */
            @Nullable
            String holder;

            /** When to ask again, on the monotonic clock, or never. */
            long pollNanos = ClockReading.NEVER;

            /** Whether the store has said when to ask again instead of sending a message. */
            boolean announced;

            void placed(AcquireReply.Queued answer, ClockReading sent) {
                place = answer;
                holder = answer.holder();
                sampled = sent;
                failure = null;
            }

            /**
             * Returns the local time at which the store's clock shows a given time at the earliest: the answer of the
             * sample was made after its question was sent.
             *
             * @return null where there is no sample, or one that is too old to trust
             */
            @Nullable
            ClockReading localTimeOf(long storeMillis, ClockReading now, long maxAgeMillis) {
                AcquireReply.Queued sample = place;
                ClockReading sent = sampled;
                // By both clocks, because the monotonic clock does not count a suspension.
                return sample == null
                                || sent == null
                                || sent.plusMillis(maxAgeMillis).hasPassedAt(now)
                        ? null
                        : sent.plusMillis(storeMillis - sample.storeMillis());
            }
        }

        record Ended(@Nullable StoreHold hold) implements State {}
    }

    final AcquireSpec.AttemptId id;

    /** Whether its callers have no answer of the store yet, so that its failure is reported to them. */
    final boolean first;

    /** Whether it wants a place in the queue if the lock is held. */
    final boolean queues;

    /** How often its hold may pass to another local caller, while the store's queue is empty. */
    final int passes;

    /** Whether its first question has to wait, because other fair callers come first. */
    volatile boolean gated;

    /** When the unanswered question was asked; null: the store owes no answer. */
    @Nullable
    ClockReading asked;

    /** How long the last answer took, to this attempt or to the one before it. */
    long roundTripNanos;

    /** The store's message that it is this attempt's turn; null: none came. */
    @Nullable
    Grant grant;

    /** Whether messages may have been missed since the first question, or have overtaken its answer. */
    boolean missed;

    /** Whether others wait for its hold, according to a message that overtook the answer. */
    boolean contended;

    /** Whether its hold was taken away by force before it was known here. */
    boolean revoked;

    /** The number of its unanswered questions, each of which may still reach the store in time. */
    final AtomicInteger unanswered = new AtomicInteger();

    volatile State state;

    AcquireAttempt(AcquireSpec.AttemptId id, boolean first, boolean queues, int passes, State state) {
        this.id = id;
        this.first = first;
        this.queues = queues;
        this.passes = passes;
        this.state = state;
    }

    boolean isAsking() {
        return state instanceof State.Asking;
    }

    State.@Nullable Queued queued() {
        return state instanceof State.Queued queued ? queued : null;
    }

    boolean isOver() {
        return state instanceof State.Ended;
    }

    /** Returns the hold that it got; null: it has not ended, or has got none. */
    @Nullable
    StoreHold hold() {
        return state instanceof State.Ended ended ? ended.hold() : null;
    }

    /** Returns how the lock is acquired if the next answer of the store is positive. */
    LockListener.Way path() {
        State.Queued queued = queued();
        return queued == null || (grant == null && (queued.announced || queued.place == null))
                ? LockListener.Way.ANSWER
                : grant != null ? LockListener.Way.GRANT : LockListener.Way.POLL;
    }

    /** Returns whether the store's queue was empty when this attempt asked, and none is known to have come since. */
    boolean isUncontended() {
        return isAsking() && grant == null && !contended;
    }
}
