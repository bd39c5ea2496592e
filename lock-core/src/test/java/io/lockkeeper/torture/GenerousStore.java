/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.contract.DelegatingStore;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A store that is broken on purpose: it gives each lock to everybody who asks. */
final class GenerousStore extends DelegatingStore {

    private long lease;

    GenerousStore(LockStore store) {
        super(store);
    }

    @Override
    public StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        lease = leaseTime.toMillis();
        return super.open(instance, leaseTime, listener);
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
}
