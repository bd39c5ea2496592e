/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.GrantChannel;
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
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A store that is broken on purpose: it gives each lock to everybody who asks. */
final class GenerousStore implements LockStore {

    private final LockStore store;
    private long lease;

    GenerousStore(LockStore store) {
        this.store = store;
    }

    @Override
    public StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        lease = leaseTime.toMillis();
        return store.open(instance, leaseTime, listener);
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return CompletableFuture.completedFuture(acquired(command.names().size()));
    }

    private AcquireReply acquired(int names) {
        long token = System.currentTimeMillis() * 1_000;
        return new AcquireReply.Acquired(lease, Collections.nCopies(names, token));
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        return CompletableFuture.completedFuture(
                new HandOverReply(true, acquired(command.next().names().size())));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return CompletableFuture.completedFuture(ReleaseReply.RELEASED);
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return Collections.nCopies(commands.size(), CompletableFuture.completedFuture(true));
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return store.inspect(name);
    }

    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        return store.find(pattern, limit);
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        return store.instances(clientIds);
    }

    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        return store.revoke(name);
    }

    @Override
    public GrantChannel grantChannel() {
        return store.grantChannel();
    }

    @Override
    public void close() {
        store.close();
    }
}
