/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One attempt of a local lock to get the lock from the store, under an id of its own. Guarded by the local lock. */
final class AcquireAttempt {

    /** Where an attempt stands. */
    sealed interface State {

        /** The store has been asked for the first time, and has not answered. */
        final class Asking implements State {

            final ClockReading since;

            /** A grant that overtook the answer; null: none. */
            @Nullable
            Grant grant;

            /** How soon the lock is free, where that news overtook the answer. */
            long freeInMillis = Long.MAX_VALUE;

            /** Whether messages may have been missed since the question was sent. */
            boolean messagesMissed;

            Asking(ClockReading since) {
                this.since = since;
            }
        }

        /** The attempt has a place in the store's queue, or waits for the time to ask again. */
        final class Queued implements State {

            /** The last answer that placed it in the queue, and when its question was sent; null: it has no place. */
            AcquireReply.@Nullable Queued place;

            @Nullable
            ClockReading sampled;

            /** When the store was asked again; null: it owes no answer. */
            @Nullable
            ClockReading askedAgain;

            /** Why the last question failed; null: it did not. */
            @Nullable
            StoreException failure;

            /** Who held the lock at the last look; null: unknown. */
            @Nullable
            String holder;

            /** Whether the store's message came that it is this attempt's turn, and the store must say for how long. */
            boolean granted;

            /** Whether the store said beforehand when to ask again: no message was to come. */
            boolean announced;

            /**
             * Returns the local time at which the store's clock shows a given time at the earliest: the answer of the sample
             * was made after its question was sent.
             *
             * @return null where there is no sample, or one that is too old to trust
             */
            @Nullable
            ClockReading localTimeOf(long storeMillis, ClockReading now, long maxAgeNanos) {
                AcquireReply.Queued sample = place;
                ClockReading sent = sampled;
                return sample == null || sent == null || now.nanos() - sent.nanos() > maxAgeNanos
                        ? null
                        : sent.plusMillis(storeMillis - sample.storeMillis());
            }
        }

        /** It has the lock, or has ended without it. */
        record Over() implements State {}
    }

    private static final State OVER = new State.Over();

    final String id;

    /** Whether no caller waited before this attempt: its failure is their first news of the store. */
    final boolean first;

    /** How often its hold may pass to another local caller, while the store's queue is empty. */
    final int passes;

    /** Whether others wait for its hold, where that news overtook the answer. */
    boolean contended;

    /** Whether its hold was taken away by force before it was known here. */
    boolean revoked;

    /** How many of its questions have no answer: such a one may reach the store at any time until it is late. */
    final AtomicInteger unanswered = new AtomicInteger();

    private volatile State state;

    /** The last decision about when to ask again; null: none was made. */
    private volatile @Nullable Object lastPoll;

    private Scheduler.@Nullable Timeout poll;

    AcquireAttempt(String id, boolean first, int passes, State state) {
        this.id = id;
        this.first = first;
        this.passes = passes;
        this.state = state;
    }

    State state() {
        return state;
    }

    /** Returns the state in which the first answer is awaited; null: it is in another one. */
    State.@Nullable Asking asking() {
        return state instanceof State.Asking asking ? asking : null;
    }

    /** Returns the state in which it waits; null: it is in another one. */
    State.@Nullable Queued queued() {
        return state instanceof State.Queued queued ? queued : null;
    }

    /** The store has placed it in its queue. */
    State.Queued queued(AcquireReply.Queued place, ClockReading sent) {
        State.Queued queued = queued();
        if (queued == null) {
            queued = new State.Queued();
            state = queued;
        }
        queued.place = place;
        queued.holder = place.holder();
        queued.sampled = sent;
        queued.askedAgain = null;
        queued.failure = null;
        return queued;
    }

    void end() {
        state = OVER;
    }

    boolean isOver() {
        return state == OVER;
    }

    /** Returns how the lock comes with the store's next yes. */
    LockListener.Way path() {
        State.Queued queued = queued();
        if (queued == null || queued.announced || queued.place == null) {
            return queued != null && queued.granted ? LockListener.Way.GRANT : LockListener.Way.ANSWER;
        }
        return queued.granted ? LockListener.Way.GRANT : LockListener.Way.POLL;
    }

    /** Returns whether the store's queue was empty when this attempt asked, and no one came since, as far as is known. */
    boolean isUncontended() {
        State.Asking asking = asking();
        return asking != null && asking.grant == null && !contended;
    }

    /** Returns when the store was asked what it has not answered; null: it owes no answer. */
    @Nullable
    ClockReading unanswered() {
        State.Asking asking = asking();
        State.Queued queued = queued();
        return asking != null ? asking.since : queued != null ? queued.askedAgain : null;
    }

    /** It was decided when to ask again; what was decided before, and is executed later, counts no more. */
    void decided(Object poll) {
        lastPoll = poll;
    }

    /**
     * Arms the task that asks again, in place of an earlier one. The task may run before this is done, and arm the next one:
     * that has to be after this.
     */
    @SuppressWarnings("ReferenceEquality") // Two decisions may say the same.
    synchronized void pollBy(Object decision, Supplier<Scheduler.Timeout> task) {
        if (decision != lastPoll) {
            return;
        }
        stopPolling();
        Scheduler.Timeout next = task.get();
        if (poll == null) {
            poll = next;
        }
        if (isOver()) {
            stopPolling();
        }
    }

    synchronized void stopPolling() {
        if (poll != null) {
            poll.cancel();
            poll = null;
        }
    }
}
