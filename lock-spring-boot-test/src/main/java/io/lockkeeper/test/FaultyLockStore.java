/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import io.lockkeeper.store.Grant;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;

/** What a watched store goes through: each method reaches the real one, as long as nothing fails. */
final class FaultyLockStore implements MethodInterceptor {

    /** What does not work. */
    enum Failing {
        EVERYTHING,
        EVERYTHING_IN_SILENCE,
        RENEWALS,
        WAITS
    }

    private final List<Failing> failing = new CopyOnWriteArrayList<>();
    private volatile @Nullable LockStore real;
    private volatile Duration commandTimeout = Duration.ZERO;
    private volatile Duration longestHold = Duration.ofMinutes(10);

    /** Has the application make its store, if that is made only when it is needed. */
    private final Runnable make;

    FaultyLockStore(Runnable make) {
        this.make = make;
    }

    LockStore over(LockStore store) {
        if (real != null) {
            throw new IllegalStateException("These LockFaults watch a store already: one LockFaults for each template");
        }
        real = store;
        return ProxyFactory.getProxy(LockStore.class, this);
    }

    /** Returns the store that does the work. */
    LockStore real() {
        if (real == null) {
            make.run();
        }
        LockStore store = real;
        if (store == null) {
            throw new IllegalStateException("These LockFaults watch no store: build the LockTemplate with the result of"
                    + " watch(store); in an application, let Spring Boot make both, or let the store of your template be"
                    + " a bean");
        }
        return store;
    }

    /** Returns for how long the store can hold a lock without a renewal, or a time that is long enough. */
    Duration longestHold() {
        return longestHold;
    }

    /** Begins a failure; the result ends it. */
    Outage fail(Failing part) {
        // Where no store is watched, nothing would fail.
        real();
        failing.add(part);
        return () -> failing.remove(part);
    }

    @Override
    public @Nullable Object invoke(MethodInvocation call) throws Throwable {
        @SuppressWarnings("NullAway") // No method of a store takes null.
        Object[] arguments = call.getArguments();
        switch (call.getMethod().getName()) {
            case "open" -> {
                return open((StoredInstance) arguments[0], (Duration) arguments[1], (StoreListener) arguments[2]);
            }
            case "renew" -> {
                if (failing.stream().anyMatch(part -> part != Failing.WAITS)) {
                    return Stream.generate(this::failure)
                            .limit(((List<?>) arguments[0]).size())
                            .toList();
                }
            }
            case "permitsWaiting" -> {
                if (failing.contains(Failing.WAITS)) {
                    return false;
                }
            }
            case "close" -> failing.clear();
            default -> {
                if (isDown() && call.getMethod().getReturnType() == CompletableFuture.class) {
                    return failure();
                }
            }
        }
        return AopUtils.invokeJoinpointUsingReflection(real(), call.getMethod(), arguments);
    }

    private StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        StoreTraits traits = real().open(instance, leaseTime, unlessDown(listener));
        commandTimeout = traits.commandTimeout();
        if (!traits.queues()) {
            longestHold = leaseTime;
        }
        return traits;
    }

    /** Returns what passes on all that the store tells, but that one that is down grants nothing. */
    private StoreListener unlessDown(StoreListener listener) {
        return ProxyFactory.getProxy(StoreListener.class, (MethodInterceptor) message -> isDown()
                        && Arrays.stream(message.getArguments()).anyMatch(Grant.class::isInstance)
                ? null
                : AopUtils.invokeJoinpointUsingReflection(listener, message.getMethod(), message.getArguments()));
    }

    private boolean isDown() {
        return failing.contains(Failing.EVERYTHING) || failing.contains(Failing.EVERYTHING_IN_SILENCE);
    }

    private <T> CompletableFuture<T> failure() {
        if (!failing.contains(Failing.EVERYTHING_IN_SILENCE)) {
            return CompletableFuture.failedFuture(new StoreException("the store was switched off by LockFaults", null));
        }
        return new CompletableFuture<T>()
                .orTimeout(commandTimeout.toMillis(), TimeUnit.MILLISECONDS)
                .exceptionallyCompose(timeout -> CompletableFuture.failedFuture(new StoreException(
                        "no answer within " + commandTimeout.toMillis() + " ms: silenced by LockFaults", null)));
    }
}
