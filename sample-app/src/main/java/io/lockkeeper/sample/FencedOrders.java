/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.sample.OrderResult.Reason;
import org.springframework.stereotype.Service;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Under the lock too, and the database refuses a holder that lost it without noticing, after a long pause for example:
 * the row remembers the greatest fencing token that has written it.
 */
@Service("fenced")
class FencedOrders implements Orders {

    private final LockTemplate locks;
    private final TransactionTemplate transactions;
    private final Checkout checkout;

    FencedOrders(LockTemplate locks, TransactionTemplate transactions, Checkout checkout) {
        this.locks = locks;
        this.transactions = transactions;
        this.checkout = checkout;
    }

    @Override
    public OrderResult place(String product) {
        return locks.execute("stock:" + product, lease -> sell(product, lease.fencingToken()));
    }

    /** Sells as the holder with this token. */
    OrderResult sell(String product, long token) {
        return transactions.execute(transaction -> {
            OrderResult result = checkout.sellFenced(product, token);
            if (result instanceof OrderResult.Refused refused && refused.reason() == Reason.NEWER_HOLDER) {
                transaction.setRollbackOnly();
            }
            return result;
        });
    }
}
