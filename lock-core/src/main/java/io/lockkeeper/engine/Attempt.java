/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreException;
import org.jspecify.annotations.Nullable;

/** One try of a cohort to get the lock from the store, under an id of its own. Guarded by its cohort. */
final class Attempt {

    final String id;
    final Moment begun;

    /** Whether it asks for a place in the queue where the lock is held. */
    boolean queues = true;

    /** Whether nobody waited before this attempt: its failure is the callers' first news of the store. */
    boolean first;

    /** How often its hold may pass to another local caller, while nobody else waits. */
    int passes;

    /** The last answer that placed the attempt in the queue, and when its question was sent: a sample of the store's clock. */
    private AcquireReply.@Nullable Queued queued;

    private @Nullable Moment sampled;

    /** When the store was asked what it has not answered yet; null: it owes no answer. */
    @Nullable
    Moment unanswered;

    /** A grant that overtook the answer to the question. */
    @Nullable
    Grant early;

    /** How soon the lock is free, where that news overtook the answer to the question. */
    long freeInMillis = Long.MAX_VALUE;

    /** Whether messages may have been missed before the answer to the question placed the attempt in the queue. */
    boolean missed;

    /** Whether the store's message came that it is this attempt's turn. */
    boolean granted;

    /** Whether the store said beforehand when to ask again: no message was to come. */
    boolean announced;

    /** Whether others wait for its hold, where that news overtook the answer to the question. */
    boolean awaited;

    /** Whether the hold was taken away by force before we knew of it. */
    boolean revoked;

    /** Whether its hold goes on as that of a reader, who sees to its end. */
    boolean reads;

    /** Who held the lock where the store could not queue the attempt before this one; null: unknown. */
    @Nullable
    String holderBefore;

    /** Why the last poll failed; null when it did not. */
    @Nullable
    StoreException pollFailure;

    /** Another attempt of which the cohort does not know what became, after an error. */
    @Nullable
    Attempt nextDoubtful;

    boolean isDoubtful;

    private Scheduler.@Nullable Timeout poll;
    private boolean over;

    Attempt(String id, Moment begun) {
        this.id = id;
        this.begun = begun;
    }

    void queued(AcquireReply.Queued answer, Moment sent) {
        queued = answer;
        sampled = sent;
        pollFailure = null;
    }

    /** Returns how the lock comes with the store's yes. */
    LockListener.Way way() {
        if (granted) {
            return LockListener.Way.GRANT;
        }
        return queued == null || announced ? LockListener.Way.ANSWER : LockListener.Way.POLL;
    }

    /** Returns whether nobody else waits in the store: the attempt never had to, and nobody came. */
    boolean isAlone() {
        return queued == null && early == null && !granted && !awaited;
    }

    /** Replaces the next poll. */
    synchronized void pollAt(Scheduler.Timeout next) {
        if (poll != null) {
            poll.cancel();
        }
        poll = next;
        if (over) {
            next.cancel();
        }
    }

    synchronized void stopPolling() {
        over = true;
        if (poll != null) {
            poll.cancel();
        }
    }

    /** Returns who held the lock at the last look; null where there was none. */
    @Nullable
    String holder() {
        return queued == null ? holderBefore : queued.holder();
    }

    /**
     * Returns the local time at which the store's clock shows a given time at the earliest: the sample's answer was made
     * after the question was sent.
     *
     * @return null where there is no sample, or one that is too old to trust
     */
    @Nullable
    Moment localTimeOf(long storeMillis, TimeSource time, long maxAgeNanos) {
        if (queued == null || sampled == null || time.nanoTime() - sampled.nanos() > maxAgeNanos) {
            return null;
        }
        return sampled.plusMillis(storeMillis - queued.storeMillis());
    }
}
