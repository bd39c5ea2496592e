/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.contract.DelegatingStore;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Locks in memory that are asked for on threads of the store, and some of which cannot be asked for. */
final class FailingStore extends DelegatingStore {

    private final ExecutorService threads = Executors.newCachedThreadPool(task -> new Thread(task, "store"));
    private final CompletableFuture<?> connected;

    FailingStore(MemoryLockStore locks) {
        this(locks, CompletableFuture.completedFuture(null));
    }

    /** Creates a store that answers from a moment on. */
    FailingStore(MemoryLockStore locks, CompletableFuture<?> connected) {
        super(locks);
        this.connected = connected;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        if (command.names().stream().anyMatch(name -> name.startsWith("unreachable"))) {
            return CompletableFuture.failedFuture(new StoreException("unreachable", null));
        }
        return connected.thenApplyAsync(now -> super.acquire(command).join(), threads);
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return CompletableFuture.supplyAsync(() -> super.release(command).join(), threads);
    }

    @Override
    public void close() {
        super.close();
        threads.shutdown();
    }
}
