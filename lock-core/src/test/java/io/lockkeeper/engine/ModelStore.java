/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.Grant;
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
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One lock without time: an owner and a queue, answered at once. Grants are messages that wait to be delivered. */
final class ModelStore implements LockStore {

    static final String CLIENT = "CLIENT000000";

    private final ArrayDeque<AcquireCommand> queue = new ArrayDeque<>();
    private final ArrayDeque<Grant> messages = new ArrayDeque<>();
    private @Nullable AcquireCommand owner;
    private long firstToken;
    private long lastToken;

    @Override
    public StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        return RecordingStore.TRAITS;
    }

    @Override
    public synchronized CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return CompletableFuture.completedFuture(place(command));
    }

    @Override
    public synchronized CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        boolean wasHeld = isOwner(command.attempt());
        if (wasHeld) {
            owner = null;
            grantNext();
        }
        AcquireReply next = wasHeld ? place(command.next()) : new AcquireReply.Ended();
        return CompletableFuture.completedFuture(new HandOverReply(wasHeld, next));
    }

    @Override
    public synchronized CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        if (isOwner(command.attempt())) {
            owner = null;
            grantNext();
            return CompletableFuture.completedFuture(ReleaseReply.RELEASED);
        }
        boolean waited = queue.removeIf(place -> place.attempt().equals(command.attempt()));
        return CompletableFuture.completedFuture(waited ? ReleaseReply.LEFT_QUEUE : ReleaseReply.ALREADY_RELEASED);
    }

    /** Ends a hold as a lapsed lease ends, or does nothing. */
    synchronized void forget(String attempt) {
        if (isOwner(attempt)) {
            owner = null;
        }
    }

    /** Lets the first one in the queue in, as its own poll would. */
    synchronized void grantNext() {
        if (owner == null && !queue.isEmpty()) {
            own(queue.remove());
            messages.add(new Grant(
                    owner.attempt(),
                    owner.name(),
                    firstToken,
                    RecordingStore.TRAITS.grantTime().toMillis()));
        }
    }

    synchronized @Nullable Grant nextMessage() {
        return messages.poll();
    }

    synchronized boolean isOwner(String attempt) {
        return owner != null && owner.attempt().equals(attempt);
    }

    synchronized boolean isHeldByOthers() {
        return owner != null && !owner.attempt().startsWith(CLIENT);
    }

    synchronized boolean knowsNobody() {
        return owner == null && queue.isEmpty();
    }

    synchronized boolean hasPlaceForUs() {
        return queue.stream().anyMatch(place -> place.attempt().startsWith(CLIENT));
    }

    private AcquireReply place(AcquireCommand command) {
        if (isOwner(command.attempt())) {
            return acquired();
        }
        if (owner == null && queue.isEmpty()) {
            own(command);
            return acquired();
        }
        if (!command.queue()) {
            return new AcquireReply.Busy("other");
        }
        if (queue.stream().noneMatch(place -> place.attempt().equals(command.attempt()))) {
            queue.add(command);
        }
        grantNext();
        return isOwner(command.attempt()) ? acquired() : new AcquireReply.Queued("other", 30_000, 0);
    }

    private AcquireReply acquired() {
        return new AcquireReply.Acquired(EngineFixture.LEASE_MILLIS, List.of(firstToken));
    }

    private void own(AcquireCommand command) {
        owner = command;
        firstToken = lastToken + 1;
        lastToken += command.tokens();
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        throw new UnsupportedOperationException("Nothing is renewed where no time passes");
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        throw new UnsupportedOperationException("Nobody looks");
    }

    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        throw new UnsupportedOperationException("Nobody looks");
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        return CompletableFuture.completedFuture(List.of());
    }

    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        throw new UnsupportedOperationException("Nobody revokes");
    }

    @Override
    public void close() {}
}
