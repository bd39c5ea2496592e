/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.store.StoredLock;
import java.time.Duration;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Keeps locks on a majority of independent masters, so that they outlive any minority of them: the Redlock algorithm of
 * the Redis documentation ("Distributed Locks with Redis"), with what it lacks. It works while a majority answers, and does
 * not wait for the others; without a majority it refuses with a {@link io.lockkeeper.store.StoreException}.
 *
 * <p><b>Tokens.</b> The highest fencing token of the majority that granted a lock is written back to a majority before the
 * caller has the lock: the write-back of Attiya, Bar-Noy and Dolev, "Sharing memory robustly in message-passing systems"
 * (Journal of the ACM, 1995). Any later majority has a master in common with that one, so tokens rise from holder to
 * holder whichever masters grant. For locks that were not used for a while the masters' clocks must agree to within the
 * lease time and the time for which the masters remember a free lock.
 *
 * <p><b>Restarts.</b> A master that has forgotten its locks must not give any for a lease: each master refuses by itself
 * until it has run for that long. Therefore no lease is longer than that of the template.
 *
 * <p><b>Limits.</b> Only exclusive locks: masters that know nothing of each other have no queue in common, so a waiting
 * caller asks again and again, and neither order of arrival nor readers can be kept.
 */
public class QuorumLockStore implements LockStore {

    private static final int FEWEST = 3;

    private final List<Master> masters;
    private @Nullable QuorumSession session;

    /**
     * Creates a store.
     *
     * @param masters an odd number of stores, three or more, each over a server that shares nothing with the others and
     *     gives no locks until it has run for a lease; opened and closed with this store
     * @throws IllegalArgumentException if they are fewer, an even number, or not distinct
     */
    public QuorumLockStore(List<? extends LockStore> masters) {
        int count = masters.size();
        if (count < FEWEST || count % 2 == 0) {
            throw new IllegalArgumentException(
                    "A quorum needs three or more masters, and an odd number of them, but there are " + count
                            + ": an even number survives no more failures than one less");
        }
        Set<LockStore> distinct = Collections.newSetFromMap(new IdentityHashMap<>());
        distinct.addAll(masters);
        if (distinct.size() < count) {
            throw new IllegalArgumentException("The masters of a quorum must be distinct, but one is named twice");
        }
        this.masters = IntStream.range(0, count)
                .mapToObj(i -> new Master(i + 1, Objects.requireNonNull(masters.get(i), "master must not be null")))
                .toList();
    }

    /**
     * Opens all masters in parallel. One that is down does not prevent it.
     *
     * @throws IllegalStateException if the store was opened before
     */
    @Override
    public synchronized StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        if (session != null) {
            throw new IllegalStateException("This QuorumLockStore serves a LockTemplate already: make one for each");
        }
        StoreTraits traits = MasterSet.open(masters, store -> store.open(instance, leaseTime, new Messages(listener)));
        session = new QuorumSession(new Quorum(masters, traits.commandTimeout(), leaseTime, new Timer()));
        return traits;
    }

    /**
     * Asks all masters, and decides as soon as a majority has granted the locks and has their tokens, or cannot any more;
     * what a minority has granted goes back at once. An attempt that was refused is {@linkplain AcquireReply.Ended over}
     * until every master has heard of that.
     *
     * @param command what is asked for, in mode EXCLUSIVE; does not queue whatever it says
     * @throws UnsupportedOperationException if another mode is asked for
     */
    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return session().acquire(unqueued(command));
    }

    /** Releases, and then acquires for the next attempt; now and then it lets others have their turn in between. */
    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        AcquireCommand next = unqueued(command.next());
        return session().handOver(new ReleaseCommand(next.names(), command.attempt(), 0, 0), next);
    }

    /**
     * Releases at all masters, and in the background again at those that fail, until the hold has ended there by itself.
     * Answers what a majority says.
     */
    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return session().release(command);
    }

    /** Renews at all masters. A hold goes on where a majority says so; a master that has lost it does not count. */
    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return session().renew(commands);
    }

    /** Looks at a lock at all masters: it is held by an attempt that a majority knows. There are no queues at the masters. */
    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return session().quorum().ask(master -> master.ask(store -> store.inspect(name)), Sightings.ofLock(name));
    }

    /** Finds the names that any of a majority knows. */
    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        return session()
                .quorum()
                .ask(master -> master.ask(store -> store.find(pattern, limit)), Sightings.ofNames(limit));
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        return session()
                .quorum()
                .ask(master -> master.ask(store -> store.instances(clientIds)), Sightings.ofInstances());
    }

    /**
     * Takes a lock away at all masters.
     *
     * @return whether any master had it: also what a minority keeps of a hold is in the way of others, and where a master
     *     does not answer, it is not known whether a majority had it. Fails where no majority answers, because a majority
     *     may then have it still
     */
    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        return session().quorum().ask(master -> master.ask(store -> store.revoke(name)), Sightings.ofRevocation());
    }

    @Override
    public void close() {
        QuorumSession open;
        synchronized (this) {
            open = session;
        }
        if (open != null) {
            open.close();
        }
    }

    /** Names the stores of the masters. */
    @Override
    public String toString() {
        return masters.stream()
                .map(master -> master.store().toString())
                .collect(Collectors.joining("; ", "a majority of ", ""));
    }

    private static AcquireCommand unqueued(AcquireCommand command) {
        if (command.mode() != ClaimMode.EXCLUSIVE) {
            throw new UnsupportedOperationException("Mode " + command.mode() + " of lock '" + command.name()
                    + "' needs a queue in the store, and independent masters have none in common: ask for EXCLUSIVE");
        }
        return new AcquireCommand(
                command.names(), command.attempt(), command.mode(), command.leaseMillis(), false, command.tokens());
    }

    /** Returns for how many attempts something is still to be done at some master. */
    int unsettled() {
        return session().unsettled();
    }

    private synchronized QuorumSession session() {
        if (session == null) {
            throw new IllegalStateException("This QuorumLockStore is not open: build a LockTemplate with it");
        }
        return session;
    }
}
