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
import reactor.util.context.ContextView;

/** Runs a method that returns a publisher, or a suspend function, anew under the lock at each subscription. */
record PublisherExecution(
        boolean multiple,
        Function<Object, Publisher<?>> toPublisher,
        Function<Publisher<?>, Object> fromPublisher,
        ResultKind.@Nullable OpenType open)
        implements MethodLockSpec.Execution {

    static PublisherExecution of(ReactiveAdapter type, ResultKind.@Nullable OpenType open) {
        return new PublisherExecution(type.isMultiValue(), type::toPublisher, type::fromPublisher, open);
    }

    /** Runs suspend functions, which Spring's proxies turn into publishers and back; a fallback may return a value. */
    static PublisherExecution ofSuspending(@Nullable ReactiveAdapter flow, ResultKind.@Nullable OpenType open) {
        Function<Object, Publisher<?>> ofValue = flow == null ? Mono::just : flow::toPublisher;
        return new PublisherExecution(
                flow != null,
                returned -> returned instanceof Publisher<?> publisher ? publisher : ofValue.apply(returned),
                publisher -> publisher,
                open);
    }

    @Override
    public Object run(MethodLockSpec spec, MethodInvocation call) {
        Flux<Object> signals = Flux.deferContextual(context -> {
            // Each subscription goes through the rest of the chain by itself.
            MethodInvocation own = call instanceof ProxyMethodInvocation proxied ? proxied.invocableClone() : call;
            return new Subscription(new LockedCall(spec, own), context).signals();
        });
        return fromPublisher.apply(multiple ? signals : signals.singleOrEmpty());
    }

    private Publisher<?> publisher(@Nullable Object returned) {
        return returned == null ? Mono.empty() : toPublisher.apply(returned);
    }

    /** Signals are those of the body; the last comes after the release. A cancellation waits for no release. */
    private final class Subscription {

        /** Under which the Reactor context has all leases; the innermost is under {@code LockLease.class}. */
        private static final String LEASES = "io.lockkeeper.interceptor.LEASES";

        private final LockedCall call;
        private final List<LockLease> enclosing;
        private final CompletableFuture<Publisher<?>> body = new CompletableFuture<>();
        private final CompletableFuture<Object> ended = new CompletableFuture<>();
        private final CompletableFuture<Object> released = new CompletableFuture<>();
        private volatile List<LockLease> leases = List.of();

        Subscription(LockedCall call, ContextView subscriber) {
            this.call = call;
            this.enclosing = subscriber.hasKey(LEASES) ? subscriber.get(LEASES) : List.of();
        }

        Flux<Object> signals() {
            CompletableFuture<Object> locked = call.hold(enclosing, this::begin, returned -> {
                body.complete(follow(publisher(returned)));
                return ended;
            });
            locked.whenComplete((value, failure) -> {
                if (failure != null) {
                    body.complete(withoutLock(failure));
                }
                LockedCall.complete(released, null, null);
            });
            return Mono.fromFuture(body, true)
                    .<Object>flatMapMany(publisher -> publisher)
                    .doFinally(signal -> {
                        if (signal == SignalType.CANCEL) {
                            locked.cancel(true);
                        }
                    });
        }

        private Publisher<?> withoutLock(Throwable failure) {
            try {
                return publisher(call.withoutLock(failure));
            } catch (Throwable thrown) {
                return Mono.error(thrown);
            }
        }

        private @Nullable Object begin(LockLease lease) throws Throwable {
            leases = Stream.concat(enclosing.stream(), Stream.of(lease)).toList();
            MethodInvocation invocation = call.invocation();
            if (AnnotatedMethod.isSuspending(invocation.getMethod())) {
                AnnotatedMethod.Coroutine.enter(invocation.getArguments(), leases);
            }
            return call.run(lease);
        }

        private Flux<Object> follow(Publisher<?> returned) {
            Flux<Object> signals = Flux.<Object>from(multiple ? returned : Mono.from(returned))
                    .contextWrite(context -> context.put(LEASES, leases).put(LockLease.class, call.lease()));
            Flux<Object> watched =
                    call.spec().onLost() == LossPolicy.INTERRUPT ? signals.takeUntilOther(loss()) : signals;
            Flux<Object> seen = open == null ? watched : watched.doOnNext(value -> open.look(value, call.spec()));
            Flux<Object> failing = seen.onErrorResume(failure -> {
                CommitGuard.LeaseLoss.addTo(failure, call.loss());
                return release().then(Mono.error(failure));
            });
            // Of one value, the value is the last signal to the subscriber, so it comes after the release.
            return multiple
                    ? failing.concatWith(Mono.defer(this::end))
                    : failing.concatMap(value -> end().thenReturn(value)).switchIfEmpty(Mono.defer(this::end));
        }

        /** Completes, and does not fail, at the loss: that is what makes {@code takeUntilOther} cancel the body. */
        private Mono<Object> loss() {
            CompletableFuture<Object> ending = new CompletableFuture<>();
            call.lease().onLost(lost -> LockedCall.complete(ending, null, null));
            return Mono.fromFuture(ending, true);
        }

        private Mono<Object> end() {
            LockLostException lost = call.loss();
            return lost == null ? release() : release().then(Mono.error(lost));
        }

        private Mono<Object> release() {
            LockedCall.complete(ended, null, null);
            return Mono.fromFuture(released, true);
        }
    }
}
