/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor

import java.util.concurrent.CompletableFuture
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.future.future
import kotlinx.coroutines.withTimeout

/** Calls suspend functions for tests in Java; cancelling the result cancels the coroutine. */
object Coroutines {
    @JvmStatic
    fun <T> call(body: suspend () -> T): CompletableFuture<T> =
        CoroutineScope(Dispatchers.Unconfined).future { body() }

    @JvmStatic
    fun suspending(kinds: Kinds, play: Play): CompletableFuture<String?> = call { kinds.suspending(play) }

    @JvmStatic
    fun suspending(kinds: Kinds, play: Play, timeoutMillis: Long): CompletableFuture<String?> =
        call { withTimeout(timeoutMillis) { kinds.suspending(play) } }

    @JvmStatic
    fun token(shop: SuspendingShop): CompletableFuture<Long> = call { shop.token("a") }

    @JvmStatic
    fun twice(shop: SuspendingShop): CompletableFuture<Set<Long>> = call { shop.twice("a", shop) }

    @JvmStatic
    fun nested(shop: SuspendingShop): CompletableFuture<List<String>> = call { shop.nested("a", shop) }

    @JvmStatic
    fun names(shop: SuspendingShop): CompletableFuture<List<String>> = call { shop.names("a") }

    @JvmStatic
    fun upgrade(shop: SuspendingShop): CompletableFuture<Long> = call { shop.upgrade("a", shop) }

    @JvmStatic
    fun flow(shop: SuspendingShop): CompletableFuture<List<String>> = call { shop.flow("a").toList() }

    @JvmStatic
    fun suspendedFlow(shop: SuspendingShop): CompletableFuture<List<String>> =
        call { shop.suspendedFlow("a").toList() }

    @JvmStatic
    fun nothing(shop: SuspendingShop): CompletableFuture<Unit> = call { shop.nothing("a") }
}
