/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Locking switched off: everybody has every lock at once, any number of threads together. */
final class UnlockedEngine implements LockEngine {

    /** What a thread has entered by {@link #lock}. */
    private record Entry(String name, boolean reads) {

        static Entry of(String name, LockMode mode) {
            return new Entry(name, mode == LockMode.READ);
        }
    }

    @SuppressWarnings("ThreadLocalUsage") // Each engine counts its own levels.
    private final ThreadLocal<@Nullable Map<Entry, Deque<LockLease>>> levels = new ThreadLocal<>();

    private final LockInspector inspector = LockInspector.withoutLocking();

    @Override
    public LockLease acquire(LockRequest request) {
        return new UnlockedLease(request);
    }

    @Override
    public void acquireAsync(LockRequest request, CompletableFuture<LockLease> result) {
        result.complete(new UnlockedLease(request));
    }

    @Override
    public void releaseAsync(LockLease lease, Runnable then) {
        lease.close();
        then.run();
    }

    @Override
    public LockLease enter(LockRequest request) {
        return new UnlockedLease(request);
    }

    @Override
    public CompletableFuture<Level> enterAsync(LockRequest request, Collection<? extends LockLease> enclosing) {
        return CompletableFuture.completedFuture(new UnlockedLease(request));
    }

    @Override
    public boolean covers(LockRequest request, Collection<? extends LockLease> leases) {
        return false;
    }

    @Override
    public Body body(LockLease lease) {
        return () -> {};
    }

    @Override
    public void lock(LockRequest request, boolean interruptibly) {
        Map<Entry, Deque<LockLease>> mine = levels.get();
        if (mine == null) {
            mine = new HashMap<>();
            levels.set(mine);
        }
        Entry entry = Entry.of(request.names().get(0), request.mode());
        Deque<LockLease> entered = mine.computeIfAbsent(entry, first -> new ArrayDeque<>(1));
        entered.push(entered.isEmpty() ? new UnlockedLease(request) : entered.element());
    }

    @Override
    public void unlock(String name, LockMode mode) {
        Map<Entry, Deque<LockLease>> mine = levels.get();
        Deque<LockLease> entered = mine == null ? null : mine.get(Entry.of(name, mode));
        if (mine == null || entered == null) {
            throw new IllegalMonitorStateException("Lock '" + name + "' is not locked by this thread");
        }
        LockLease lease = entered.pop();
        if (entered.isEmpty()) {
            mine.remove(Entry.of(name, mode));
            lease.close();
        }
        if (mine.isEmpty()) {
            levels.remove();
        }
    }

    @Override
    public Optional<LockLease> held(String name, LockMode mode) {
        return entered(name, mode).map(Deque::element);
    }

    @Override
    public int holdCount(String name, LockMode mode) {
        return entered(name, mode).map(Deque::size).orElse(0);
    }

    private Optional<Deque<LockLease>> entered(String name, LockMode mode) {
        return Optional.ofNullable(levels.get()).map(mine -> mine.get(Entry.of(name, mode)));
    }

    @Override
    public boolean isLocked(String name, LockMode mode) {
        return false;
    }

    @Override
    public LockInspector inspector() {
        return inspector;
    }

    @Override
    public void close() {
        // There is nothing to release, and nobody is refused.
    }

    @Override
    public String toString() {
        return "without locking";
    }
}
