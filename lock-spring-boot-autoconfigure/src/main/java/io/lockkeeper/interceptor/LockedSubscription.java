/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.annotation.LossPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SignalType;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * One subscription to a locked publisher. Its signals are those of the body; the last one comes after the release, on a
 * thread of the template's executor. A cancellation starts the release, and no thread waits for it.
 */
final class LockedSubscription {

    /** Under which the Reactor context has all leases of a subscription; the innermost is under {@code LockLease.class}. */
    private static final String LEASES = LockedSubscription.class.getName() + ".LEASES";

    private final PublisherExecution execution;
    private final MethodLockSpec spec;
    private final MethodInvocation call;
    private final List<LockLease> enclosing;
    private final CompletableFuture<Publisher<?>> body = new CompletableFuture<>();
    private final CompletableFuture<Object> ended = new CompletableFuture<>();
    private final CompletableFuture<Object> released = new CompletableFuture<>();

    private volatile @Nullable LockLostException interruption;

    LockedSubscription(
            PublisherExecution execution, MethodLockSpec spec, MethodInvocation call, ContextView subscriber) {
        this.execution = execution;
        this.spec = spec;
        this.call = call;
        this.enclosing = subscriber.hasKey(LEASES) ? subscriber.get(LEASES) : List.of();
    }

    Flux<?> many() {
        CompletableFuture<?> locked = begin(this::many);
        return Mono.fromFuture(body, true)
                .flatMapMany(publisher -> publisher)
                .doFinally(signal -> giveUp(signal, locked));
    }

    Mono<?> one() {
        CompletableFuture<?> locked = begin(this::one);
        return Mono.fromFuture(body, true).flatMap(Mono::from).doFinally(signal -> giveUp(signal, locked));
    }

    private CompletableFuture<?> begin(Function<AsynchronousBody.Begun, Publisher<?>> follow) {
        AsynchronousBody method = new AsynchronousBody(call, spec.onLost(), this::prepare);
        CompletableFuture<Object> locked;
        try {
            @Nullable Object[] args = SuspendingMethods.arguments(call.getMethod(), call.getArguments());
            LockRequest request = spec.request(call.getThis(), args);
            GuardedBodies.asks(spec, call);
            locked = spec.operations().get().executeUntil(request, enclosing, method, begun -> {
                body.complete(follow.apply(begun));
                return ended;
            });
        } catch (RuntimeException noRequest) {
            body.completeExceptionally(noRequest);
            return body;
        } finally {
            GuardedBodies.hasAsked(spec);
        }
        locked.whenComplete((value, failure) -> {
            if (failure instanceof LockException noLock && !method.isStarted()) {
                body.complete(execution.withoutLock(spec, call, noLock));
            } else if (failure != null) {
                body.completeExceptionally(failure);
            }
            StageExecution.complete(released, null, null);
        });
        return locked;
    }

    private Flux<Object> many(AsynchronousBody.Begun begun) {
        LockLease lease = begun.lease();
        Flux<Object> signals = Flux.<Object>from(execution.publisher(begun.returned()))
                .contextWrite(context -> inside(context, lease));
        return (spec.onLost() == LossPolicy.INTERRUPT ? signals.takeUntilOther(loss(lease)) : signals)
                .onErrorResume(failure -> fail(lease, failure))
                .concatWith(Mono.defer(() -> end(lease)));
    }

    private Mono<Object> one(AsynchronousBody.Begun begun) {
        LockLease lease = begun.lease();
        Mono<Object> signals = Mono.<Object>from(execution.publisher(begun.returned()))
                .contextWrite(context -> inside(context, lease));
        // The value is the last signal to the subscriber, so it comes after the release.
        return (spec.onLost() == LossPolicy.INTERRUPT ? signals.takeUntilOther(loss(lease)) : signals)
                .onErrorResume(failure -> fail(lease, failure))
                .flatMap(value -> end(lease).thenReturn(value))
                .switchIfEmpty(Mono.defer(() -> end(lease)));
    }

    private void prepare(LockLease lease) {
        if (SuspendingMethods.isSuspending(call.getMethod())) {
            LockedCoroutine.enter(call.getArguments(), leases(lease));
        }
    }

    private Context inside(Context context, LockLease lease) {
        return context.put(LEASES, leases(lease)).put(LockLease.class, lease);
    }

    private List<LockLease> leases(LockLease innermost) {
        List<LockLease> leases = new ArrayList<>(enclosing);
        leases.add(innermost);
        return List.copyOf(leases);
    }

    /** Completes, and does not fail, at the loss: that is what makes {@code takeUntilOther} cancel the body. */
    private Mono<Object> loss(LockLease lease) {
        CompletableFuture<Object> ending = new CompletableFuture<>();
        lease.onLost(lost -> {
            interruption = lost;
            StageExecution.complete(ending, null, null);
        });
        return Mono.fromFuture(ending, true);
    }

    private Mono<Object> fail(LockLease lease, Throwable failure) {
        Losses.addTo(failure, lossOf(lease));
        return release().then(Mono.error(failure));
    }

    private Mono<Object> end(LockLease lease) {
        LockLostException lost = lossOf(lease);
        return lost == null ? release() : release().then(Mono.error(lost));
    }

    private @Nullable LockLostException lossOf(LockLease lease) {
        LockLostException interrupted = interruption;
        return interrupted != null || spec.onLost() == LossPolicy.REPORT ? interrupted : Losses.of(lease);
    }

    private Mono<Object> release() {
        StageExecution.complete(ended, null, null);
        return Mono.fromFuture(released, true);
    }

    private static void giveUp(SignalType signal, CompletableFuture<?> locked) {
        if (signal == SignalType.CANCEL) {
            locked.cancel(true);
        }
    }
}
