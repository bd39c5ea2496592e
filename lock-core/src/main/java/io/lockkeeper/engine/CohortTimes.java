package io.lockkeeper.engine;

import io.lockkeeper.store.Grant;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * How long holds last and may be passed on.
 *
 * @param clock the two clocks
 * @param pollMillis how often a waiting attempt asks again
 * @param maxPassNanos how long a hold may be passed on locally
 */
record CohortTimes(TimeSource clock, long pollMillis, long maxPassNanos) {

    /** Returns when holders stop to believe in a hold that was asked for at a given moment. */
    Moment deadline(Claim claim, Moment sent) {
        return sent.plusMillis(claim.leaseMillis() - Claim.marginMillis(claim.leaseMillis()));
    }

    /** Returns a hold that the store gave in answer to a question: counted from before the question was sent. */
    Tenure tenure(Cohort cohort, String attempt, long firstToken, Moment sent) {
        Moment deadline = deadline(cohort.claim(), sent);
        return new Tenure(
                cohort,
                attempt,
                firstToken,
                clock.now(),
                deadline,
                cohort.claim().fixed() ? deadline : null);
    }

    /** Returns a hold that the store gave by a grant; null where its end cannot be told in local time, or has come. */
    @Nullable
    Tenure tenure(Cohort cohort, Attempt waiting, Grant grant) {
        Moment end =
                waiting.localTimeOf(grant.untilStoreMillis(), clock, TimeUnit.MILLISECONDS.toNanos(2 * pollMillis));
        if (end == null) {
            return null;
        }
        Claim claim = cohort.claim();
        Moment now = clock.now();
        Moment fixedEnd = claim.fixed() ? deadline(claim, now) : null;
        Moment granted = end.plusMillis(-Claim.marginMillis(0));
        Moment deadline = fixedEnd != null && granted.isAfter(fixedEnd) ? fixedEnd : granted;
        Tenure begun = new Tenure(cohort, waiting.id, grant.firstToken(), now, deadline, fixedEnd);
        return begun.isValid(clock) ? begun : null;
    }

    /** Returns whether a hold may go on with the next local caller. */
    boolean mayPass(Tenure tenure) {
        Claim claim = tenure.claim;
        return tenure.mayPass()
                && tenure.passes() < claim.maxPasses()
                && clock.nanoTime() - tenure.begun.nanos() < maxPassNanos
                && tenure.fixedEnd() == null
                && tenure.isValid(clock)
                && tenure.deadline().nanosFrom(clock) > TimeUnit.MILLISECONDS.toNanos(2 * Claim.marginMillis(0));
    }
}
