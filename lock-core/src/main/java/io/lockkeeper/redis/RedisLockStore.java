/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.redis.replication.ReplicatedCommands.Acks;
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
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Keeps locks in Redis 6.2 or later, over any connection factory of spring-data-redis. Each lock is one hash; each
 * command is one script, which takes effect once however often it arrives.
 */
public class RedisLockStore implements LockStore {

    private final RedisConnectionFactory connections;
    private final Options options;
    private final Clients.Endpoint endpoint;
    private volatile @Nullable RedisSession session;

    /**
     * Creates a store.
     *
     * @param connections where connections come from; not closed with the store
     * @param options key prefix and times
     */
    public RedisLockStore(RedisConnectionFactory connections, Options options) {
        this(connections, options, options.restartGuard() ? "lockkeeper.redis.quorum.nodes" : null);
    }

    /**
     * Creates a store whose messages say where server, user and password are configured.
     *
     * @param connections where connections come from; not closed with the store
     * @param options key prefix and times
     * @param source a property, such as {@code spring.data.redis.url}, or {@code the bean 'connections'}; null: each
     *     value has its own property
     */
    public RedisLockStore(RedisConnectionFactory connections, Options options, @Nullable String source) {
        this.connections = Objects.requireNonNull(connections, "connections must not be null");
        this.options = Objects.requireNonNull(options, "options must not be null");
        this.endpoint = Clients.Endpoint.of(connections, source);
        Clients.requireRoom(connections);
    }

    @Override
    public synchronized StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
        if (session != null) {
            throw new IllegalStateException("This RedisLockStore serves a LockTemplate already: make one for each");
        }
        RedisSession opened =
                new RedisSession(connections, options, endpoint, instance.clientId(), leaseTime, listener);
        session = opened;
        opened.start(instance);
        return opened.traits;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        RedisSession open = session();
        CompletableFuture<AcquireReply> reply =
                open.afterPreparation(command.waitNanos(), wait -> open.slots.acquire(command.awaited(wait)));
        return options.restartGuard() ? RestartGuard.explain(reply) : reply;
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        RedisSession open = session();
        long longer = open.commands.clocks.differenceMillis();
        return open.eval(
                        open.scripts.handOver(),
                        List.of(command.next().name()),
                        sent -> Arguments.handOver(command, longer, open.traits, sent),
                        command.next().waitNanos())
                .thenApply(reply -> reply.is("NOT_HELD")
                        ? new HandOverReply(false, new AcquireReply.Ended())
                        : new HandOverReply(
                                true, reply.toAcquireReply(command.next().leaseMillis(), longer)));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return session().slots.release(command);
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return session().slots.renew(commands);
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        RedisSession open = session();
        return open.eval(open.scripts.inspect(), List.of(name), sent -> List.of(), 0)
                .thenApply(reply -> reply.toStoredLock(name));
    }

    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        RedisSession open = session();
        return open.commands
                .scan(open.names.lockPattern(pattern), limit)
                .thenApply(keys -> keys.stream().map(open.names::lockName).toList());
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        RedisSession open = session();
        return open.commands
                .get(clientIds.stream().map(open.names::instance).toList())
                .thenApply(descriptions -> descriptions.stream()
                        .flatMap(description -> InstanceDescription.parse(description).stream())
                        .toList());
    }

    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        RedisSession open = session();
        String request = UUID.randomUUID().toString();
        return open.eval(open.scripts.revoke(), List.of(name), sent -> Arguments.revoke(request, open.traits, sent), 0)
                .thenApply(reply -> reply.is("REVOKED"));
    }

    @Override
    public long currentTimeMillis(String name) {
        return session().serverMillis(name);
    }

    @Override
    public CompletableFuture<Set<String>> serverIds() {
        return session().serverIds();
    }

    @Override
    public GrantChannel grantChannel() {
        return new GrantChannel(true, session().subscription.since());
    }

    @Override
    public void close() {
        RedisSession open = session;
        if (open != null) {
            open.close();
        }
    }

    /** Says where the locks are, as in {@code Redis at localhost:6379, key prefix 'lockkeeper'}. */
    @Override
    public String toString() {
        return "Redis at " + endpoint.address() + ", key prefix '" + options.keyPrefix() + "'";
    }

    private RedisSession session() {
        RedisSession open = session;
        if (open == null) {
            throw new IllegalStateException("This RedisLockStore is not open: build a LockTemplate with it");
        }
        return open;
    }

    /**
     * Key prefix and traits. A time is 1 ms or more, and ten years at most; one that is not set (null) follows from the
     * template's lease time.
     *
     * @param keyPrefix with which all keys and channels begin, before a colon; {@code lockkeeper} unless set
     * @param commandTimeout within which Redis must answer, at most a third of the lease; null: 2 s, or that third if
     *     it is shorter
     * @param grantTime how long a granted waiter holds the lock before it must have renewed it, 300 ms or more; null:
     *     3 s, or half the lease if that is shorter
     * @param pollInterval how often a waiter asks again; null: 5 s, or half the lease if that is shorter
     * @param tombstoneTime how long a free lock is remembered, not shorter than the command timeout; 30 s unless set
     * @param restartGuard whether a server that has run for less than a lease gives no locks, because it may have
     *     forgotten some: for the masters of a quorum; false unless set
     * @param replicaAcks how many replicas must have a hold before it counts: a number, or {@code all}, which is the
     *     largest number that the master has had since this store first used it, at least 1; {@code 0} unless set
     * @param replicaAckTimeout how long to wait for them, at most half the command timeout; 500 ms unless set
     */
    public record Options(
            String keyPrefix,
            @Nullable Duration commandTimeout,
            @Nullable Duration grantTime,
            @Nullable Duration pollInterval,
            Duration tombstoneTime,
            boolean restartGuard,
            String replicaAcks,
            Duration replicaAckTimeout) {

        private static final Duration SHORTEST = Duration.ofMillis(1);
        private static final Duration LONGEST = Duration.ofDays(3_650);

        /** Checks what can be checked without the lease time. */
        public Options {
            if (keyPrefix.isBlank()) {
                throw new IllegalArgumentException("The key prefix must not be blank: choose one such as 'lockkeeper'");
            }
            requireMillis("command timeout", commandTimeout);
            requireMillis("grant time", grantTime);
            requireMillis("poll interval", pollInterval);
            requireMillis("tombstone time", tombstoneTime);
            requireMillis("replica ack timeout", replicaAckTimeout);
            Acks.of(replicaAcks, replicaAckTimeout);
        }

        /** Returns options with nothing set. */
        public static Options defaults() {
            return new Options(
                    "lockkeeper", null, null, null, Duration.ofSeconds(30), false, "0", Duration.ofMillis(500));
        }

        /** Returns these options with another key prefix. */
        public Options withKeyPrefix(String prefix) {
            return copy(prefix, commandTimeout, grantTime, pollInterval, tombstoneTime, restartGuard);
        }

        /** Returns these options with another command timeout. */
        public Options withCommandTimeout(Duration time) {
            return copy(keyPrefix, time, grantTime, pollInterval, tombstoneTime, restartGuard);
        }

        /** Returns these options with another grant time. */
        public Options withGrantTime(Duration time) {
            return copy(keyPrefix, commandTimeout, time, pollInterval, tombstoneTime, restartGuard);
        }

        /** Returns these options with another poll interval. */
        public Options withPollInterval(Duration time) {
            return copy(keyPrefix, commandTimeout, grantTime, time, tombstoneTime, restartGuard);
        }

        /** Returns these options with another tombstone time. */
        public Options withTombstoneTime(Duration time) {
            return copy(keyPrefix, commandTimeout, grantTime, pollInterval, time, restartGuard);
        }

        /** Returns these options with another restart guard. */
        public Options withRestartGuard(boolean guard) {
            return copy(keyPrefix, commandTimeout, grantTime, pollInterval, tombstoneTime, guard);
        }

        /** Returns these options with acks of replicas: a number or {@code all}, and how long to wait for them. */
        public Options withReplicaAcks(String acks, Duration timeout) {
            return new Options(
                    keyPrefix, commandTimeout, grantTime, pollInterval, tombstoneTime, restartGuard, acks, timeout);
        }

        private Options copy(
                String prefix,
                @Nullable Duration command,
                @Nullable Duration grant,
                @Nullable Duration poll,
                Duration tombstone,
                boolean guard) {
            return new Options(prefix, command, grant, poll, tombstone, guard, replicaAcks, replicaAckTimeout);
        }

        Acks acks() {
            return Acks.of(replicaAcks, replicaAckTimeout);
        }

        StoreTraits traits(Duration leaseTime) {
            StoreTraits traits = new StoreTraits(
                    commandTimeout == null ? min(Duration.ofSeconds(2), leaseTime.dividedBy(3)) : commandTimeout,
                    pollInterval == null ? min(Duration.ofSeconds(5), leaseTime.dividedBy(2)) : pollInterval,
                    grantTime == null ? min(Duration.ofSeconds(3), leaseTime.dividedBy(2)) : grantTime,
                    true,
                    acks().isWanted());
            atMost("command timeout", traits.commandTimeout(), "a third of the lease time", leaseTime.dividedBy(3));
            atMost("poll interval", traits.pollInterval(), "the lease time", leaseTime);
            atMost("grant time", traits.grantTime(), "the lease time", leaseTime);
            atMost("command timeout", traits.commandTimeout(), "the tombstone time", tombstoneTime);
            if (acks().isWanted()) {
                Duration half = traits.commandTimeout().dividedBy(2);
                atMost("replica ack timeout", replicaAckTimeout, "half the command timeout", half);
            }
            if (traits.grantTime().compareTo(Duration.ofMillis(300)) < 0) {
                throw new IllegalArgumentException(
                        "The grant time must be 300 ms or more, but is " + traits.grantTime());
            }
            return traits;
        }

        private static void atMost(String what, Duration time, String limitName, Duration limit) {
            if (time.compareTo(limit) > 0) {
                throw new IllegalArgumentException(
                        "The " + what + " must be at most " + limitName + ", which is " + limit + ", but is " + time);
            }
        }

        private static void requireMillis(String what, @Nullable Duration time) {
            if (time != null && (time.compareTo(SHORTEST) < 0 || time.compareTo(LONGEST) > 0)) {
                throw new IllegalArgumentException(
                        "The " + what + " must be 1 ms or more, and ten years at most, but is " + time);
            }
        }

        private static Duration min(Duration a, Duration b) {
            return a.compareTo(b) < 0 ? a : b;
        }
    }
}
