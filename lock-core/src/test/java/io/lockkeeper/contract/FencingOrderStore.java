/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** A store that notes who holds which token before anybody else hears of it. */
final class FencingOrderStore extends DelegatingStore {

    private final FencingOrder order;

    FencingOrderStore(LockStore store, FencingOrder order) {
        super(store);
        this.order = order;
    }

    @Override
    public StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        return super.open(instance, leaseTime, new Listener(listener));
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        order.asked(command);
        return super.acquire(command).thenApply(reply -> {
            note(command, reply);
            return reply;
        });
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        AcquireCommand next = command.next();
        order.asked(next);
        order.ended(new ReleaseCommand(next.names(), command.attempt(), command.lastToken(), 0));
        return super.handOver(command).thenApply(reply -> {
            note(next, reply.next());
            return reply;
        });
    }

    private void note(AcquireCommand command, AcquireReply reply) {
        if (reply instanceof AcquireReply.Acquired acquired) {
            order.acquired(command.attempt(), acquired.firstTokens());
        }
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        order.ended(command);
        return super.release(command);
    }

    /** Notes grants before the engine hears of them. */
    private final class Listener implements StoreListener {

        private final StoreListener engine;

        Listener(StoreListener engine) {
            this.engine = engine;
        }

        @Override
        public void granted(Grant grant) {
            order.granted(grant.attempt(), grant.name(), grant.firstToken());
            engine.granted(grant);
        }

        @Override
        public void revoked(String attempt) {
            engine.revoked(attempt);
        }

        @Override
        public void freeIn(String attempt, long remainingMillis) {
            engine.freeIn(attempt, remainingMillis);
        }

        @Override
        public void awaited(String attempt) {
            engine.awaited(attempt);
        }

        @Override
        public void channelRestored() {
            engine.channelRestored();
        }
    }
}
