/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.redis.RedisLockStore.Options;
import io.lockkeeper.store.CommandNotExecutedException;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreNotReadyException;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** What an open store works with: its commands, the server's clock, and the description of this instance. */
final class RedisSession {

    private static final Logger log = LoggerFactory.getLogger(RedisLockStore.class);
    private static final long LONGEST_EXAMINATION_MILLIS = 500;
    private static final long NEVER = -1;

    /** So long closing waits for a server at which the last script failed. */
    private static final Duration LAST_WORD = Duration.ofMillis(100);

    /** An estimate of the server's clock may be behind by the command timeout divided by this, and no more. */
    private static final long LARGEST_ERROR = 8;

    private static final String LOST_HANDSHAKE = "RedisHandshakeHandler not registered";
    private static final Duration DESCRIPTION_LIFE = Duration.ofSeconds(60);
    private static final long DESCRIPTION_REFRESH_SECONDS = 20;

    private static final long FIRST_SIGN_SECONDS = 10;
    private static final long SIGN_SECONDS = 4;

    /** A sign of life may be lost, and the next one come late; then the connection is given up. */
    private static final Duration LONGEST_SILENCE = Duration.ofSeconds(12);

    private final String clientId;
    final StoreTraits traits;
    final RedisNames names;
    private final Clients.Endpoint endpoint;
    final LockScripts scripts;
    final SlotGroups slots = new SlotGroups(this);
    private final @Nullable RestartGuard guard;
    private final ServerClock.All clocks = new ServerClock.All();
    private final ScheduledThreadPoolExecutor timer =
            new ScheduledThreadPoolExecutor(1, DaemonThreads.factory("lockkeeper-redis-timer"));
    final RedisCommands commands;
    final GrantSubscription subscription;
    private final ServerChecks checks;
    private CompletableFuture<Long> prepared;
    private CompletableFuture<?> described = CompletableFuture.completedFuture(null);
    private boolean closed;

    /** Whether the last script to end failed. */
    private volatile boolean silent;

    RedisSession(
            RedisConnectionFactory connections,
            Options options,
            Clients.Endpoint endpoint,
            String clientId,
            Duration leaseTime,
            StoreListener listener) {
        this.clientId = clientId;
        this.traits = options.traits(leaseTime);
        this.names = new RedisNames(options.keyPrefix());
        this.endpoint = endpoint;
        this.scripts = LockScripts.of(
                leaseTime.toMillis(),
                options.tombstoneTime().toMillis(),
                traits.aliveMillis(),
                traits.grantTime().toMillis(),
                names.channelPrefix());
        // Redis tells whole seconds, and may have been started at the end of one.
        this.guard = options.restartGuard() ? new RestartGuard(leaseTime.plusSeconds(2), System::nanoTime) : null;
        timer.setRemoveOnCancelPolicy(true);
        this.commands = new RedisCommands(connections, traits.commandTimeout(), timer, options.acks());
        this.subscription = new GrantSubscription(
                commands.clients, names, clientId, listener, commands.clocks::differenceMillis, LONGEST_SILENCE);
        this.checks = new ServerChecks(commands, names, clientId, options.acks().isWanted(), InstantSource.system());
        this.prepared = prepare();
    }

    /** Listens to the grants of this client, describes it, and waits a moment for the first connection. */
    void start(StoredInstance instance) {
        subscription.start();
        byte[] description = RedisNames.bytes(InstanceDescription.toJson(instance));
        each(0, DESCRIPTION_REFRESH_SECONDS, () -> describe(description));
        each(FIRST_SIGN_SECONDS, SIGN_SECONDS, () -> commands.publish(names.channel(clientId), GrantSubscription.SIGN));
        awaitWarmConnection();
    }

    /** Runs a task periodically: an error, such as a missing thread, costs one run only. */
    private void each(long firstSeconds, long seconds, Runnable task) {
        Runnable one = () -> {
            try {
                task.run();
            } catch (Throwable failure) {
                log.debug("A sign of life could not be sent", failure);
            }
        };
        timer.scheduleWithFixedDelay(one, firstSeconds, seconds, TimeUnit.SECONDS);
    }

    /** The first lock should find a warm connection; but an application starts without Redis, too. */
    private void awaitWarmConnection() {
        try {
            long timeout = traits.commandTimeout().toMillis();
            if (DaemonThreads.join(preparation().copy().completeOnTimeout(NEVER, timeout, TimeUnit.MILLISECONDS))
                    == NEVER) {
                log.warn("Redis does not answer yet, and {} until it does. {}", refusal(), endpoint.advice());
            } else {
                // What is said of the servers should come before the application's lines, and not while others count
                // requests; but the examination may go on in the background.
                DaemonThreads.join(checks.examine()
                        .copy()
                        .completeOnTimeout(null, LONGEST_EXAMINATION_MILLIS, TimeUnit.MILLISECONDS));
            }
        } catch (CompletionException failure) {
            log.warn(
                    "Redis cannot be used, and {} until it can: {}. {}",
                    refusal(),
                    Failures.rootMessage(failure),
                    advice(failure));
        }
    }

    private String refusal() {
        return guard == null ? "locks are refused" : "gives no vote for locks";
    }

    /**
     * Runs a script over locks of one slot. It is sent again if the server refused it as too late only because of a
     * wrong estimate of its clock (the reply has the right time), and if the script has more places of dead waiters to
     * remove. All of that takes one command timeout at most.
     *
     * @param argv makes the arguments from the server's time
     * @param waitNanos how long this thread waits; what is sent again goes over other threads
     */
    CompletableFuture<ScriptReply> eval(
            LuaScript script, List<String> lockNames, LongFunction<List<byte[]>> argv, long waitNanos) {
        long endNanos = System.nanoTime() + traits.commandTimeout().toNanos();
        return once(script, lockNames, argv, waitNanos).thenCompose(first -> {
            if (isLast(first)) {
                return CompletableFuture.completedFuture(first);
            }
            CompletableFuture<ScriptReply> last = new CompletableFuture<>();
            Duration left = Duration.ofNanos(endNanos - System.nanoTime());
            if (left.isNegative()) {
                last.completeExceptionally(
                        new StoreException("Redis is so slow that commands reach it after the command timeout", null));
            } else {
                // The timer ends this: a thread that waits has a time for each command.
                Failures.after(left, timer, last, script.name());
                sendUntil(last, () -> once(script, lockNames, argv, 0));
            }
            return first.leavesMore() ? last.thenApply(done -> first) : last;
        });
    }

    private CompletableFuture<ScriptReply> once(
            LuaScript script, List<String> lockNames, LongFunction<List<byte[]>> argv, long waitNanos) {
        List<byte[]> keys = lockNames.stream().map(names::lock).toList();
        String server = commands.topology.serverOf(keys.get(0));
        long sent = clocks.micros(server);
        long begin = System.nanoTime();
        return commands.eval(script, keys, argv.apply(sent), waitNanos).handle((raw, failure) -> {
            if (silent != (failure != null)) {
                silent = failure != null;
            }
            if (failure != null) {
                Throwable told = Failures.isOfRight(failure) ? Failures.advised(failure, advice(failure)) : failure;
                throw told instanceof CompletionException known ? known : new CompletionException(told);
            }
            long passed = TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - begin);
            ScriptReply reply = new ScriptReply(raw, server, sent, passed);
            clocks.of(server).told(reply.serverMicros());
            reply.refuseForeign();
            return reply;
        });
    }

    /** A loop, because a recursion would use up the stack where replies are there at once. */
    private void sendUntil(CompletableFuture<ScriptReply> answer, Supplier<CompletableFuture<ScriptReply>> send) {
        while (!answer.isDone()) {
            CompletableFuture<?> taken = send.get()
                    .handle((reply, failure) -> failure != null
                            // The command before it may have taken something.
                            ? answer.completeExceptionally(Failures.inDoubt(failure))
                            : isLast(reply) && answer.complete(reply));
            if (!taken.isDone()) {
                taken.thenRun(() -> sendUntil(answer, send));
                return;
            }
        }
    }

    private boolean isLast(ScriptReply reply) {
        boolean late = reply.is("LATE") && isTooEarly(reply);
        // Refused because it was not known yet that the server's run is old enough.
        boolean old =
                guard != null && reply.is("YOUNG") && guard.saw(reply.server, reply.runId(), reply.uptimeSeconds());
        return !reply.is("AGAIN") && !reply.leavesMore() && !late && !old;
    }

    /**
     * Returns whether a command was refused for its time alone: it took too long, or the estimate of the server's clock
     * was far behind. False: others have had the lock since it was sent.
     */
    private boolean isTooEarly(ScriptReply reply) {
        long timeout = traits.commandTimeout().toMillis();
        long behindMicros = reply.serverMicros() - reply.sentMicros - reply.passedMicros;
        return reply.serverMicros() / 1_000 > reply.sentMicros / 1_000 + timeout
                || behindMicros / 1_000 > timeout / LARGEST_ERROR;
    }

    /** Returns the clock of the server of a lock, in ms; never ahead of it. */
    long serverMillis(String lockName) {
        return TimeUnit.MICROSECONDS.toMillis(clocks.micros(commands.topology.serverOf(names.lock(lockName))));
    }

    /** Returns the run ids of all servers. Fails before the first one has answered, and where none tells its id. */
    CompletableFuture<Set<String>> serverIds() {
        if (!clocks.first().isKnown()) {
            return CompletableFuture.failedFuture(notReady(null));
        }
        return commands.info().thenApply(servers -> {
            Set<String> ids = servers.values().stream()
                    .flatMap(info -> Stream.ofNullable(info.getProperty("run_id")))
                    .collect(Collectors.toSet());
            if (ids.isEmpty()) {
                throw new StoreException(
                        "the server has not told its run id, by which the masters of a quorum are told apart: permit"
                                + " its Redis user to run INFO (ACL +info)",
                        null);
            }
            return ids;
        });
    }

    /** Returns the run id that the server of a lock must have to give it; 0: any. */
    String runOf(List<String> lockNames) {
        return guard == null ? "0" : guard.oldRun(commands.topology.serverOf(names.lock(lockNames.get(0))));
    }

    /**
     * The server's clock must be known before a lock is taken: it bounds how late a command may run. Until then a
     * command fails as not sent, and a caller who waits may repeat it.
     */
    <T> CompletableFuture<T> afterPreparation(long waitNanos, LongFunction<CompletableFuture<T>> command) {
        if (clocks.first().isKnown()) {
            return command.apply(waitNanos);
        }
        return preparation()
                .copy()
                .completeOnTimeout(NEVER, traits.commandTimeout().toMillis(), TimeUnit.MILLISECONDS)
                .exceptionallyCompose(failure -> CompletableFuture.failedFuture(
                        Failures.isSilence(failure) ? notReady(failure) : unusable(failure)))
                .thenCompose(time -> time == NEVER ? CompletableFuture.failedFuture(notReady(null)) : command.apply(0));
    }

    private StoreException notReady(@Nullable Throwable cause) {
        return new StoreNotReadyException(
                "Redis has not answered since the application started. " + endpoint.advice(), cause);
    }

    private StoreException unusable(Throwable failure) {
        return new CommandNotExecutedException(
                "Redis cannot be used: " + Failures.rootMessage(failure) + ". " + advice(failure), failure);
    }

    private String advice(Throwable failure) {
        if (Failures.isOfRight(failure)) {
            return "Give its user all rights that are needed: " + names.rights();
        }
        if (Failures.says(failure, "DB index")) {
            return "Set " + endpoint.ofDatabase() + " for " + endpoint.address();
        }
        return Failures.isOfPassword(failure)
                ? "Set " + endpoint.ofUser() + " for " + endpoint.address()
                : endpoint.advice();
    }

    /** Returns the preparation under way, or the one that succeeded; one that failed is followed by another. */
    private synchronized CompletableFuture<Long> preparation() {
        if (prepared.isCompletedExceptionally()) {
            prepared = prepare();
        }
        return prepared;
    }

    private CompletableFuture<Long> prepare() {
        CompletableFuture<Long> first = commands.prepare(scripts.all());
        // Lettuce does not know why a server refused it where the connection ended before its own handler was asked.
        CompletableFuture<Long> told = first.exceptionallyCompose(
                failure -> Failures.says(failure, LOST_HANDSHAKE) ? commands.prepare(scripts.all()) : first);
        return told.thenApply(time -> {
            clocks.first().told(TimeUnit.MILLISECONDS.toMicros(time));
            checks.examine();
            return time;
        });
    }

    private synchronized void describe(byte[] description) {
        if (closed) {
            return;
        }
        commands.keepAlive();
        if (guard != null) {
            // A restart must be seen although no lock is asked for: the time of the new run counts from here.
            commands.info().thenAccept(guard::saw);
        }
        described = commands.set(names.instance(clientId), description, DESCRIPTION_LIFE)
                .exceptionally(failure -> {
                    log.debug("The description of this instance could not be written", failure);
                    return null;
                });
    }

    void close() {
        CompletableFuture<?> last;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            last = described;
        }
        Duration patience = silent ? LAST_WORD : traits.commandTimeout();
        // Commands may overtake each other: a description that is being written must not come after its end.
        CompletableFuture<?> deleted = last.thenCompose(done -> commands.delete(names.instance(clientId)))
                .handle((done, gone) -> null)
                .completeOnTimeout(null, patience.toNanos(), TimeUnit.NANOSECONDS);
        subscription.close(patience);
        DaemonThreads.join(deleted);
        commands.close();
        // What is still under way ends with its time: the timer stops behind the last of it.
        timer.shutdown();
    }
}
