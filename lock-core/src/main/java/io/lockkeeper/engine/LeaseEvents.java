/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What listeners and the log hear of one lease, from the moment in which its caller receives it. */
final class LeaseEvents {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    private final LockRequest request;
    private final LockListener listener;
    private volatile int attempts = 1;
    private volatile LockListener.Way way = LockListener.Way.ANSWER;

    /** 0 as long as the caller has not received the lease, and nobody hears of it. */
    private volatile long acquisition;

    LeaseEvents(LockRequest request, LockListener listener) {
        this.request = request;
        this.listener = listener;
    }

    /** Says how often the caller tried before it had the lease. */
    void attempts(int made) {
        attempts = made;
    }

    /** Returns how often the caller tried before it had the lease. */
    int attempts() {
        return attempts;
    }

    /** Says how the lease came to its caller. */
    void came(LockListener.Way how) {
        way = how;
    }

    /** Returns the number of the acquisition; 0: the caller has not received the lease. */
    long acquisition() {
        return acquisition;
    }

    boolean hasBegun() {
        return acquisition != 0;
    }

    void begin(long number) {
        acquisition = number;
    }

    void acquired(long number, long token, Duration waited) {
        listener.onAcquired(new LockListener.Acquired(number, request, token, waited, attempts, way));
    }

    void lost(LockLostException loss) {
        log.warn("{}", loss.getMessage());
        listener.onLost(new LockListener.Lost(acquisition, request, loss));
    }

    void released(long token, Duration held, ReleaseResult result) {
        listener.onReleased(new LockListener.Released(acquisition, request, token, held, result));
    }

    void downgraded(LockRequest after, Duration held) {
        listener.onDowngraded(new LockListener.Downgraded(acquisition, request, after, held));
    }

    /** Says what needs a person in the outcome of a release. A loss was logged when it was told. */
    void report(ReleaseResult result) {
        if (result == ReleaseResult.UNKNOWN) {
            log.warn(
                    "Release of lock '{}' was not answered; it is repeated in the background",
                    request.names().get(0));
        }
    }
}
