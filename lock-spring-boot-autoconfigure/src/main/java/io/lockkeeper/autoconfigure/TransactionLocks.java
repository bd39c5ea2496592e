package io.lockkeeper.autoconfigure;

import io.lockkeeper.LockLease;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** The locks that a transaction holds until it has committed or rolled back, the last one first. */
final class TransactionLocks implements TransactionSynchronization, Consumer<LockLease> {

    private final Deque<LockLease> leases = new ArrayDeque<>();
    private boolean completed;

    private TransactionLocks() {}

    /** Returns the locks of the transaction that is open on this thread. */
    static TransactionLocks ofThisThread() {
        for (TransactionSynchronization known : TransactionSynchronizationManager.getSynchronizations()) {
            if (known instanceof TransactionLocks locks) {
                return locks;
            }
        }
        TransactionLocks locks = new TransactionLocks();
        TransactionSynchronizationManager.registerSynchronization(locks);
        return locks;
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
