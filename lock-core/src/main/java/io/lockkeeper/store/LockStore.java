package io.lockkeeper.store;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Keeps locks for the engine of one process. A lock has at most one holding attempt and a queue of waiting ones; when a
 * hold ends, the first live waiter holds the lock, for a short grant time, and is told.
 *
 * <p>Every command is answered or fails with a {@link StoreException} within {@link StoreTimes#commandTimeout()}. It may
 * be completed on the calling thread before the method returns, or later on any thread. A command may run although it
 * failed here, even later, and even twice; commands are idempotent for each attempt, and one that arrives after the
 * command timeout is refused by the store.
 */
public interface LockStore extends AutoCloseable {

    /**
     * Starts the store for one engine.
     *
     * @param application the name of this instance, for people who ask who holds a lock
     * @param leaseTime the lease of holds that are renewed, from which unset times follow
     * @param listener receives grants
     * @return the times that hold for this store
     * @throws IllegalStateException if the store was opened before
     */
    StoreTimes open(String application, Duration leaseTime, StoreListener listener);

    /** Returns the id of this client, 12 letters or digits, with which the ids of its attempts begin. */
    String clientId();

    /**
     * Asks for a lock, or asks again for a waiting attempt.
     *
     * @param command what is asked for
     * @return the answer to come
     */
    CompletableFuture<AcquireReply> acquire(AcquireCommand command);

    /**
     * Ends the hold of an attempt and asks again for the next one.
     *
     * @param command what ends, and what is asked for
     * @return the answer to come, about both attempts
     */
    CompletableFuture<HandOverReply> handOver(HandOverCommand command);

    /**
     * Ends a hold or a wait.
     *
     * @param command what ends
     * @return the answer to come
     */
    CompletableFuture<ReleaseReply> release(ReleaseCommand command);

    /**
     * Renews holds, those of one server together.
     *
     * @param commands what is renewed
     * @return for each command, in their order, whether the attempt still holds the lock
     */
    List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands);

    /**
     * Looks at a lock.
     *
     * @param name the lock's name
     * @return who holds it; empty where nobody does
     */
    CompletableFuture<Optional<StoredLock>> inspect(String name);

    /** Ends the subscription and everything else that belongs to this client; waits at most the command timeout. */
    @Override
    void close();
}
