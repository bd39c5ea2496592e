/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.contract.DelegatingStore;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.GrantChannel;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.store.StoredLock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** A store in memory of which parts can be switched off. */
public class SwitchableStore extends DelegatingStore {

    /** What can fail. */
    public enum Part {
        QUESTIONS,
        RELEASES,
        RENEWALS,
        GRANTS,
        LOOKS,

        /** A look throws what no store should throw. */
        BROKEN_LOOKS
    }

    private final Set<Part> off = ConcurrentHashMap.newKeySet();

    public SwitchableStore(MemoryLockStore store) {
        super(store);
    }

    public void switchOff(Part part) {
        off.add(part);
    }

    public void switchOn(Part part) {
        off.remove(part);
    }

    @Override
    public StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        return super.open(instance, leaseTime, new DeafListener(listener));
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return unless(Part.QUESTIONS, () -> super.acquire(command));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return unless(Part.RELEASES, () -> super.release(command));
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return off.contains(Part.RENEWALS)
                ? commands.stream()
                        .map(command -> DelegatingStore.<Boolean>silent())
                        .toList()
                : super.renew(commands);
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        if (off.contains(Part.BROKEN_LOOKS)) {
            throw new UnsupportedOperationException();
        }
        return unless(Part.LOOKS, () -> super.inspect(name));
    }

    @Override
    public GrantChannel grantChannel() {
        return off.contains(Part.GRANTS) ? new GrantChannel(true, null) : super.grantChannel();
    }

    private <T> CompletableFuture<T> unless(Part part, Supplier<CompletableFuture<T>> command) {
        return off.contains(part) ? silent() : command.get();
    }

    private final class DeafListener implements StoreListener {

        private final StoreListener listener;

        DeafListener(StoreListener listener) {
            this.listener = listener;
        }

        @Override
        public void granted(Grant grant) {
            if (!off.contains(Part.GRANTS)) {
                listener.granted(grant);
            }
        }

        @Override
        public void revoked(String attempt) {
            listener.revoked(attempt);
        }

        @Override
        public void freeIn(String attempt, long remainingMillis) {
            listener.freeIn(attempt, remainingMillis);
        }

        @Override
        public void awaited(String attempt) {
            listener.awaited(attempt);
        }

        @Override
        public void channelRestored() {
            listener.channelRestored();
        }
    }
}
