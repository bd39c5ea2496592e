/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockEngine;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreTraits;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * How long holds last and may be passed on.
 *
 * @param clock the two clocks
 * @param pollMillis how often a waiting attempt asks again
 * @param maxPassNanos how long a hold may be passed on locally
 * @param claims whether a grant must be claimed before it is believed
 */
record CohortTimes(TimeSource clock, long pollMillis, long maxPassNanos, boolean claims) {

    private static final long ASK_AGAIN_MILLIS = 500;
    private static final long BUSY_MILLIS = 50;

    /** Takes the times of a store and of an engine. */
    static CohortTimes of(TimeSource clock, StoreTraits traits, LockEngine.Settings settings) {
        return new CohortTimes(
                clock, traits.pollInterval().toMillis(), settings.maxPassTime().toNanos(), traits.claims());
    }

    /** How soon one asks again after a failure: what failed may have been the claim of a grant, which does not last long. */
    long askAgainMillis() {
        return Math.min(pollMillis, ASK_AGAIN_MILLIS);
    }

    /** How soon one asks again where the store keeps no place for one who waits. */
    long busyMillis() {
        return BUSY_MILLIS;
    }

    /** Returns when holders stop to believe in a hold that was asked for at a given moment. */
    Moment deadline(long leaseMillis, Moment sent) {
        return sent.plusMillis(leaseMillis - Claim.marginMillis(leaseMillis));
    }

    /** Returns a hold that the store gave in answer to a question: counted from before the question was sent. */
    Tenure tenure(Cohort cohort, String attempt, AcquireReply.Acquired reply, Moment sent) {
        Moment deadline = deadline(reply.leaseMillis(), sent);
        Claim claim = cohort.claim();
        return new Tenure(
                cohort,
                attempt,
                reply.firstTokens(),
                clock.now(),
                deadline,
                claim.fixed() ? deadline(claim.leaseMillis(), sent) : null);
    }

    /**
     * Returns a hold that the store gave by a grant; null where it must be claimed: always, or because its end cannot be told
     * in local time, or has come, or because the grant is one of several locks.
     */
    @Nullable
    Tenure tenure(Cohort cohort, Attempt waiting, Grant grant) {
        if (claims || cohort.claim().names().size() > 1) {
            return null;
        }
        Moment end =
                waiting.localTimeOf(grant.untilStoreMillis(), clock, TimeUnit.MILLISECONDS.toNanos(2 * pollMillis));
        if (end == null) {
            return null;
        }
        Claim claim = cohort.claim();
        Moment now = clock.now();
        Moment fixedEnd = claim.fixed() ? deadline(claim.leaseMillis(), now) : null;
        Moment granted = end.plusMillis(-Claim.marginMillis(0));
        Moment deadline = fixedEnd != null && granted.isAfter(fixedEnd) ? fixedEnd : granted;
        Tenure begun = new Tenure(cohort, waiting.id, List.of(grant.firstToken()), now, deadline, fixedEnd);
        return begun.isValid(clock) ? begun : null;
    }

    /** Returns whether a hold may go on with the next local caller. */
    boolean mayPass(Tenure tenure) {
        return tenure.hasPasses() && isLocal(tenure);
    }

    /** Returns whether another local reader may share a hold without asking the store. */
    boolean mayJoin(Tenure tenure) {
        return isLocal(tenure);
    }

    /** Returns whether a hold may stay in this JVM for another caller: for a while, and while it is safe. */
    private boolean isLocal(Tenure tenure) {
        return tenure.mayPass()
                && clock.nanoTime() - tenure.begunNanos < maxPassNanos
                && tenure.fixedEnd() == null
                && tenure.isValid(clock)
                && tenure.deadline().nanosFrom(clock) > TimeUnit.MILLISECONDS.toNanos(2 * Claim.marginMillis(0));
    }
}
