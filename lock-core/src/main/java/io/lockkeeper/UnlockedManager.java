/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/** Locking switched off: every caller has every lock at once, any number of callers together. */
final class UnlockedManager implements LockManager {

    private static final AtomicLong TOKENS = new AtomicLong();

    private final LockInspector inspector = LockInspector.withoutLocking();
    private final LockListener listener = new LockListener() {};

    @Override
    public boolean excludes() {
        return false;
    }

    @Override
    public Lease acquire(LockRequest request, boolean nested, boolean interruptibly) {
        return new UnlockedLease(request, nextToken());
    }

    @Override
    public <T> void acquireAsync(
            LockRequest request,
            boolean nested,
            CompletableFuture<T> result,
            Function<Lease, T> received,
            boolean atOnce) {
        result.complete(received.apply(new UnlockedLease(request, nextToken())));
    }

    /** Strictly increasing within this process, and close to what a store would give. */
    private static long nextToken() {
        return TOKENS.updateAndGet(last -> Math.max(last + 1, System.currentTimeMillis() * 1_000));
    }

    @Override
    public void execute(Runnable task) {
        task.run();
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
    public LockListener listener() {
        return listener;
    }

    @Override
    public void close() {
        // There is nothing to release, and no caller is refused.
    }

    @Override
    public String toString() {
        return "without locking";
    }
}
