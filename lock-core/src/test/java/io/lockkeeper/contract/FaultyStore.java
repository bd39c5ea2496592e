/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.store.StoredLock;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** A store of which single commands fail in ways that no store should. */
final class FaultyStore extends DelegatingStore {

    /** What a store is asked. */
    enum Method {
        ACQUIRE,
        HAND_OVER,
        RELEASE,
        RENEW,
        INSPECT,
        INSTANCES
    }

    /** How a command fails. */
    enum Fault {
        THROWS_BEFORE(false) {
            @Override
            <T> CompletableFuture<T> after(CompletableFuture<T> answer) {
                throw error();
            }
        },
        THROWS_AFTER(true) {
            @Override
            <T> CompletableFuture<T> after(CompletableFuture<T> answer) {
                throw error();
            }
        },
        FAILS_BEFORE(false) {
            @Override
            <T> CompletableFuture<T> after(CompletableFuture<T> answer) {
                return CompletableFuture.failedFuture(error());
            }
        },
        FAILS_AFTER(true) {
            @Override
            <T> CompletableFuture<T> after(CompletableFuture<T> answer) {
                return CompletableFuture.failedFuture(error());
            }
        },
        GIVES_NO_FUTURE(true) {
            @Override
            @SuppressWarnings("NullAway") // That is the fault.
            <T> CompletableFuture<T> after(CompletableFuture<T> answer) {
                return null;
            }
        },
        GIVES_NO_ANSWER(true) {
            @Override
            @SuppressWarnings("NullAway") // That is the fault.
            <T> CompletableFuture<T> after(CompletableFuture<T> answer) {
                return CompletableFuture.completedFuture(null);
            }
        },
        NEVER_ANSWERS(true) {
            @Override
            <T> CompletableFuture<T> after(CompletableFuture<T> answer) {
                return new CompletableFuture<>();
            }
        };

        private final boolean done;

        Fault(boolean done) {
            this.done = done;
        }

        abstract <T> CompletableFuture<T> after(CompletableFuture<T> answer);

        private static Error error() {
            return new StackOverflowError("in the store, as the test wants it");
        }
    }

    /** Answers in another way than at once. */
    interface Answering {
        <T> CompletableFuture<T> through(CompletableFuture<T> answer);
    }

    private final AtomicInteger left = new AtomicInteger();
    private volatile Method method = Method.ACQUIRE;
    private volatile Fault fault = Fault.FAILS_BEFORE;

    /** How the store answers where it does not fail. */
    volatile Answering answering = new Answering() {
        @Override
        public <T> CompletableFuture<T> through(CompletableFuture<T> answer) {
            return answer;
        }
    };

    FaultyStore(LockStore inner) {
        super(inner);
    }

    /** Lets the next commands of a kind fail. */
    void failNext(int times, Method failing, Fault how) {
        method = failing;
        fault = how;
        left.set(times);
    }

    /** Returns whether all has failed that was to fail. */
    boolean hasFailed() {
        return left.get() <= 0;
    }

    private <T> CompletableFuture<T> run(Method what, Supplier<CompletableFuture<T>> command) {
        if (what != method || left.getAndUpdate(n -> Math.max(0, n - 1)) <= 0) {
            return answering.through(command.get());
        }
        return fault.after(fault.done ? command.get() : new CompletableFuture<>());
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return run(Method.ACQUIRE, () -> super.acquire(command));
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        return run(Method.HAND_OVER, () -> super.handOver(command));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return run(Method.RELEASE, () -> super.release(command));
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return super.renew(commands).stream()
                .map(answer -> run(Method.RENEW, () -> answer))
                .toList();
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return run(Method.INSPECT, () -> super.inspect(name));
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        return run(Method.INSTANCES, () -> super.instances(clientIds));
    }
}
