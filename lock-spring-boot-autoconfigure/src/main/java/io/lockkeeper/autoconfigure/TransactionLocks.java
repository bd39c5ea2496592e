/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.LockLease;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** The locks that a transaction holds until it has committed or rolled back, the last one first. */
final class TransactionLocks implements TransactionSynchronization, Consumer<LockLease> {

    /** What belongs to transactions that this thread has suspended. */
    private static final ThreadLocal<@Nullable Deque<TransactionLocks>> SUSPENDED = new ThreadLocal<>();

    /** Stands in a transaction of which only what comes after the commit is left. */
    private static final TransactionSynchronization COMMITTING = new TransactionSynchronization() {};

    private final Deque<LockLease> leases = new ArrayDeque<>();
    private final List<LockLease> guarded = new ArrayList<>(0);
    private boolean completed;

    private TransactionLocks() {}

    static TransactionLocks ofThisThread() {
        TransactionLocks known = find();
        TransactionLocks locks = known == null ? new TransactionLocks() : known;
        if (known == null) {
            TransactionSynchronizationManager.registerSynchronization(locks);
        }
        return locks;
    }

    /** Returns whether a transaction is open on this thread, in which more can be written and committed. */
    static boolean isTransactionOpen() {
        // Callbacks after the completion of a transaction run outside of it.
        return TransactionSynchronizationManager.isActualTransactionActive()
                && TransactionSynchronizationManager.isSynchronizationActive()
                && !TransactionSynchronizationManager.getSynchronizations().contains(COMMITTING);
    }

    /** The transaction of this thread is about to commit, and no body can write in it any more; fails if it must not. */
    static void beforeCommit() {
        if (TransactionSynchronizationManager.isSynchronizationActive()) {
            TransactionLocks locks = find();
            if (locks != null) {
                locks.beforeCommit(false);
            }
            TransactionSynchronizationManager.registerSynchronization(COMMITTING);
        }
    }

    /** Also called by managers that tell no listeners. */
    @Override
    public void beforeCommit(boolean readOnly) {
        List<LockLease> needed;
        synchronized (this) {
            needed = List.copyOf(guarded);
        }
        needed.forEach(LockLease::ensureHeld);
    }

    /** Holds a lease on; the transaction does not commit once it is lost. */
    void acceptGuarded(LockLease lease) {
        synchronized (this) {
            guarded.add(lease);
        }
        accept(lease);
    }

    /** Returns what the transactions of this thread hold, those that are suspended included. */
    static Collection<LockLease> heldByThisThread() {
        TransactionLocks open = TransactionSynchronizationManager.isSynchronizationActive() ? find() : null;
        Deque<TransactionLocks> suspended = SUSPENDED.get();
        if (open == null && suspended == null) {
            return List.of();
        }
        return Stream.concat(
                        Stream.ofNullable(open), Stream.ofNullable(suspended).flatMap(Deque::stream))
                .flatMap(locks -> locks.leases().stream())
                .toList();
    }

    private static @Nullable TransactionLocks find() {
        return (TransactionLocks) TransactionSynchronizationManager.getSynchronizations().stream()
                .filter(TransactionLocks.class::isInstance)
                .findFirst()
                .orElse(null);
    }

    private synchronized List<LockLease> leases() {
        return List.copyOf(leases);
    }

    @Override
    public void suspend() {
        Deque<TransactionLocks> suspended = SUSPENDED.get();
        if (suspended == null) {
            suspended = new ArrayDeque<>(1);
            SUSPENDED.set(suspended);
        }
        suspended.push(this);
    }

    @Override
    public void resume() {
        Deque<TransactionLocks> suspended = SUSPENDED.get();
        if (suspended != null && suspended.remove(this) && suspended.isEmpty()) {
            SUSPENDED.remove();
        }
    }

    @Override
    public void accept(LockLease lease) {
        synchronized (this) {
            if (!completed) {
                leases.push(lease);
                return;
            }
        }
        lease.close();
    }

    @Override
    public void afterCompletion(int status) {
        List<LockLease> due;
        synchronized (this) {
            completed = true;
            due = List.copyOf(leases);
            leases.clear();
        }
        due.forEach(LockLease::close);
    }
}
