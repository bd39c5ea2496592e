/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
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
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** A master whose every answer is in the hands of a test. */
class HandMadeStore implements LockStore {

    static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(2);

    final List<Question<AcquireCommand, AcquireReply>> acquired = new CopyOnWriteArrayList<>();
    final List<Question<List<RenewCommand>, Boolean>> renewed = new CopyOnWriteArrayList<>();
    final List<Question<ReleaseCommand, ReleaseReply>> released = new CopyOnWriteArrayList<>();
    final List<Question<String, Optional<StoredLock>>> inspected = new CopyOnWriteArrayList<>();
    final List<Question<String, Boolean>> revoked = new CopyOnWriteArrayList<>();
    StoreListener listener;
    boolean closed;

    /** Of which locks this master knows still, when it says that it has renewed. */
    Predicate<RenewCommand> renews = command -> true;

    /** Which servers it says that it has. */
    volatile Supplier<CompletableFuture<Set<String>>> servers = () -> CompletableFuture.completedFuture(Set.of());

    /** A command, and the answer to it. */
    record Question<C, R>(C command, CompletableFuture<R> answer) {

        void answer(R reply) {
            answer.complete(reply);
        }

        void fail() {
            answer.completeExceptionally(new StoreException("the line is dead", null));
        }
    }

    private static <C, R> CompletableFuture<R> asked(List<Question<C, R>> questions, C command) {
        Question<C, R> question = new Question<>(command, new CompletableFuture<>());
        questions.add(question);
        return question.answer;
    }

    static <T> T last(List<T> all) {
        return all.get(all.size() - 1);
    }

    void grants(long... tokens) {
        List<Long> boxed = java.util.Arrays.stream(tokens).boxed().toList();
        last(acquired).answer(new AcquireReply.Acquired(last(acquired).command.leaseMillis(), boxed));
    }

    void refuses(String holder) {
        last(acquired).answer(new AcquireReply.Busy(holder));
    }

    @Override
    public StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener engine) {
        listener = engine;
        return new StoreTraits(COMMAND_TIMEOUT, Duration.ofSeconds(1), Duration.ofSeconds(1), true);
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return asked(acquired, command);
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        throw new AssertionError("a master cannot hand over");
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return asked(released, command);
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        CompletableFuture<Boolean> answer = asked(renewed, commands);
        return commands.stream()
                .map(command -> answer.thenApply(yes -> yes && renews.test(command)))
                .toList();
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return asked(inspected, name);
    }

    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        throw new IllegalStateException("not open");
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        throw new IllegalStateException("not open");
    }

    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        return asked(revoked, name);
    }

    @Override
    public CompletableFuture<Set<String>> serverIds() {
        return servers.get();
    }

    @Override
    public void close() {
        closed = true;
    }
}
