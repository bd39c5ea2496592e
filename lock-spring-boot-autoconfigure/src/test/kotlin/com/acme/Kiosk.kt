/* SPDX-License-Identifier: Apache-2.0 */
package com.acme

import io.lockkeeper.annotation.DistributedLocked
import java.util.concurrent.CompletableFuture
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.future.future
import kotlinx.coroutines.yield

/** A suspend function into which a lock cannot be woven. */
open class Kiosk {
    @DistributedLocked("kiosk")
    open suspend fun sell(): String {
        yield()
        return "sold"
    }

    companion object {
        /** Calls it for a test in Java. */
        @JvmStatic
        fun sold(kiosk: Kiosk): CompletableFuture<String> =
            CoroutineScope(Dispatchers.Unconfined).future { kiosk.sell() }
    }
}
