/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import org.jspecify.annotations.Nullable;

/** What became of an order. */
sealed interface OrderResult {

    /** One unit sold; the token is that of the lock under which it was sold, null without a lock. */
    record Sold(
            long order,
            String product,
            int remaining,
            String instance,
            @Nullable Long token) implements OrderResult {}

    /** An order that was not taken. */
    record Refused(Reason reason, String product, String instance, String detail) implements OrderResult {}

    /** Why an order was not taken. */
    enum Reason {
        SOLD_OUT,
        LOCK_NOT_ACQUIRED,
        NEWER_HOLDER
    }
}
