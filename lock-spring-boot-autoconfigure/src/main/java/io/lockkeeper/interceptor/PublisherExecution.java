/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.annotation.LossPolicy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.core.ReactiveAdapter;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SignalType;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * Runs a method that returns a publisher, or a suspend function: nothing happens before the subscription, and each
 * subscription runs the method under the lock anew. Only loaded where Reactor is there.
 */
final class PublisherExecution implements LockedExecution {

    private final boolean multiple;
    private final Function<Object, Publisher<?>> toPublisher;
    private final Function<Publisher<?>, Object> fromPublisher;

    private PublisherExecution(
            boolean multiple,
            Function<Object, Publisher<?>> toPublisher,
            Function<Publisher<?>, Object> fromPublisher) {
        this.multiple = multiple;
        this.toPublisher = toPublisher;
        this.fromPublisher = fromPublisher;
    }

    /** Runs methods that return a reactive type. */
    static PublisherExecution of(ReactiveAdapter type) {
        return new PublisherExecution(type.isMultiValue(), type::toPublisher, type::fromPublisher);
    }

    /** Runs suspend functions, which Spring's proxies turn into publishers and back. */
    static PublisherExecution ofSuspending(@Nullable ReactiveAdapter flow) {
        return new PublisherExecution(
                flow != null,
                returned -> returned instanceof Publisher<?> publisher ? publisher : value(returned, flow),
                publisher -> publisher);
    }

    /** What a fallback returned that is no suspend function. */
    private static Publisher<?> value(Object returned, @Nullable ReactiveAdapter flow) {
        return flow == null ? Mono.just(returned) : flow.toPublisher(returned);
    }

    @Override
    public Object run(MethodLockSpec spec, MethodInvocation call) {
        return fromPublisher.apply(
                multiple
                        ? Flux.deferContextual(context -> new Subscription(spec, copy(call), context).many())
                        : Mono.deferContextual(context -> new Subscription(spec, copy(call), context).one()));
    }

    /** Each subscription goes through the rest of the chain by itself. */
    private static MethodInvocation copy(MethodInvocation call) {
        return call instanceof ProxyMethodInvocation proxied ? proxied.invocableClone() : call;
    }

    /** Returns what a method returned as a publisher; an empty one for null. */
    private Publisher<?> publisher(@Nullable Object returned) {
        return returned == null ? Mono.empty() : toPublisher.apply(returned);
    }

    /**
     * One subscription to a locked publisher. Its signals are those of the body; the last one comes after the release, on a
     * thread of the template's executor. A cancellation starts the release, and no thread waits for it.
     */
    private final class Subscription {

        /** Under which the Reactor context has all leases; the innermost is under {@code LockLease.class}. */
        private static final String LEASES = "io.lockkeeper.interceptor.LEASES";

        private final LockedCall call;
        private final List<LockLease> enclosing;
        private final CompletableFuture<Publisher<?>> body = new CompletableFuture<>();
        private final CompletableFuture<Object> ended = new CompletableFuture<>();
        private final CompletableFuture<Object> released = new CompletableFuture<>();
        private volatile List<LockLease> leases = List.of();
        private volatile @Nullable LockLostException interruption;

        Subscription(MethodLockSpec spec, MethodInvocation invocation, ContextView subscriber) {
            this.call = new LockedCall(
                    spec, invocation, SuspendingMethods.arguments(invocation.getMethod(), invocation.getArguments()));
            this.enclosing = subscriber.hasKey(LEASES) ? subscriber.get(LEASES) : List.of();
        }

        Flux<?> many() {
            CompletableFuture<?> locked = lock(this::many);
            return Mono.fromFuture(body, true)
                    .flatMapMany(publisher -> publisher)
                    .doFinally(signal -> giveUp(signal, locked));
        }

        Mono<?> one() {
            CompletableFuture<?> locked = lock(this::one);
            return Mono.fromFuture(body, true).flatMap(Mono::from).doFinally(signal -> giveUp(signal, locked));
        }

        private CompletableFuture<?> lock(Function<Publisher<?>, Publisher<?>> follow) {
            CompletableFuture<Object> locked;
            try {
                locked = call.ask(
                        (operations, request) -> operations.executeUntil(request, enclosing, this::begin, begun -> {
                            body.complete(follow.apply(publisher(begun.returned())));
                            return ended;
                        }));
            } catch (RuntimeException noRequest) {
                body.completeExceptionally(noRequest);
                return body;
            }
            locked.whenComplete((value, failure) -> {
                if (failure != null) {
                    body.complete(withoutLock(failure));
                }
                StageExecution.complete(released, null, null);
            });
            return locked;
        }

        private Publisher<?> withoutLock(Throwable failure) {
            try {
                return publisher(call.withoutLock(failure));
            } catch (Throwable thrown) {
                return Mono.error(thrown);
            }
        }

        private LockedCall begin(LockLease lease) throws Throwable {
            leases = Stream.concat(enclosing.stream(), Stream.of(lease)).toList();
            MethodInvocation invocation = call.invocation();
            if (SuspendingMethods.isSuspending(invocation.getMethod())) {
                LockedCoroutine.enter(invocation.getArguments(), leases);
            }
            return call.begin(lease);
        }

        private Flux<Object> many(Publisher<?> returned) {
            Flux<Object> signals = Flux.<Object>from(returned).contextWrite(this::inside);
            return (isInterrupted() ? signals.takeUntilOther(loss()) : signals)
                    .onErrorResume(this::fail)
                    .concatWith(Mono.defer(this::end));
        }

        private Mono<Object> one(Publisher<?> returned) {
            Mono<Object> signals = Mono.<Object>from(returned).contextWrite(this::inside);
            // The value is the last signal to the subscriber, so it comes after the release.
            return (isInterrupted() ? signals.takeUntilOther(loss()) : signals)
                    .onErrorResume(this::fail)
                    .flatMap(value -> end().thenReturn(value))
                    .switchIfEmpty(Mono.defer(this::end));
        }

        private Context inside(Context context) {
            return context.put(LEASES, leases).put(LockLease.class, call.lease());
        }

        private boolean isInterrupted() {
            return call.spec().onLost() == LossPolicy.INTERRUPT;
        }

        /** Completes, and does not fail, at the loss: that is what makes {@code takeUntilOther} cancel the body. */
        private Mono<Object> loss() {
            CompletableFuture<Object> ending = new CompletableFuture<>();
            call.lease().onLost(lost -> {
                interruption = lost;
                StageExecution.complete(ending, null, null);
            });
            return Mono.fromFuture(ending, true);
        }

        private Mono<Object> fail(Throwable failure) {
            LeaseLoss.addTo(failure, lossOfBody());
            return release().then(Mono.error(failure));
        }

        private Mono<Object> end() {
            LockLostException lost = lossOfBody();
            return lost == null ? release() : release().then(Mono.error(lost));
        }

        private @Nullable LockLostException lossOfBody() {
            LockLostException interrupted = interruption;
            return interrupted != null ? interrupted : call.loss();
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
}
