/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor

import io.lockkeeper.LockContext
import io.lockkeeper.annotation.DistributedLocked

/** A number that is a text on the JVM. */
@JvmInline
value class OrderNumber(val text: String)

/** Functions to whose names the compiler adds something. */
open class MangledShop {
    @DistributedLocked(fallbackMethod = "busy")
    open fun pay(order: OrderNumber): String = LockContext.require().name()

    fun busy(order: OrderNumber): String = "busy " + order.text

    @DistributedLocked(name = ["order:#{#order}"], fallbackMethod = "hidden")
    open fun ship(order: String): String = LockContext.require().name()

    internal fun hidden(order: String): String = "hidden $order"

    companion object {
        @JvmStatic
        fun pay(shop: MangledShop, text: String): String = shop.pay(OrderNumber(text))
    }
}
