/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor

import io.lockkeeper.LockNotAcquiredException
import io.lockkeeper.LockStoreException
import io.lockkeeper.annotation.DistributedLocked
import io.lockkeeper.annotation.LossPolicy
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionStage
import kotlinx.coroutines.yield
import reactor.core.publisher.Flux
import reactor.core.publisher.Mono

/** A locked method for each kind of result. */
interface Kinds {
    @Throws(InterruptedException::class)
    fun value(play: Play): String?

    @Throws(InterruptedException::class)
    fun nothing(play: Play)

    fun future(play: Play): CompletableFuture<String>

    fun stage(play: Play): CompletionStage<String>

    fun mono(play: Play): Mono<String>

    fun flux(play: Play): Flux<String>

    suspend fun suspending(play: Play): String?
}

open class PlainKinds : Kinds {
    @DistributedLocked(name = ["#{#play.name}"])
    override fun value(play: Play): String? = play.value()

    @DistributedLocked(name = ["#{#play.name}"])
    override fun nothing(play: Play) {
        play.value()
    }

    @DistributedLocked(name = ["#{#play.name}"])
    override fun future(play: Play): CompletableFuture<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"])
    override fun stage(play: Play): CompletionStage<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"])
    override fun mono(play: Play): Mono<String> = play.mono()

    @DistributedLocked(name = ["#{#play.name}"])
    override fun flux(play: Play): Flux<String> = play.flux()

    @DistributedLocked(name = ["#{#play.name}"])
    override suspend fun suspending(play: Play): String? = play.suspending()
}

open class PatientKinds : Kinds {
    @DistributedLocked(name = ["#{#play.name}"], waitTime = "1h")
    override fun value(play: Play): String? = play.value()

    @DistributedLocked(name = ["#{#play.name}"], waitTime = "1h")
    override fun nothing(play: Play) {
        play.value()
    }

    @DistributedLocked(name = ["#{#play.name}"], waitTime = "1h")
    override fun future(play: Play): CompletableFuture<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"], waitTime = "1h")
    override fun stage(play: Play): CompletionStage<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"], waitTime = "1h")
    override fun mono(play: Play): Mono<String> = play.mono()

    @DistributedLocked(name = ["#{#play.name}"], waitTime = "1h")
    override fun flux(play: Play): Flux<String> = play.flux()

    @DistributedLocked(name = ["#{#play.name}"], waitTime = "1h")
    override suspend fun suspending(play: Play): String? = play.suspending()
}

open class SkippingKinds : Kinds {
    @DistributedLocked(name = ["#{#play.name}"], skipWhenLocked = true)
    override fun value(play: Play): String? = play.value()

    @DistributedLocked(name = ["#{#play.name}"], skipWhenLocked = true)
    override fun nothing(play: Play) {
        play.value()
    }

    @DistributedLocked(name = ["#{#play.name}"], skipWhenLocked = true)
    override fun future(play: Play): CompletableFuture<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"], skipWhenLocked = true)
    override fun stage(play: Play): CompletionStage<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"], skipWhenLocked = true)
    override fun mono(play: Play): Mono<String> = play.mono()

    @DistributedLocked(name = ["#{#play.name}"], skipWhenLocked = true)
    override fun flux(play: Play): Flux<String> = play.flux()

    @DistributedLocked(name = ["#{#play.name}"], skipWhenLocked = true)
    override suspend fun suspending(play: Play): String? = play.suspending()
}

open class FallingBackKinds : Kinds {
    @DistributedLocked(name = ["#{#play.name}"], fallbackMethod = "valueInstead")
    override fun value(play: Play): String? = play.value()

    @DistributedLocked(name = ["#{#play.name}"], fallbackMethod = "nothingInstead")
    override fun nothing(play: Play) {
        play.value()
    }

    @DistributedLocked(name = ["#{#play.name}"], fallbackMethod = "futureInstead")
    override fun future(play: Play): CompletableFuture<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"], fallbackMethod = "stageInstead")
    override fun stage(play: Play): CompletionStage<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"], fallbackMethod = "monoInstead")
    override fun mono(play: Play): Mono<String> = play.mono()

    @DistributedLocked(name = ["#{#play.name}"], fallbackMethod = "fluxInstead")
    override fun flux(play: Play): Flux<String> = play.flux()

    @DistributedLocked(name = ["#{#play.name}"], fallbackMethod = "suspendingInstead")
    override suspend fun suspending(play: Play): String? = play.suspending()

    fun valueInstead(play: Play): String = "instead"

    fun valueInstead(play: Play, failure: LockStoreException): String = failure.javaClass.simpleName

    fun nothingInstead(play: Play) {}

    fun nothingInstead(play: Play, failure: LockStoreException) {}

    private fun futureInstead(play: Play): CompletableFuture<String> = CompletableFuture.completedFuture("instead")

    private fun futureInstead(play: Play, failure: LockStoreException): CompletableFuture<String> =
        CompletableFuture.completedFuture(failure.javaClass.simpleName)

    fun stageInstead(play: Play): CompletionStage<String> = CompletableFuture.completedFuture("instead")

    fun stageInstead(play: Play, failure: LockStoreException): CompletionStage<String> =
        CompletableFuture.completedFuture(failure.javaClass.simpleName)

    fun monoInstead(play: Play): Mono<String> = Mono.just("instead")

    fun monoInstead(play: Play, failure: LockStoreException): Mono<String> =
        Mono.just(failure.javaClass.simpleName)

    fun fluxInstead(play: Play): Flux<String> = Flux.just("instead")

    fun fluxInstead(play: Play, failure: LockStoreException): Flux<String> =
        Flux.just(failure.javaClass.simpleName)

    fun suspendingInstead(play: Play, failure: LockNotAcquiredException): String = "instead"

    private suspend fun suspendingInstead(play: Play, failure: LockStoreException): String {
        yield()
        return failure.javaClass.simpleName
    }
}

open class ReportingKinds : Kinds {
    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.REPORT)
    override fun value(play: Play): String? = play.value()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.REPORT)
    override fun nothing(play: Play) {
        play.value()
    }

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.REPORT)
    override fun future(play: Play): CompletableFuture<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.REPORT)
    override fun stage(play: Play): CompletionStage<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.REPORT)
    override fun mono(play: Play): Mono<String> = play.mono()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.REPORT)
    override fun flux(play: Play): Flux<String> = play.flux()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.REPORT)
    override suspend fun suspending(play: Play): String? = play.suspending()
}

open class FailingKinds : Kinds {
    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.FAIL)
    override fun value(play: Play): String? = play.value()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.FAIL)
    override fun nothing(play: Play) {
        play.value()
    }

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.FAIL)
    override fun future(play: Play): CompletableFuture<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.FAIL)
    override fun stage(play: Play): CompletionStage<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.FAIL)
    override fun mono(play: Play): Mono<String> = play.mono()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.FAIL)
    override fun flux(play: Play): Flux<String> = play.flux()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.FAIL)
    override suspend fun suspending(play: Play): String? = play.suspending()
}

open class InterruptingKinds : Kinds {
    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.INTERRUPT)
    override fun value(play: Play): String? = play.value()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.INTERRUPT)
    override fun nothing(play: Play) {
        play.value()
    }

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.INTERRUPT)
    override fun future(play: Play): CompletableFuture<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.INTERRUPT)
    override fun stage(play: Play): CompletionStage<String> = play.future()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.INTERRUPT)
    override fun mono(play: Play): Mono<String> = play.mono()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.INTERRUPT)
    override fun flux(play: Play): Flux<String> = play.flux()

    @DistributedLocked(name = ["#{#play.name}"], onLost = LossPolicy.INTERRUPT)
    override suspend fun suspending(play: Play): String? = play.suspending()
}
