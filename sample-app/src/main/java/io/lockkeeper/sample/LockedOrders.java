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

    private OrderResult busy(String product, LockNotAcquiredException busy) {
        return checkout.refuse(Reason.LOCK_NOT_ACQUIRED, product, busy.getMessage());
    }
}
