/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

/** A way to take orders. */
interface Orders {

    /** Sells one unit of the product. */
    OrderResult place(String product);
}
