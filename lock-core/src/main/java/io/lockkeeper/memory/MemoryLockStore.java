package io.lockkeeper.memory;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTimes;
import io.lockkeeper.store.StoredLock;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Keeps locks inside the JVM, with the behaviour of the Redis store: for tests, and for applications that run as one
 * process. Several stores made with {@link #peer()} share their locks as instances of an application do.
 */
public final class MemoryLockStore implements LockStore {

    private final MemoryLocks locks;
    private final String clientId = ClientIds.next();
    private @Nullable StoreTimes times;
    private boolean closed;

    /** Creates a store with locks of its own. */
    public MemoryLockStore() {
        this(new MemoryLocks(() -> ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now())));
    }

    MemoryLockStore(MemoryLocks locks) {
        this.locks = locks;
    }

    /** Returns another store over the same locks, for another template. */
    public MemoryLockStore peer() {
        return new MemoryLockStore(locks);
    }

    @Override
    public synchronized StoreTimes open(String application, Duration leaseTime, StoreListener listener) {
        if (times != null) {
            throw new IllegalStateException(
                    "This MemoryLockStore serves a LockTemplate already: use peer() for another");
        }
        times = new StoreTimes(
                min(Duration.ofSeconds(2), leaseTime.dividedBy(3)),
                min(Duration.ofSeconds(5), leaseTime.dividedBy(2)),
                min(Duration.ofSeconds(3), leaseTime.dividedBy(2)));
        locks.join(clientId, listener);
        return times;
    }

    @Override
    public String clientId() {
        return clientId;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return apply(command.name(), record -> record.acquire(command, times(), locks.micros()));
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        return apply(command.next().name(), record -> record.handOver(command, times(), locks.micros()));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return apply(command.name(), record -> record.release(command, locks.micros()));
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return commands.stream()
                .map(command -> apply(command.name(), record -> record.renew(command, locks.micros())))
                .toList();
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return apply(name, record -> record.inspect(locks.micros()));
    }

    @Override
    public synchronized void close() {
        closed = true;
        locks.leave(clientId);
    }

    private <T> CompletableFuture<T> apply(String name, Function<MemoryRecord, T> command) {
        synchronized (this) {
            if (closed) {
                return CompletableFuture.failedFuture(new StoreException("the lock store is closed", null));
            }
        }
        return CompletableFuture.completedFuture(locks.apply(name, command));
    }

    private synchronized StoreTimes times() {
        if (times == null) {
            throw new IllegalStateException("This MemoryLockStore is not open: build a LockTemplate with it");
        }
        return times;
    }

    private static Duration min(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }
}
