/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import io.lockkeeper.sample.OrderResult.Reason;
import io.lockkeeper.sample.OrderResult.Refused;
import io.lockkeeper.sample.OrderResult.Sold;
import org.springframework.stereotype.Component;

/** Reads the stock, checks it and writes it back: right only while no other caller does the same. */
@Component
class Checkout {

    private final Warehouse warehouse;
    private final String instance;

    Checkout(Warehouse warehouse, ShopProperties shop) {
        this.warehouse = warehouse;
        this.instance = shop.instance();
    }

    OrderResult sell(String product) {
        int remaining = warehouse.remaining(product);
        if (remaining <= 0) {
            return soldOut(product);
        }
        long order = warehouse.insertOrder(product, instance);
        warehouse.write(product, remaining - 1);
        Long token = LockContext.current().map(LockLease::fencingToken).orElse(null);
        return new Sold(order, product, remaining - 1, instance, token);
    }

    OrderResult sellFenced(String product, long token) {
        int remaining = warehouse.remaining(product);
        if (remaining <= 0) {
            return soldOut(product);
        }
        long order = warehouse.insertOrder(product, instance);
        if (!warehouse.writeFenced(product, remaining - 1, token)) {
            return refuse(Reason.NEWER_HOLDER, product, "A holder with a token above " + token + " has sold meanwhile");
        }
        return new Sold(order, product, remaining - 1, instance, token);
    }

    OrderResult refuse(Reason reason, String product, String detail) {
        return new Refused(reason, product, instance, detail);
    }

    private OrderResult soldOut(String product) {
        return refuse(Reason.SOLD_OUT, product, "No unit is left");
    }
}
