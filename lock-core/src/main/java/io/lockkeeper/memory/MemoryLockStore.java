/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClientIds;
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
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
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

    private final Heap heap;
    private volatile @Nullable Client client;
    private volatile boolean closed;

    private record Client(StoredInstance description, StoreListener listener, StoreTraits traits) {}

    /** What peers share; its monitor guards all of it but the clients. */
    static final class Heap {

        private final LongSupplier clock;

        /** In the order in which they were looked at last. */
        final Map<String, MemoryLock> locks = new LinkedHashMap<>(16, 0.75f, true);

        private final Map<String, Client> clients = new ConcurrentHashMap<>();
        private final List<Runnable> messages = new ArrayList<>();
        private long lastToken;

        /** When the present command runs, us. */
        long micros;

        Heap(LongSupplier clock) {
            this.clock = clock;
            this.lastToken = clock.getAsLong();
        }

        long now() {
            return micros / 1_000;
        }

        MemoryLock lock(String name) {
            return locks.computeIfAbsent(name, key -> new MemoryLock(key, lastToken, this));
        }

        /** Serves the waiters of locks, and forgets free ones but for their tokens: those of later locks are higher. */
        void tidy(List<String> names) {
            for (String name : names) {
                MemoryLock lock = lock(name);
                lock.serve();
                lastToken = Math.max(lastToken, lock.token);
                if (lock.isUnused()) {
                    locks.remove(name);
                }
            }
        }

        void send(String attempt, Consumer<StoreListener> message) {
            Client client = clients.get(attempt.substring(0, ClientIds.LENGTH));
            if (client != null) {
                messages.add(() -> message.accept(client.listener));
            }
        }
    }

    /** Creates a store with locks of its own. */
    public MemoryLockStore() {
        this(new Heap(() -> ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now())));
    }

    MemoryLockStore(Heap heap) {
        this.heap = heap;
    }

    /** Returns another store over the same locks, for another template. */
    public MemoryLockStore peer() {
        return new MemoryLockStore(heap);
    }

    @Override
    public synchronized StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        if (client != null) {
            throw new IllegalStateException(
                    "This MemoryLockStore serves a LockTemplate already: use peer() for another");
        }
        long lease = leaseTime.toMillis();
        StoreTraits traits = new StoreTraits(
                Duration.ofMillis(Math.min(2_000, lease / 3)),
                Duration.ofMillis(Math.min(5_000, lease / 2)),
                Duration.ofMillis(Math.min(3_000, lease / 2)),
                true);
        Client own = new Client(instance, listener, traits);
        client = own;
        heap.clients.put(instance.clientId(), own);
        return traits;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return apply(command.names(), locks -> acquire(locks, command, false));
    }

    /** Takes locks, or gives a place. */
    private AcquireReply acquire(List<MemoryLock> locks, AcquireCommand command, boolean ahead) {
        String me = command.attempt();
        if (locks.stream().anyMatch(lock -> lock.hasEnded(me))) {
            return new AcquireReply.Ended();
        }
        int free = (int)
                locks.stream().takeWhile(lock -> lock.canHave(command, ahead)).count();
        long lease = command.leaseMillis();
        if (free == locks.size()) {
            // One that completes a set of locks begins anew; a repeated command must not shorten what was extended.
            boolean fresh = !locks.stream().allMatch(lock -> lock.isHolder(me));
            return new AcquireReply.Acquired(lease, hold(locks, command, lease, fresh));
        }
        MemoryLock busy = locks.get(free);
        locks.subList(free + 1, locks.size()).forEach(lock -> lock.letGo(me));
        if (!command.queue()) {
            return new AcquireReply.Busy(busy.holder());
        }
        // What is held while the attempt waits must last until it asks again.
        StoreTraits traits = traits();
        long alive = traits.aliveMillis();
        hold(locks.subList(0, free), command, Math.max(lease, alive), false);
        busy.enqueue(
                command, heap.now() + alive, Math.min(lease, traits.grantTime().toMillis()));
        return new AcquireReply.Queued(busy.holder(), busy.remaining(), heap.now());
    }

    private List<Long> hold(List<MemoryLock> locks, AcquireCommand command, long millis, boolean exact) {
        return locks.stream()
                .map(lock -> lock.hold(command, heap.now() + millis, exact))
                .toList();
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        AcquireCommand next = command.next();
        return apply(next.names(), locks -> {
            MemoryLock lock = locks.get(0);
            if (lock.isHolder(command.attempt())) {
                lock.end(command.attempt(), command.lastToken(), 0);
            } else if (!lock.isKnown(next.attempt())) {
                return new HandOverReply(false, new AcquireReply.Ended());
            }
            if (!command.ahead()) {
                lock.serve();
            }
            return new HandOverReply(true, acquire(locks, next, command.ahead()));
        });
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return apply(command.names(), locks -> locks.stream()
                .map(lock -> lock.release(
                        command.attempt(), lock == locks.get(0) ? command.lastToken() : 0, command.keepMillis()))
                .max(Comparator.naturalOrder())
                .orElseThrow());
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return commands.stream()
                .map(command -> on(command.name(), lock -> lock.renew(command)))
                .toList();
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return on(name, MemoryLock::describe);
    }

    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        Predicate<String> glob = Glob.of(pattern);
        return apply(List.of(), none -> {
            heap.tidy(List.copyOf(heap.locks.keySet()));
            return heap.locks.keySet().stream().filter(glob).limit(limit).toList();
        });
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        return CompletableFuture.completedFuture(clientIds.stream()
                .flatMap(id -> Stream.ofNullable(heap.clients.get(id)))
                .map(Client::description)
                .toList());
    }

    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        return on(name, MemoryLock::revoke);
    }

    @Override
    public GrantChannel grantChannel() {
        Client own = client;
        return new GrantChannel(true, own == null || closed ? null : own.description.since());
    }

    @Override
    public void close() {
        closed = true;
        heap.clients.values().remove(client);
    }

    @Override
    public String toString() {
        return "the memory of this process";
    }

    private <T> CompletableFuture<T> on(String name, Function<MemoryLock, T> command) {
        return apply(List.of(name), locks -> command.apply(locks.get(0)));
    }

    /** Applies a command to locks, serves who waits for them, and then tells whom it concerns. */
    private <T> CompletableFuture<T> apply(List<String> names, Function<List<MemoryLock>, T> command) {
        if (closed) {
            return CompletableFuture.failedFuture(new StoreException("the lock store is closed", null));
        }
        T reply;
        List<Runnable> due;
        synchronized (heap) {
            heap.micros = heap.clock.getAsLong();
            List<MemoryLock> locks = names.stream().map(heap::lock).toList();
            locks.forEach(MemoryLock::serve);
            reply = command.apply(locks);
            heap.tidy(names);
            // And some others in their turn: a lock that ended by itself may be asked for by no one again.
            heap.tidy(heap.locks.keySet().stream().limit(names.size() + 1).toList());
            due = List.copyOf(heap.messages);
            heap.messages.clear();
        }
        for (Runnable message : due) {
            try {
                message.run();
            } catch (RuntimeException | Error failure) {
                // It must not cost others their messages, nor the caller its reply.
                log.warn("A store listener failed", failure);
            }
        }
        return CompletableFuture.completedFuture(reply);
    }

    private StoreTraits traits() {
        Client own = client;
        if (own == null) {
            throw new IllegalStateException("This MemoryLockStore is not open: build a LockTemplate with it");
        }
        return own.traits;
    }
}
