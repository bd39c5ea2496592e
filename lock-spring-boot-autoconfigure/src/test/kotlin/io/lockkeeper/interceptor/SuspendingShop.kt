/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor

import io.lockkeeper.LockContext
import io.lockkeeper.LockLease
import io.lockkeeper.LockMode
import io.lockkeeper.annotation.DistributedLocked
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.reactor.ReactorContext
import kotlinx.coroutines.withContext
import kotlinx.coroutines.yield

/** Suspend functions under locks. */
open class SuspendingShop {
    @DistributedLocked("shop:#{#key}")
    open suspend fun token(key: String): Long {
        yield()
        return withContext(Dispatchers.IO) { LockContext.require().fencingToken() }
    }

    @DistributedLocked("shop:#{#key}")
    open suspend fun twice(key: String, self: SuspendingShop): Set<Long> =
        setOf(self.token(key), token(key), LockContext.require().fencingToken())

    @DistributedLocked("shop:#{#key}")
    open suspend fun nested(key: String, self: SuspendingShop): List<String> = self.names("other") + names(key)

    @DistributedLocked("shop:#{#p0}:#{#root.args.length}")
    open suspend fun names(key: String): List<String> =
        currentCoroutineContext()[ReactorContext]!!.context.get<LockLease>(LockLease::class.java).names()

    @DistributedLocked(name = ["shop:#{#key}"], mode = LockMode.READ)
    open suspend fun upgrade(key: String, self: SuspendingShop): Long = self.token(key)

    @DistributedLocked("shop:#{#key}")
    open fun flow(key: String): Flow<String> = flow {
        emit("a")
        emit("b")
    }

    @DistributedLocked("shop:#{#key}")
    open suspend fun suspendedFlow(key: String): Flow<String> {
        yield()
        return flow(key)
    }

    @DistributedLocked("shop:#{#key}")
    open suspend fun nothing(key: String) {
        yield()
    }
}

/** Suspend functions that cannot work as they are written. */
open class WrongSuspendingShop {
    @DistributedLocked("shop:#{#p1}")
    open suspend fun continuation(key: String): String = key

    @DistributedLocked(name = ["shop"], skipWhenLocked = true)
    open suspend fun skipsNumber(): Int = 1

    @DistributedLocked(name = ["shop"], fallbackMethod = "number")
    open suspend fun text(key: String): String = key

    fun number(key: String): Int = key.length
}
