/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** The same without the lock: two orders that read the same stock sell the same unit. A transaction does not help. */
@Service("unlocked")
class UnlockedOrders implements Orders {

    private final Checkout checkout;

    UnlockedOrders(Checkout checkout) {
        this.checkout = checkout;
    }

    @Override
    @Transactional
    public OrderResult place(String product) {
        return checkout.sell(product);
    }
}
