/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
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
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** A store that keeps every command until the test answers it. */
final class RecordingStore implements LockStore {

    static final StoreTraits TRAITS =
            new StoreTraits(Duration.ofSeconds(2), Duration.ofSeconds(5), Duration.ofSeconds(3), true);

    /** A command that waits for its answer. */
    record Sent<C, R>(C command, CompletableFuture<R> reply) {

        void answer(R answer) {
            reply.complete(answer);
        }

        void fail() {
            reply.completeExceptionally(new StoreException("no answer within 2 s", null));
        }
    }

    final List<Sent<AcquireCommand, AcquireReply>> acquires = new CopyOnWriteArrayList<>();
    final List<Sent<HandOverCommand, HandOverReply>> handOvers = new CopyOnWriteArrayList<>();
    final List<Sent<ReleaseCommand, ReleaseReply>> releases = new CopyOnWriteArrayList<>();
    final List<Sent<RenewCommand, Boolean>> renewals = new CopyOnWriteArrayList<>();
    final List<Integer> renewalBatches = new CopyOnWriteArrayList<>();

    /** Runs when a renewal has come, before the store's method returns. */
    Consumer<Sent<RenewCommand, Boolean>> uponRenewal = sent -> {};

    /** Runs when a question has come, before the store's method returns. */
    Consumer<Sent<AcquireCommand, AcquireReply>> uponAcquire = sent -> {};

    /** Runs when a hold is handed over, before the store's method returns. */
    Consumer<Sent<HandOverCommand, HandOverReply>> uponHandOver = sent -> {};

    /** Runs when a release has come, before the store's method returns. */
    Consumer<Sent<ReleaseCommand, ReleaseReply>> uponRelease = sent -> {};

    /** How many batches of renewals get no answers at all, which no store should do. */
    int renewalsUnanswered;

    /** How often the store was closed. */
    final AtomicInteger closes = new AtomicInteger();

    StoreTraits traits = TRAITS;

    Optional<StoredLock> stored = Optional.empty();

    /** Runs when a name is inspected, before the store's method returns. */
    Runnable uponInspection = () -> {};

    /** The store's clock; 0: it has none. */
    LongSupplier clock = () -> 0;

    /** What is answered to those who ask for the names of instances. */
    CompletableFuture<List<StoredInstance>> described = CompletableFuture.completedFuture(List.of());

    @Override
    public long currentTimeMillis(String name) {
        return clock.getAsLong();
    }

    @Override
    public StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        return traits;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        CompletableFuture<AcquireReply> reply = keep(acquires, command);
        uponAcquire.accept(last(acquires));
        return reply;
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        CompletableFuture<HandOverReply> reply = keep(handOvers, command);
        uponHandOver.accept(last(handOvers));
        return reply;
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        CompletableFuture<ReleaseReply> reply = keep(releases, command);
        uponRelease.accept(last(releases));
        return reply;
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        renewalBatches.add(commands.size());
        List<CompletableFuture<Boolean>> replies =
                commands.stream().map(command -> keep(renewals, command)).toList();
        uponRenewal.accept(last(renewals));
        return renewalsUnanswered-- > 0 ? List.of() : replies;
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        uponInspection.run();
        return CompletableFuture.completedFuture(stored);
    }

    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        throw new UnsupportedOperationException("Nobody looks");
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        return described;
    }

    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        throw new UnsupportedOperationException("Nobody revokes");
    }

    @Override
    public void close() {
        closes.incrementAndGet();
    }

    static StoredLock ownedBy(String attempt) {
        return new StoredLock("stock", ClaimMode.EXCLUSIVE, List.of(attempt), 1, 30_000, List.of());
    }

    static <T> T last(List<T> list) {
        return list.get(list.size() - 1);
    }

    private static <C, R> CompletableFuture<R> keep(List<Sent<C, R>> list, C command) {
        CompletableFuture<R> reply = new CompletableFuture<>();
        list.add(new Sent<>(command, reply));
        return reply;
    }
}
