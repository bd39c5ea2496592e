/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.memory.MemoryScripts.Sending;
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
public class MemoryLockStore implements LockStore {

    private static final int ALIVE_POLLS = 4;

    private final MemoryLocks locks;
    private @Nullable StoreTraits traits;
    private @Nullable Instant opened;
    private String clientId = "";
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
    public synchronized StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        if (traits != null) {
            throw new IllegalStateException(
                    "This MemoryLockStore serves a LockTemplate already: use peer() for another");
        }
        traits = new StoreTraits(
                min(Duration.ofSeconds(2), leaseTime.dividedBy(3)),
                min(Duration.ofSeconds(5), leaseTime.dividedBy(2)),
                min(Duration.ofSeconds(3), leaseTime.dividedBy(2)),
                true);
        clientId = instance.clientId();
        opened = Instant.now();
        locks.join(instance, listener);
        return traits;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        Sending sending = sending(command);
        return apply(command.names(), records -> MemoryScripts.acquire(records, command, sending, locks.micros())
                .orElseThrow(MemoryLockStore::late));
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        Sending sending = sending(command.next());
        return apply(command.next().names(), records -> MemoryScripts.handOver(
                        records.get(0), command, sending, locks.micros())
                .orElseThrow(MemoryLockStore::late));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return apply(
                command.names(),
                records -> MemoryScripts.release(
                        records, command.attempt(), command.lastToken(), command.keepMillis(), locks.micros()));
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return commands.stream()
                .map(command ->
                        applyOne(command.name(), record -> MemoryScripts.renew(record, command, locks.micros())))
                .toList();
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return applyOne(name, record -> record.inspect(locks.micros() / 1_000));
    }

    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        Glob glob = new Glob(pattern);
        return CompletableFuture.completedFuture(
                locks.names().stream().filter(glob::matches).limit(limit).toList());
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        return CompletableFuture.completedFuture(locks.instances(clientIds));
    }

    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        return applyOne(name, record -> MemoryScripts.revoke(record, locks.micros()));
    }

    @Override
    public synchronized GrantChannel grantChannel() {
        return new GrantChannel(true, closed ? null : opened);
    }

    @Override
    public synchronized void close() {
        closed = true;
        locks.leave(clientId);
    }

    @Override
    public String toString() {
        return "the memory of this process";
    }

    private <T> CompletableFuture<T> applyOne(String name, Function<MemoryRecord, T> command) {
        return apply(List.of(name), records -> command.apply(records.get(0)));
    }

    private <T> CompletableFuture<T> apply(List<String> names, Function<List<MemoryRecord>, T> command) {
        synchronized (this) {
            if (closed) {
                return CompletableFuture.failedFuture(new StoreException("the lock store is closed", null));
            }
        }
        try {
            return CompletableFuture.completedFuture(locks.apply(names, command));
        } catch (StoreException failure) {
            return CompletableFuture.failedFuture(failure);
        }
    }

    private synchronized Sending sending(AcquireCommand command) {
        if (traits == null) {
            throw new IllegalStateException("This MemoryLockStore is not open: build a LockTemplate with it");
        }
        long micros = locks.micros();
        long now = micros / 1_000;
        return new Sending(
                // What happened in this microsecond came before the call, which is no copy of another
                micros + 1,
                now + traits.commandTimeout().toMillis(),
                ALIVE_POLLS * traits.pollInterval().toMillis(),
                Math.min(command.leaseMillis(), traits.grantTime().toMillis()));
    }

    private static StoreException late() {
        return new StoreException("the command came after the command timeout: did the clock jump?", null);
    }

    private static Duration min(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }
}
