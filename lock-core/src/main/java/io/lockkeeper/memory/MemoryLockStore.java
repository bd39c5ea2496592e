/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

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
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps locks inside the JVM, with the promises of the Redis store: for tests, and for applications that run as one
 * process. Several stores made with {@link #peer()} share their locks as instances of an application do.
 */
public class MemoryLockStore implements LockStore {

    private static final Logger log = LoggerFactory.getLogger(MemoryLockStore.class);
    private static final int ALIVE_POLLS = 4;
    private static final int CLIENT_ID_LENGTH = 12;

    private final Heap heap;
    private volatile @Nullable StoreTraits traits;
    private volatile @Nullable Instant opened;
    private volatile String clientId = "";
    private volatile boolean closed;

    private record Client(StoredInstance description, StoreListener listener) {}

    /** What peers share; its monitor guards all of it. */
    private static final class Heap {

        private final LongSupplier micros;
        private final Map<String, MemoryLock> locks = new HashMap<>();
        private final Map<String, Client> clients = new HashMap<>();
        private final List<Runnable> messages = new ArrayList<>();
        private long lastToken;

        Heap(LongSupplier micros) {
            this.micros = micros;
        }

        MemoryLock lock(String name) {
            return locks.computeIfAbsent(name, key -> new MemoryLock(key, lastToken, this::send));
        }

        void send(String attempt, Consumer<StoreListener> message) {
            Client client = clients.get(attempt.substring(0, CLIENT_ID_LENGTH));
            if (client != null) {
                messages.add(() -> message.accept(client.listener()));
            }
        }

        void dropUnused(MemoryLock lock) {
            lastToken = Math.max(lastToken, lock.token());
            if (lock.isUnused()) {
                locks.remove(lock.name);
            }
        }
    }

    /** Creates a store with locks of its own. */
    public MemoryLockStore() {
        this(() -> ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()));
    }

    MemoryLockStore(LongSupplier micros) {
        this(new Heap(micros));
    }

    private MemoryLockStore(Heap heap) {
        this.heap = heap;
    }

    /** Returns another store over the same locks, for another template. */
    public MemoryLockStore peer() {
        return new MemoryLockStore(heap);
    }

    @Override
    public synchronized StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        if (traits != null) {
            throw new IllegalStateException(
                    "This MemoryLockStore serves a LockTemplate already: use peer() for another");
        }
        StoreTraits times = new StoreTraits(
                min(Duration.ofSeconds(2), leaseTime.dividedBy(3)),
                min(Duration.ofSeconds(5), leaseTime.dividedBy(2)),
                min(Duration.ofSeconds(3), leaseTime.dividedBy(2)),
                true);
        traits = times;
        clientId = instance.clientId();
        opened = Instant.now();
        synchronized (heap) {
            heap.clients.put(clientId, new Client(instance, listener));
        }
        return times;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return apply(command.names(), (locks, micros) -> acquire(locks, command, false, micros));
    }

    /** Takes locks, or gives a place; of one that comes ahead of those who wait, these are not served before. */
    private AcquireReply acquire(List<MemoryLock> locks, AcquireCommand command, boolean ahead, long micros) {
        String me = command.attempt();
        if (locks.stream().anyMatch(lock -> lock.hasEnded(me))) {
            return new AcquireReply.Ended();
        }
        if (!ahead) {
            locks.forEach(lock -> lock.serve(me, micros));
        }
        int blocked = 0;
        while (blocked < locks.size()
                && (locks.get(blocked).isHolder(me) || locks.get(blocked).canHave(command, ahead))) {
            blocked++;
        }
        long now = micros / 1_000;
        if (blocked == locks.size()) {
            // One that completes a set of locks begins anew; a repeated command must not shorten what was extended.
            boolean fresh = !locks.stream().allMatch(lock -> lock.isHolder(me));
            long end = now + command.leaseMillis();
            return new AcquireReply.Acquired(
                    command.leaseMillis(),
                    locks.stream()
                            .map(lock -> hold(lock, command, end, fresh, micros))
                            .toList());
        }
        // What is held while the attempt waits must last until it asks again.
        long waiting = now + Math.max(command.leaseMillis(), aliveMillis());
        for (int i = 0; i < locks.size(); i++) {
            if (i > blocked) {
                locks.get(i).letGo(me, micros);
            } else if (command.queue() && i < blocked) {
                hold(locks.get(i), command, waiting, false, micros);
            } else if (command.queue()) {
                long grant =
                        Math.min(command.leaseMillis(), traits().grantTime().toMillis());
                locks.get(i).enqueue(command, now + aliveMillis(), grant);
            }
        }
        MemoryLock busy = locks.get(blocked);
        return command.queue()
                ? new AcquireReply.Queued(busy.holder(), busy.end() - now, now)
                : new AcquireReply.Busy(busy.holder());
    }

    private static long hold(MemoryLock lock, AcquireCommand command, long end, boolean exact, long micros) {
        if (lock.isHolder(command.attempt())) {
            return lock.prolong(command.attempt(), end, exact);
        }
        long token = lock.take(command, false, end, micros);
        lock.serve(null, micros);
        return token;
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        return apply(command.next().names(), (locks, micros) -> handOver(locks, command, micros));
    }

    private HandOverReply handOver(List<MemoryLock> locks, HandOverCommand command, long micros) {
        MemoryLock lock = locks.get(0);
        String next = command.next().attempt();
        boolean held = lock.isHolder(command.attempt());
        if (!lock.isHolder(next) && !lock.isQueued(next) && (lock.hasEnded(next) || !held)) {
            return new HandOverReply(false, new AcquireReply.Ended());
        }
        if (held) {
            lock.end(command.attempt(), command.lastToken(), 0);
        }
        return new HandOverReply(true, acquire(locks, command.next(), command.ahead(), micros));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return apply(command.names(), (locks, micros) -> {
            List<ReleaseReply> replies = new ArrayList<>();
            for (MemoryLock lock : locks) {
                long lastToken = replies.isEmpty() ? command.lastToken() : 0;
                replies.add(lock.release(command.attempt(), lastToken, command.keepMillis(), micros));
            }
            return Collections.max(replies);
        });
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return commands.stream()
                .map(command -> apply(
                        List.of(command.name()), (locks, micros) -> locks.get(0).renew(command, micros / 1_000)))
                .toList();
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return apply(List.of(name), (locks, micros) -> locks.get(0).describe(micros / 1_000));
    }

    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        synchronized (heap) {
            return CompletableFuture.completedFuture(heap.locks.keySet().stream()
                    .filter(Glob.of(pattern))
                    .limit(limit)
                    .toList());
        }
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        synchronized (heap) {
            return CompletableFuture.completedFuture(clientIds.stream()
                    .flatMap(id -> Stream.ofNullable(heap.clients.get(id)))
                    .map(Client::description)
                    .toList());
        }
    }

    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        return apply(List.of(name), (locks, micros) -> locks.get(0).revoke(micros));
    }

    @Override
    public GrantChannel grantChannel() {
        return new GrantChannel(true, closed ? null : opened);
    }

    @Override
    public void close() {
        closed = true;
        synchronized (heap) {
            heap.clients.remove(clientId);
        }
    }

    @Override
    public String toString() {
        return "the memory of this process";
    }

    /** Applies a command to locks at the present time, us, and then tells whom it concerns. */
    private <T> CompletableFuture<T> apply(List<String> names, BiFunction<List<MemoryLock>, Long, T> command) {
        if (closed) {
            return CompletableFuture.failedFuture(new StoreException("the lock store is closed", null));
        }
        T reply;
        List<Runnable> due;
        synchronized (heap) {
            long micros = heap.micros.getAsLong();
            List<MemoryLock> locks = names.stream().map(heap::lock).toList();
            locks.forEach(lock -> lock.expire(micros / 1_000));
            reply = command.apply(locks, micros);
            locks.forEach(heap::dropUnused);
            due = List.copyOf(heap.messages);
            heap.messages.clear();
        }
        due.forEach(MemoryLockStore::tell);
        return CompletableFuture.completedFuture(reply);
    }

    /** What one listener throws must not cost others their messages, nor the caller its reply. */
    private static void tell(Runnable message) {
        try {
            message.run();
        } catch (RuntimeException | Error failure) {
            log.warn("A store listener failed", failure);
        }
    }

    /** Not under the monitor of this store: commands ask for it under that of the heap. */
    private StoreTraits traits() {
        StoreTraits times = traits;
        if (times == null) {
            throw new IllegalStateException("This MemoryLockStore is not open: build a LockTemplate with it");
        }
        return times;
    }

    private long aliveMillis() {
        return ALIVE_POLLS * traits().pollInterval().toMillis();
    }

    private static Duration min(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }
}
