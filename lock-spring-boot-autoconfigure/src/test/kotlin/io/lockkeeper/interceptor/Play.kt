/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor

import io.lockkeeper.LockContext
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutionException
import kotlinx.coroutines.future.await
import reactor.core.publisher.Flux
import reactor.core.publisher.Mono

/** What the body of one call does. */
class Play(
    /** The name of the lock, in part; null: a name that cannot be evaluated. */
    val name: String?,
    /** What the body throws before it returns; null: nothing. */
    val thrown: Throwable?,
) {
    /** How the body ends, when it has returned. */
    val later = CompletableFuture<String>()

    /** Completed when the body has begun: with whether it has a lease in its context. */
    val begun = CompletableFuture<Boolean>()

    /** Completed when there is something to cancel. */
    val running = CompletableFuture<Unit>()

    private fun assemble() {
        begun.complete(LockContext.current().isPresent)
        thrown?.let { throw it }
    }

    private fun begin() {
        assemble()
        running.complete(Unit)
    }

    fun value(): String {
        begin()
        try {
            return later.get()
        } catch (failure: ExecutionException) {
            throw failure.cause!!
        }
    }

    fun future(): CompletableFuture<String> {
        begin()
        return later
    }

    fun mono(): Mono<String> {
        assemble()
        return Mono.fromFuture(later).doOnSubscribe { running.complete(Unit) }
    }

    fun flux(): Flux<String> = mono().flux()

    suspend fun suspending(): String {
        begin()
        return later.await()
    }
}
