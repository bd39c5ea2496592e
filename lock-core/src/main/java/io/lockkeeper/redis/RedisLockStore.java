package io.lockkeeper.redis;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.DaemonThreads;
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
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Keeps locks in Redis 6.2 or later, over any connection factory of spring-data-redis. Each lock is one hash; each
 * command is one script, which takes effect once however often it arrives.
 */
public final class RedisLockStore implements LockStore {

    private static final Logger log = LoggerFactory.getLogger(RedisLockStore.class);
    private static final int MAX_SENDS = 5;
    private static final long NEVER = -1;
    private static final Duration DESCRIPTION_LIFE = Duration.ofSeconds(60);
    private static final long DESCRIPTION_REFRESH_SECONDS = 20;

    private final RedisConnectionFactory connections;
    private final Options options;
    private final RedisNames names;
    private final String clientId = ClientIds.next();
    private final ServerClock clock = new ServerClock(System::nanoTime);
    private @Nullable Session session;

    /**
     * Creates a store.
     *
     * @param connections where connections come from; not closed with the store
     * @param options key prefix and times
     */
    public RedisLockStore(RedisConnectionFactory connections, Options options) {
        this.connections = Objects.requireNonNull(connections, "connections must not be null");
        this.options = Objects.requireNonNull(options, "options must not be null");
        this.names = new RedisNames(options.keyPrefix());
    }

    @Override
    public synchronized StoreTimes open(String application, Duration leaseTime, StoreListener listener) {
        if (session != null) {
            throw new IllegalStateException("This RedisLockStore serves a LockTemplate already: make one for each");
        }
        StoreTimes times = options.times(leaseTime);
        ScheduledThreadPoolExecutor timer =
                new ScheduledThreadPoolExecutor(1, DaemonThreads.factory("lockkeeper-redis-timer"));
        timer.setRemoveOnCancelPolicy(true);
        RedisDriver driver = new SpringDataRedisDriver(connections, times.commandTimeout(), timer);
        Session opened = new Session(driver, timer, times, prepare(driver));
        session = opened;
        driver.subscribe(
                names.channel(clientId),
                message -> GrantMessage.parse(message, names).ifPresent(listener::granted),
                listener::channelRestored);
        describe(driver, InstanceDescription.ofThisProcess(clientId, application), timer);
        awaitWarmConnection(opened);
        return times;
    }

    /** The first lock should find a warm connection; but an application starts without Redis, too. */
    private static void awaitWarmConnection(Session opened) {
        try {
            opened.prepared().get(opened.times().commandTimeout().toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException | TimeoutException failure) {
            log.warn("Redis does not answer yet, locks are refused until it does: {}", failure.toString());
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String clientId() {
        return clientId;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return afterPreparation(() -> acquire(command, 1));
    }

    private CompletableFuture<AcquireReply> acquire(AcquireCommand command, int sends) {
        Session open = session();
        long sent = clock.millis();
        List<byte[]> arguments = Arguments.acquire(command, open.times(), options, names, sent);
        return eval(LuaScript.ACQUIRE, command.name(), arguments).thenCompose(reply -> {
            if (reply.is("LATE") || reply.is("RESEND")) {
                // The reply has told the server's time: the next one is neither late nor taken for an old copy.
                return sends < MAX_SENDS ? acquire(command, sends + 1) : notTaken(reply);
            }
            return CompletableFuture.completedFuture(reply.toAcquireReply());
        });
    }

    private static CompletableFuture<AcquireReply> notTaken(ScriptReply reply) {
        // Others were faster each time: somebody held the lock after each sending.
        return reply.is("RESEND")
                ? CompletableFuture.completedFuture(new AcquireReply.Busy(""))
                : CompletableFuture.failedFuture(
                        new StoreException("Redis is so slow that commands reach it after the command timeout", null));
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        return handOver(command, 1);
    }

    private CompletableFuture<HandOverReply> handOver(HandOverCommand command, int sends) {
        Session open = session();
        List<byte[]> arguments = Arguments.handOver(command, open.times(), options, names, clock.millis());
        return eval(LuaScript.HANDOVER, command.next().name(), arguments).thenCompose(reply -> {
            if (reply.is("LATE") && sends < MAX_SENDS) {
                return handOver(command, sends + 1);
            }
            return CompletableFuture.completedFuture(
                    reply.is("NOT_HELD")
                            ? new HandOverReply(false, new AcquireReply.Busy(""))
                            : new HandOverReply(true, reply.toAcquireReply()));
        });
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return eval(LuaScript.RELEASE, command.name(), Arguments.release(command, options, names))
                .thenApply(ScriptReply::toReleaseReply);
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return Renewals.inBatches(commands, names, options, session().driver(), clock);
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return eval(LuaScript.INSPECT, name, List.of()).thenApply(reply -> reply.toStoredLock(name));
    }

    @Override
    public void close() {
        Session open;
        synchronized (this) {
            open = session;
        }
        if (open == null) {
            return;
        }
        open.driver()
                .delete(names.instance(clientId))
                .exceptionally(gone -> null)
                .join();
        open.driver().close();
        open.timer().shutdownNow();
    }

    private CompletableFuture<ScriptReply> eval(LuaScript script, String name, List<byte[]> arguments) {
        return session()
                .driver()
                .eval(script, List.of(names.lock(name)), arguments)
                .thenApply(raw -> {
                    ScriptReply reply = new ScriptReply(raw);
                    clock.told(reply.serverMillis());
                    if (reply.is("FOREIGN")) {
                        throw new StoreException(
                                "the key of lock '" + name + "' holds something else, or a record of another"
                                        + " version: choose another lockkeeper.key-prefix, or remove the key",
                                null);
                    }
                    return reply;
                });
    }

    /** The server's clock must be known before a lock is taken: it bounds how late a command may run. */
    private CompletableFuture<AcquireReply> afterPreparation(Supplier<CompletableFuture<AcquireReply>> command) {
        if (clock.isKnown()) {
            return command.get();
        }
        CompletableFuture<Long> first = session().prepared();
        CompletableFuture<Long> prepared =
                first.isCompletedExceptionally() ? prepare(session().driver()) : first;
        return prepared.copy()
                .completeOnTimeout(NEVER, session().times().commandTimeout().toMillis(), TimeUnit.MILLISECONDS)
                .thenCompose(time -> time == NEVER
                        ? CompletableFuture.failedFuture(
                                new StoreException("Redis has not answered since the application started", null))
                        : command.get());
    }

    private CompletableFuture<Long> prepare(RedisDriver driver) {
        return driver.prepare(LuaScript.ALL).thenApply(time -> {
            clock.told(time);
            return time;
        });
    }

    private void describe(RedisDriver driver, InstanceDescription description, ScheduledThreadPoolExecutor timer) {
        byte[] json = RedisNames.bytes(description.toJson());
        timer.scheduleWithFixedDelay(
                () -> driver.set(names.instance(clientId), json, DESCRIPTION_LIFE)
                        .exceptionally(failure -> {
                            log.debug("The description of this instance could not be written", failure);
                            return null;
                        }),
                0,
                DESCRIPTION_REFRESH_SECONDS,
                TimeUnit.SECONDS);
    }

    private synchronized Session session() {
        if (session == null) {
            throw new IllegalStateException("This RedisLockStore is not open: build a LockTemplate with it");
        }
        return session;
    }

    private record Session(
            RedisDriver driver,
            ScheduledThreadPoolExecutor timer,
            StoreTimes times,
            CompletableFuture<Long> prepared) {}

    /**
     * Key prefix and times. A time that is not set (null) follows from the template's lease time.
     *
     * @param keyPrefix with which all keys and channels begin, before a colon; {@code lockkeeper} unless set
     * @param commandTimeout within which Redis must answer, at most a third of the lease; null: 2 s, or that third
     * @param grantTime how long a granted waiter holds the lock before it must have renewed it; null: 3 s, or half the
     *     lease
     * @param pollInterval how often a waiter asks again; null: 5 s, or half the lease
     * @param tombstoneTime how long a free lock is remembered, not shorter than the command timeout; 30 s unless set
     */
    public record Options(
            String keyPrefix,
            @Nullable Duration commandTimeout,
            @Nullable Duration grantTime,
            @Nullable Duration pollInterval,
            Duration tombstoneTime) {

        /** Checks what can be checked without the lease time. */
        public Options {
            if (keyPrefix.isBlank()) {
                throw new IllegalArgumentException("The key prefix must not be blank: choose one such as 'lockkeeper'");
            }
            requireMillis("command timeout", commandTimeout);
            requireMillis("grant time", grantTime);
            requireMillis("poll interval", pollInterval);
            requireMillis("tombstone time", tombstoneTime);
        }

        /** Returns options with nothing set. */
        public static Options defaults() {
            return new Options("lockkeeper", null, null, null, Duration.ofSeconds(30));
        }

        /** Returns these options with another key prefix. */
        public Options withKeyPrefix(String prefix) {
            return new Options(prefix, commandTimeout, grantTime, pollInterval, tombstoneTime);
        }

        /** Returns these options with another command timeout. */
        public Options withCommandTimeout(Duration time) {
            return new Options(keyPrefix, time, grantTime, pollInterval, tombstoneTime);
        }

        /** Returns these options with another grant time. */
        public Options withGrantTime(Duration time) {
            return new Options(keyPrefix, commandTimeout, time, pollInterval, tombstoneTime);
        }

        /** Returns these options with another poll interval. */
        public Options withPollInterval(Duration time) {
            return new Options(keyPrefix, commandTimeout, grantTime, time, tombstoneTime);
        }

        /** Returns these options with another tombstone time. */
        public Options withTombstoneTime(Duration time) {
            return new Options(keyPrefix, commandTimeout, grantTime, pollInterval, time);
        }

        StoreTimes times(Duration leaseTime) {
            StoreTimes times = new StoreTimes(
                    commandTimeout == null ? min(Duration.ofSeconds(2), leaseTime.dividedBy(3)) : commandTimeout,
                    pollInterval == null ? min(Duration.ofSeconds(5), leaseTime.dividedBy(2)) : pollInterval,
                    grantTime == null ? min(Duration.ofSeconds(3), leaseTime.dividedBy(2)) : grantTime);
            atMost("command timeout", times.commandTimeout(), "a third of the lease time", leaseTime.dividedBy(3));
            atMost("poll interval", times.pollInterval(), "the lease time", leaseTime);
            atMost("grant time", times.grantTime(), "the lease time", leaseTime);
            atMost("command timeout", times.commandTimeout(), "the tombstone time", tombstoneTime);
            if (times.grantTime().compareTo(Duration.ofMillis(300)) < 0) {
                throw new IllegalArgumentException(
                        "The grant time must be 300 ms or more, but is " + times.grantTime());
            }
            return times;
        }

        private static void atMost(String what, Duration time, String limitName, Duration limit) {
            if (time.compareTo(limit) > 0) {
                throw new IllegalArgumentException(
                        "The " + what + " must be at most " + limitName + ", which is " + limit + ", but is " + time);
            }
        }

        private static void requireMillis(String what, @Nullable Duration time) {
            if (time != null && time.toMillis() < 1) {
                throw new IllegalArgumentException("The " + what + " must be 1 ms or more, but is " + time);
            }
        }

        private static Duration min(Duration a, Duration b) {
            return a.compareTo(b) < 0 ? a : b;
        }
    }
}
