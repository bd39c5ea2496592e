/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.GrantChannel;
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

/** A store in front of another one, which can be cut off. */
public class DelegatingStore implements LockStore {

    private final LockStore inner;
    private volatile boolean down;

    /** Passes everything on. */
    public DelegatingStore(LockStore inner) {
        this.inner = inner;
    }

    /** Lets each later command fail, or none. */
    public void cutOff(boolean isDown) {
        down = isDown;
    }

    /** Returns the answer of a store that cannot be reached. */
    public static <T> CompletableFuture<T> silent() {
        return CompletableFuture.failedFuture(new StoreException("no answer", null));
    }

    @Override
    public StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        return inner.open(instance, leaseTime, listener);
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return down ? silent() : inner.acquire(command);
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        return down ? silent() : inner.handOver(command);
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return down ? silent() : inner.release(command);
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return down
                ? commands.stream().map(c -> DelegatingStore.<Boolean>silent()).toList()
                : inner.renew(commands);
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return down ? silent() : inner.inspect(name);
    }

    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        return inner.find(pattern, limit);
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        return inner.instances(clientIds);
    }

    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        return inner.revoke(name);
    }

    @Override
    public GrantChannel grantChannel() {
        return inner.grantChannel();
    }

    @Override
    public void close() {
        inner.close();
    }
}
