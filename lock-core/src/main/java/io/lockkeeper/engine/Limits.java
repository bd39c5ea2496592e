/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.StoreTraits;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What can be asked of a store.
 *
 * @param store what the store says of itself
 * @param leaseTime the lease of holds that are renewed
 */
record Limits(StoreTraits store, Duration leaseTime) {

    /** Refuses what the store cannot do. */
    void check(LockRequest request) {
        if (store.queues()) {
            return;
        }
        if (request.mode() != LockMode.EXCLUSIVE) {
            throw new UnsupportedOperationException("Mode " + request.mode() + " of lock '"
                    + request.names().get(0)
                    + "' needs a queue in the store, and independent masters have none in common:"
                    + " with a quorum, ask for EXCLUSIVE");
        }
        atMostLease("lease time", request.leaseTime(), request);
        atMostLease("minimum hold time", request.minHoldTime(), request);
    }

    private void atMostLease(String what, @Nullable Duration time, LockRequest request) {
        if (time != null && time.compareTo(leaseTime) > 0) {
            throw new IllegalArgumentException("The " + what + " of lock '"
                    + request.names().get(0) + "' must be at most the lease time of the template, which is " + leaseTime
                    + ", but is " + time + ": a master that was restarted is trusted again after that time");
        }
    }
}
