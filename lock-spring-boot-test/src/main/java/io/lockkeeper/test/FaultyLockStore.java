/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.GrantChannel;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.store.StoredLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;

/** A store that does what another one does, as long as nothing fails. */
final class FaultyLockStore implements LockStore {

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

    FaultyLockStore over(LockStore store) {
        if (real != null) {
            throw new IllegalStateException("These LockFaults watch a store already: one LockFaults for each template");
        }
        real = store;
        return this;
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
    public StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
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

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return unlessDown(() -> real().acquire(command));
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        return unlessDown(() -> real().handOver(command));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return unlessDown(() -> real().release(command));
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        if (failing.stream().anyMatch(part -> part != Failing.WAITS)) {
            List<CompletableFuture<Boolean>> failures = new ArrayList<>();
            commands.forEach(command -> failures.add(failure()));
            return failures;
        }
        return real().renew(commands);
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return unlessDown(() -> real().inspect(name));
    }

    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        return unlessDown(() -> real().find(pattern, limit));
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        return unlessDown(() -> real().instances(clientIds));
    }

    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        return unlessDown(() -> real().revoke(name));
    }

    @Override
    public long currentTimeMillis(String name) {
        return real().currentTimeMillis(name);
    }

    @Override
    public boolean permitsWaiting() {
        return !failing.contains(Failing.WAITS);
    }

    @Override
    public GrantChannel grantChannel() {
        return real().grantChannel();
    }

    @Override
    public String toString() {
        return String.valueOf(real);
    }

    @Override
    public void close() {
        failing.clear();
        real().close();
    }

    private <T> CompletableFuture<T> unlessDown(Supplier<CompletableFuture<T>> command) {
        return isDown() ? failure() : command.get();
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
