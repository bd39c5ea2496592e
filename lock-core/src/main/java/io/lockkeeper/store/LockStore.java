/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Keeps locks for the engine of one process. A lock has one holding attempt, or several that read, and a queue of
 * waiting ones; when a hold ends, the first live waiter holds the lock, for a short grant time, and is told; of readers
 * all that wait in front.
 *
 * <p>Every command is answered or fails with a {@link StoreException} within {@link StoreTraits#commandTimeout()}. It
 * may be completed on the calling thread before the method returns, or later on any thread; the method itself blocks
 * only where the command says that the {@linkplain AcquireCommand#waitNanos() caller waits}, and as long as it waits. A
 * store that has never answered may fail an acquisition with a {@link StoreNotReadyException}; it is then asked again.
 * A command may run although it failed here, even later, and even twice, unless it failed with a {@link
 * CommandNotExecutedException}; commands are idempotent for each attempt, and one that arrives after the command
 * timeout is refused by the store.
 *
 * <p>Its {@code toString()} says where the locks are kept, for people.
 */
public interface LockStore extends AutoCloseable {

    /**
     * Starts the store for one engine.
     *
     * @param instance describes this client as a holder; its id, 12 letters or digits, begins the ids of all its
     *     attempts
     * @param leaseTime the lease of holds that are renewed, from which unset times follow
     * @param listener receives grants
     * @return the times and abilities of this store
     * @throws IllegalStateException if the store was opened before
     */
    StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener);

    /** Asks for locks, or asks again for a waiting attempt. */
    CompletableFuture<AcquireReply> acquire(AcquireCommand command);

    /** Ends the hold of an attempt and asks again for the next one; the answer is about both. */
    CompletableFuture<HandOverReply> handOver(HandOverCommand command);

    /** Ends a hold or a wait. */
    CompletableFuture<ReleaseReply> release(ReleaseCommand command);

    /** Renews holds, those of one server together; says for each, in their order, whether it is still held. */
    List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands);

    /** Returns what the store knows of a lock by its name; empty where it is neither held nor waited for. */
    CompletableFuture<Optional<StoredLock>> inspect(String name);

    /**
     * Finds names of locks by a glob in the syntax of Redis, up to a limit, without blocking the store for long: in no
     * order, each once; perhaps also of locks that were released a while ago.
     */
    CompletableFuture<List<String>> find(String pattern, int limit);

    /** Returns the descriptions of clients, as far as the store knows them. */
    CompletableFuture<List<StoredInstance>> instances(List<String> clientIds);

    /**
     * Takes a lock away from all who hold it, tells them, and returns whether it was held. Breaks mutual exclusion
     * until they have heard of it.
     */
    CompletableFuture<Boolean> revoke(String name);

    /** Returns whether grants reach this client now; without a command. */
    default GrantChannel grantChannel() {
        return GrantChannel.NONE;
    }

    /**
     * Returns the time by the clock of the store that keeps a lock, in ms since the epoch, as far as it is known here:
     * no command is sent for it. 0: the store has no clock of its own, or has not told its time yet.
     */
    default long currentTimeMillis(String name) {
        return 0;
    }

    /**
     * Returns ids of the servers that keep the locks, by which two stores are told to share one; none where they have
     * no ids. Fails where they are not known, because no server has told its id yet.
     */
    default CompletableFuture<Set<String>> serverIds() {
        return CompletableFuture.completedFuture(Set.of());
    }

    /**
     * Returns whether callers may wait for a lock; false: each tries once, whatever its request says, as a test may
     * want it. Asked at each acquisition.
     */
    default boolean permitsWaiting() {
        return true;
    }

    /** Ends the subscription and everything else that belongs to this client; waits at most the command timeout. */
    @Override
    void close();
}
