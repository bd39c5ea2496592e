/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockManager;
import java.lang.StackWalker.StackFrame;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A reference to the lease object of a caller, which reports if that is collected as garbage while the lease is held.
 * The lease behind it keeps the reference alive.
 */
class ForgottenLease extends PhantomReference<LockLease> {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    private final LockManager.Lease lease;

    private ForgottenLease(LockLease given, ReferenceQueue<LockLease> forgotten, LockManager.Lease lease) {
        super(given, forgotten);
        this.lease = lease;
    }

    static ForgottenLease of(
            LockLease given,
            ReferenceQueue<LockLease> forgotten,
            LockManager.Lease lease,
            @Nullable StackFrame caller) {
        return caller == null
                ? new ForgottenLease(given, forgotten, lease)
                : new Placed(given, forgotten, lease, caller);
    }

    /** A reference that knows where the lease was acquired. Under many acquisitions most do not, to save memory. */
    private static final class Placed extends ForgottenLease {

        private final StackFrame caller;

        Placed(LockLease given, ReferenceQueue<LockLease> forgotten, LockManager.Lease lease, StackFrame caller) {
            super(given, forgotten, lease);
            this.caller = caller;
        }

        @Override
        String place() {
            return caller.toString();
        }
    }

    String place() {
        return "a place that was not looked for, because of many acquisitions";
    }

    void report() {
        if (lease.isHeld()) {
            log.warn(
                    "The lease of lock {} was collected as garbage without a release, and {}. Release it in a finally"
                            + " block, or with try-with-resources. It was acquired at {}",
                    lease.names(),
                    lease.isFixed() ? "is held until its lease time is over" : "is renewed until the process ends",
                    place());
        }
    }
}
