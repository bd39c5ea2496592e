/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.DaemonThreads;
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
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Keeps locks on a majority of independent masters, so that they outlive any minority of them: the Redlock algorithm of
 * the Redis documentation ("Distributed Locks with Redis"), with what it lacks. It works while a majority answers, and
 * does not wait for the others; without a majority it refuses with a {@link io.lockkeeper.store.StoreException}.
 *
 * <p><b>Tokens.</b> The highest fencing token of the majority that granted a lock is written back to a majority before
 * the caller has the lock: the write-back of Attiya, Bar-Noy and Dolev, "Sharing memory robustly in message-passing
 * systems" (Journal of the ACM, 1995). Any later majority has a master in common with that one, so tokens rise from
 * holder to holder whichever masters grant. For locks that were not used for a while the masters' clocks must agree to
 * within the lease time and the time for which the masters remember a free lock.
 *
 * <p><b>Restarts.</b> A master that has forgotten its locks must not give any for a lease: each master refuses by
 * itself until it has run for that long. Therefore no lease is longer than that of the template.
 *
 * <p><b>Limits.</b> Only exclusive locks: masters that know nothing of each other have no queue in common, so a waiting
 * caller asks again and again, and neither order of arrival nor readers can be kept.
 */
public class QuorumLockStore implements LockStore {

    /** The masters keep no places: this limits how soon a caller asks again after a failure, and how long it cancels. */
    private static final Duration LONGEST_POLL_INTERVAL = Duration.ofMillis(500);

    private final ExecutorService threads = Executors.newCachedThreadPool(DaemonThreads.factory("lockkeeper-quorum"));
    private final List<QuorumNode> nodes = new ArrayList<>();
    private volatile @Nullable Quorum quorum;

    /**
     * Creates a store.
     *
     * @param masters an odd number of stores, three or more, each over a server that shares nothing with the others and
     *     gives no locks until it has run for a lease; opened and closed with this store
     * @throws IllegalArgumentException if they are fewer, an even number, or not distinct
     */
    public QuorumLockStore(List<? extends LockStore> masters) {
        int count = masters.size();
        if (count < 3 || count % 2 == 0) {
            throw new IllegalArgumentException(
                    "A quorum needs three or more masters, and an odd number of them, but there are " + count
                            + ": an even number survives no more failures than one less");
        }
        if (masters.stream().distinct().count() < count) {
            throw new IllegalArgumentException("The masters of a quorum must be distinct, but one is named twice");
        }
        for (LockStore master : masters) {
            Objects.requireNonNull(master, "master must not be null");
            nodes.add(new QuorumNode(nodes.size() + 1, master, nodes, threads));
        }
    }

    /**
     * Opens all masters, or none, in parallel. One that is down does not prevent it.
     *
     * @throws IllegalArgumentException if two of them are the same server
     * @throws IllegalStateException if the store was opened before
     */
    @Override
    public synchronized StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        if (quorum != null) {
            throw new IllegalStateException("This QuorumLockStore serves a LockTemplate already: make one for each");
        }
        Map<QuorumNode, StoreTraits> opened = new ConcurrentHashMap<>();
        try {
            inParallel(nodes, node -> {
                // Already by one master: a holder that stops too early does no harm. The rest is about queues.
                StoreTraits own = node.store.open(instance, leaseTime, attempt -> listener.revoked(attempt));
                opened.put(node, own);
                if (own.claims()) {
                    throw new IllegalArgumentException("The masters of a quorum do not wait for replicas: the majority"
                            + " takes their place. Set replica acks to 0");
                }
            });
            nodes.forEach(QuorumNode::refuseTwin);
        } catch (RuntimeException wrong) {
            inParallel(opened.keySet(), node -> node.store.close());
            throw wrong;
        }
        Stream<Duration> polls = opened.values().stream().map(StoreTraits::pollInterval);
        Duration poll = Stream.concat(polls, Stream.of(LONGEST_POLL_INTERVAL))
                .min(Comparator.naturalOrder())
                .orElseThrow();
        Duration timeout = Collections.max(
                opened.values().stream().map(StoreTraits::commandTimeout).toList());
        quorum = new Quorum(nodes, timeout, leaseTime);
        return new StoreTraits(timeout, poll, poll, false);
    }

    /** Does something with all nodes at once, because each may wait for its server; throws the first failure. */
    private void inParallel(Collection<QuorumNode> nodes, Consumer<QuorumNode> action) {
        try {
            DaemonThreads.join(CompletableFuture.allOf(nodes.stream()
                    .map(node -> CompletableFuture.runAsync(() -> action.accept(node), threads))
                    .toArray(CompletableFuture<?>[]::new)));
        } catch (CompletionException failure) {
            throw failure.getCause() instanceof RuntimeException known ? known : failure;
        }
    }

    /**
     * Asks all masters, and decides as soon as a majority has granted the locks and has their tokens, or cannot any
     * more; what a minority has granted goes back at once. An attempt that was refused is
     * {@linkplain AcquireReply.Ended over} until every master has heard of that.
     *
     * @param command what is asked for, in mode EXCLUSIVE; does not queue whatever it says
     * @throws UnsupportedOperationException if another mode is asked for
     */
    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return acquire(unqueued(command), quorum().commandTimeout.toNanos());
    }

    private CompletableFuture<AcquireReply> acquire(AcquireCommand command, long patienceNanos) {
        return quorum().<AcquireReply>tooLong("lease time", command.leaseMillis())
                .orElseGet(() -> new QuorumAcquisition(command, quorum()).start(patienceNanos));
    }

    /** Releases, and then acquires for the next attempt; now and then it lets others have their turn in between. */
    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        Quorum open = quorum();
        AcquireCommand next = unqueued(command.next());
        long now = System.nanoTime();
        boolean mayGoOn = open.window.mayGoOn(next.name(), command.attempt(), next.attempt(), now);
        return open.release(new ReleaseCommand(next.names(), command.attempt(), 0, 0))
                .thenCompose(released -> {
                    boolean held = released != ReleaseReply.NOT_HELD;
                    CompletableFuture<AcquireReply> reply = held && mayGoOn
                            ? acquire(next, now + open.commandTimeout.toNanos() - System.nanoTime())
                            : CompletableFuture.completedFuture(
                                    held ? new AcquireReply.Busy("") : new AcquireReply.Ended());
                    return reply.whenComplete((answer, failure) -> {
                                if (!(answer instanceof AcquireReply.Acquired)) {
                                    open.window.ended(next.name(), next.attempt());
                                }
                            })
                            .thenApply(answer -> new HandOverReply(held, answer));
                });
    }

    /**
     * Releases at all masters, and in the background again at those that fail, until the hold has ended there by
     * itself. Answers what a majority says.
     */
    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        Quorum open = quorum();
        command.names().forEach(name -> open.window.ended(name, command.attempt()));
        return open.<ReleaseReply>tooLong("minimum hold time", command.keepMillis())
                .orElseGet(() -> open.release(command));
    }

    /** Renews at all masters. A hold goes on where a majority says so; a master that has lost it does not count. */
    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        Quorum open = quorum();
        List<RenewCommand> allowed = commands.stream()
                .filter(command -> command.leaseMillis() <= open.longestMillis)
                .toList();
        List<Iterator<CompletableFuture<Boolean>>> answers = nodes.stream()
                .map(node -> node.askAll(allowed.size(), store -> store.renew(allowed))
                        .iterator())
                .toList();
        return commands.stream()
                .map(command -> open.<Boolean>tooLong("lease time", command.leaseMillis())
                        .orElseGet(() -> QuorumVote.decide(
                                open.each(node -> answers.get(node.number - 1).next()),
                                vote -> vote.verdict(Boolean::booleanValue))))
                .toList();
    }

    /** Looks at a lock at all masters, which have no queues: it is held by an attempt that a majority knows. */
    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return quorum().ask(store -> store.inspect(name), QuorumLockStore::known);
    }

    /** Finds the names that any of a majority knows. */
    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        return quorum().ask(store -> store.find(pattern, limit), vote -> union(vote, limit));
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        return quorum().ask(store -> store.instances(clientIds), vote -> union(vote, Integer.MAX_VALUE));
    }

    /**
     * Takes a lock away at all masters.
     *
     * @return whether any master had it: also what a minority keeps of a hold is in the way of others, and where a
     *     master does not answer, it is not known whether a majority had it. Fails where no majority answers, because a
     *     majority may then have it still
     */
    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        return quorum().ask(store -> store.revoke(name), vote -> {
            boolean taken = vote.answers.contains(true);
            return vote.isAnswered() && (taken || vote.outstanding.isEmpty()) ? Optional.of(taken) : Optional.empty();
        });
    }

    @Override
    public void close() {
        Quorum open = quorum;
        if (open != null && !threads.isShutdown()) {
            inParallel(nodes, node -> node.close(open));
            threads.shutdown();
            open.timer.shutdownNow();
        }
    }

    /** Names the stores of the masters. */
    @Override
    public String toString() {
        return nodes.stream()
                .map(node -> node.store.toString())
                .collect(Collectors.joining("; ", "a majority of ", ""));
    }

    /** Returns what any node has told, once a majority has answered. */
    private static <T> Optional<List<T>> union(QuorumVote<List<T>> vote, int limit) {
        Stream<T> told = vote.answers.stream().flatMap(List::stream);
        return vote.isAnswered() ? Optional.of(told.distinct().limit(limit).toList()) : Optional.empty();
    }

    /** A lock is held by whom a majority knows as its holder, and is free where no attempt can be known to so many. */
    private static Optional<Optional<StoredLock>> known(QuorumVote<Optional<StoredLock>> vote) {
        List<StoredLock> seen = vote.answers.stream().flatMap(Optional::stream).toList();
        List<StoredLock> agreeing =
                QuorumVote.most(seen.stream().filter(lock -> !lock.holders().isEmpty()), StoredLock::holders);
        if (agreeing.size() < vote.majority) {
            boolean free = agreeing.size() + vote.nodes - vote.answers.size() < vote.majority;
            return free ? Optional.of(Optional.empty()) : Optional.empty();
        }
        StoredLock one = agreeing.get(0);
        long token = seen.stream().mapToLong(StoredLock::token).max().orElseThrow();
        long remaining =
                agreeing.stream().mapToLong(StoredLock::remainingMillis).min().orElseThrow();
        return Optional.of(
                Optional.of(new StoredLock(one.name(), one.mode(), one.holders(), token, remaining, List.of())));
    }

    private static AcquireCommand unqueued(AcquireCommand command) {
        if (command.mode() != ClaimMode.EXCLUSIVE) {
            throw new UnsupportedOperationException("Mode " + command.mode() + " of lock '" + command.name()
                    + "' needs a queue in the store, and independent masters have none in common: ask for EXCLUSIVE");
        }
        return new AcquireCommand(
                command.names(), command.attempt(), command.mode(), command.leaseMillis(), false, command.tokens());
    }

    /** Returns the state of an open store. */
    Quorum quorum() {
        Quorum open = quorum;
        if (open == null) {
            throw new IllegalStateException("This QuorumLockStore is not open: build a LockTemplate with it");
        }
        return open;
    }
}
