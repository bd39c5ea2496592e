/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.sample.OrderResult.Reason;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** One order at a time for each product, over all instances: the lock is released after the commit. */
@Service("locked")
class LockedOrders implements Orders {

    private final Checkout checkout;

    LockedOrders(Checkout checkout) {
        this.checkout = checkout;
    }

    @Override
    @DistributedLocked(name = "stock:#{#product}", fallbackMethod = "busy")
    @Transactional
    public OrderResult place(String product) {
        return checkout.sell(product);
    }

    /** Answers instead of {@link #place} where the wait for the lock was in vain. */
    OrderResult busy(String product, LockNotAcquiredException busy) {
        String detail = "Others had the lock for " + busy.waited().toMillis() + " ms: try again";
        return checkout.refuse(Reason.LOCK_NOT_ACQUIRED, product, detail);
    }
}
