/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.function.Function;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.core.ReactiveAdapter;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

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
                        ? Flux.deferContextual(
                                context -> new LockedSubscription(this, spec, copy(call), context).many())
                        : Mono.deferContextual(
                                context -> new LockedSubscription(this, spec, copy(call), context).one()));
    }

    /** Each subscription goes through the rest of the chain by itself. */
    private static MethodInvocation copy(MethodInvocation call) {
        return call instanceof ProxyMethodInvocation proxied ? proxied.invocableClone() : call;
    }

    /** Returns what a method returned as a publisher; an empty one for null. */
    Publisher<?> publisher(@Nullable Object returned) {
        return returned == null ? Mono.empty() : toPublisher.apply(returned);
    }

    /** Returns what runs instead of a call without a lock. */
    Publisher<?> withoutLock(MethodLockSpec spec, MethodInvocation call, LockException failure) {
        if (spec.skips(failure)) {
            return Mono.justOrEmpty(spec.skippedResult());
        }
        Fallback.Candidate instead = spec.fallbackFor(failure);
        if (instead == null) {
            return Mono.error(failure);
        }
        @Nullable Object[] args = SuspendingMethods.arguments(call.getMethod(), call.getArguments());
        try {
            if (SuspendingMethods.isSuspending(instead.method())) {
                return suspending(instead, call, instead.arguments(args, failure));
            }
            return publisher(instead.invoke(call, args, failure));
        } catch (Throwable thrown) {
            return Mono.error(thrown);
        }
    }

    private static Publisher<?> suspending(Fallback.Candidate instead, MethodInvocation call, @Nullable Object[] args) {
        @Nullable Object[] all = Arrays.copyOf(args, args.length + 1);
        all[args.length] = call.getArguments()[call.getArguments().length - 1];
        Object proxy = call instanceof ProxyMethodInvocation proxied ? proxied.getProxy() : null;
        Method callable = proxy == null ? null : instead.callable(proxy);
        return callable == null
                ? LockedCoroutine.call(instead.method(), call.getThis(), all)
                : LockedCoroutine.call(callable, proxy, all);
    }
}
