/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Many instances that take turns with one lock. To Redis they are what they would be in as many processes: each has a
 * client id and a connection of its own that has subscribed to its grants. Their commands go through one store of the
 * library.
 */
final class WaitingInstances implements AutoCloseable {

    private static final Duration LEASE = Duration.ofSeconds(60);
    private static final int TOKENS = 17;

    /** Further waiters share their connections: a server takes 10,000. */
    private static final int MOST_CLIENTS = 1_000;

    private final List<String> lock;
    private final RedisConnectionFactory connections;
    private final RedisLockStore store;
    private final Deque<Instance> queue = new ArrayDeque<>();
    private Instance holder;
    private long number;

    private static final class Instance {

        final String id;
        final RespConnection channel;
        String attempt = "";

        Instance(RedisServer redis) {
            id = ClientIds.next();
            channel = redis.connect();
            channel.command("SUBSCRIBE", "lockkeeper:grants:" + id);
        }

        /** One more who waits, with the client id and the connection of another. */
        Instance(Instance client) {
            id = client.id;
            channel = client.channel;
        }
    }

    /** One instance holds the lock, and so many wait in the order of their coming. */
    WaitingInstances(RedisServer redis, int waiting) {
        lock = List.of("waited-for");
        connections = Connections.jedis(redis.port());
        // What waits is alive for three poll intervals, so that no waiter polls while this measures.
        store = new RedisLockStore(
                connections,
                RedisLockStore.Options.defaults().withPollInterval(LEASE).withGrantTime(LEASE.dividedBy(2)));
        store.open(StoredInstance.ofThisProcess(ClientIds.next(), "benchmark", ""), LEASE, new Silence());
        holder = new Instance(redis);
        ask(holder);
        List<Instance> clients = Stream.generate(() -> new Instance(redis))
                .limit(Math.min(waiting, MOST_CLIENTS))
                .toList();
        IntStream.range(0, waiting)
                .forEach(i ->
                        queue.add(i < clients.size() ? clients.get(i) : new Instance(clients.get(i % clients.size()))));
        queue.forEach(this::ask);
    }

    private void ask(Instance instance) {
        instance.attempt = instance.id + String.format(Locale.ROOT, "%08d", ++number);
        send(instance);
    }

    private void send(Instance instance) {
        AcquireReply reply = store.acquire(
                        new AcquireCommand(lock, instance.attempt, ClaimMode.EXCLUSIVE, LEASE.toMillis(), true, TOKENS))
                .join();
        boolean expected =
                instance == holder ? reply instanceof AcquireReply.Acquired : reply instanceof AcquireReply.Queued;
        if (!expected) {
            throw new IllegalStateException("Not in turn: " + reply);
        }
    }

    /**
     * The holder releases the lock, and the first that waits is told.
     *
     * @return the times until Redis has answered and until the next instance has heard of it, in ns
     */
    long[] release() {
        long begin = System.nanoTime();
        ReleaseReply reply =
                store.release(new ReleaseCommand(lock, holder.attempt, 0, 0)).join();
        long answered = System.nanoTime() - begin;
        if (reply != ReleaseReply.RELEASED) {
            throw new IllegalStateException("Not released: " + reply);
        }
        if (!queue.isEmpty()) {
            awaitGrant(queue.element());
        }
        return new long[] {answered, System.nanoTime() - begin};
    }

    /** It may have been told before when the lock would be free at the latest. */
    private static void awaitGrant(Instance instance) {
        String message;
        do {
            message = String.valueOf(instance.channel.receive());
        } while (!message.contains("grant " + instance.attempt));
    }

    /**
     * An instance that has released the lock asks again: it joins the end of the queue, or gets a lock without waiters.
     */
    void askAgain() {
        if (!queue.isEmpty()) {
            queue.add(holder);
            holder = queue.remove();
        }
        ask(queue.isEmpty() ? holder : queue.getLast());
    }

    /** The last that waits says that it is still alive, as each does once in a poll interval. */
    void poll() {
        if (!queue.isEmpty()) {
            send(queue.getLast());
        }
    }

    /** Looks at the lock, as an operator does. */
    void look() {
        store.inspect(lock.get(0)).join();
    }

    @Override
    public void close() {
        holder.channel.close();
        queue.forEach(instance -> instance.channel.close());
        store.close();
        Connections.close(connections);
    }

    /** Ignores messages on the store's own channel. */
    static final class Silence implements StoreListener {

        @Override
        public void granted(Grant grant) {
            // The instances read their own channels.
        }

        @Override
        public void revoked(String attempt) {
            // No lock is revoked here.
        }

        @Override
        public void freeIn(String attempt, long remainingMillis) {
            // The instances read their own channels.
        }

        @Override
        public void channelRestored() {
            // No caller waits here.
        }
    }
}
