/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.memory.MemoryLockStore;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Locks in memory that are asked for on threads of the store, and some of which cannot be asked for. */
final class FailingStore implements LockStore {

    private final MemoryLockStore locks;
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> new Thread(task, "store"));
    private final CompletableFuture<?> connected;

    FailingStore(MemoryLockStore locks) {
        this(locks, CompletableFuture.completedFuture(null));
    }

    /** Creates a store that answers from a moment on. */
    FailingStore(MemoryLockStore locks, CompletableFuture<?> connected) {
        this.locks = locks;
        this.connected = connected;
    }

    @Override
    public StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        return locks.open(instance, leaseTime, listener);
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        if (command.names().stream().anyMatch(name -> name.startsWith("unreachable"))) {
            return CompletableFuture.failedFuture(new StoreException("unreachable", null));
        }
        return connected.thenApplyAsync(now -> locks.acquire(command).join(), threads);
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        return locks.handOver(command);
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return CompletableFuture.supplyAsync(() -> locks.release(command).join(), threads);
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return locks.renew(commands);
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return locks.inspect(name);
    }

    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        return locks.find(pattern, limit);
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        return locks.instances(clientIds);
    }

    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        return locks.revoke(name);
    }

    @Override
    public void close() {
        locks.close();
        threads.shutdown();
    }
}
