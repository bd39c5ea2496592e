/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.lettuce;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisAdvancedClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.ValueOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lockkeeper.redis.Failures;
import io.lockkeeper.redis.LuaScript;
import io.lockkeeper.redis.ScriptRunner;
import io.lockkeeper.store.StoreException;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * Runs scripts over the application's shared connection of Lettuce itself, where no thread waits for the answer.
 * Whenever that connection fails, the next script goes over spring-data-redis, on a thread that may wait until there is
 * a connection again.
 */
public final class LettuceScripts implements ScriptRunner {

    private static final long LEAST_STAY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** How often, and how soon, a script is sent again after its connection ended; a reconnect takes about 70 ms. */
    private static final int MOST_RESETS = 20;

    private static final long RESEND_MILLIS = 10;

    private final LettuceConnectionFactory factory;
    private final boolean plain;
    private final boolean shares;
    private final Duration limit;
    private final ScheduledExecutorService timer;
    private final ScriptRunner general;
    private final Set<Call> underWay = ConcurrentHashMap.newKeySet();

    /** Whether the check of the scripts under way is scheduled. */
    private final AtomicBoolean looks = new AtomicBoolean();

    /** The shared connection; null where it is not known to work. */
    private volatile @Nullable SharedConnection shared;

    /** The number of lost connections, after each of which Lettuce resends unanswered commands. */
    private final AtomicLong losses = new AtomicLong();

    /** When a connection was last closed because of {@link #leave}, on the monotonic clock. */
    private final AtomicLong leftNanos = new AtomicLong(System.nanoTime() - LEAST_STAY_NANOS);

    private final RedisConnectionStateListener listener = new RedisConnectionStateListener() {
        @Override
        public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
            // One that its user has closed sends nothing again.
            if (!connection.isClosed()) {
                losses.incrementAndGet();
            }
        }
    };

    /** The client that reports lost connections, the only source for those to cluster nodes. */
    private @Nullable AbstractRedisClient client;

    /** The latest connection from a subclass of the factory, which reports its own loss. */
    private @Nullable StatefulConnection<?, ?> foreign;

    private volatile boolean closed;

    /** Creates it without a connection yet; of a plain factory it uses the shared connection, if there is one. */
    public LettuceScripts(
            LettuceConnectionFactory factory,
            boolean plain,
            Duration limit,
            ScheduledExecutorService timer,
            ScriptRunner general) {
        this.factory = factory;
        this.plain = plain;
        this.shares = plain && factory.getShareNativeConnection();
        this.limit = limit;
        this.timer = timer;
        this.general = general;
    }

    @Override
    public CompletableFuture<Object> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments, long waitNanos) {
        SharedConnection open = shared;
        if (open == null || !open.isOpen()) {
            shared = null;
            return general.eval(script, keys, arguments, waitNanos);
        }
        Call call = new Call(open, script, keys, arguments);
        underWay.add(call);
        if (closed) {
            call.end(null, Failures.closed());
        } else {
            armLook();
            call.send(CommandType.EVALSHA, script.sha1());
        }
        return call;
    }

    /** Schedules one look for all scripts: a timer for each would wake its thread for every command. */
    private void armLook() {
        if (!looks.get() && looks.compareAndSet(false, true)) {
            lookAfter(limit.toNanos());
        }
    }

    private void lookAfter(long nanos) {
        boolean comes = false;
        try {
            timer.schedule(this::look, nanos, TimeUnit.NANOSECONDS);
            comes = true;
        } finally {
            if (!comes) {
                looks.set(false);
            }
        }
    }

    /** Fails overdue scripts, and looks again when the next one may be overdue. */
    private void look() {
        long next = limit.toNanos();
        try {
            long now = System.nanoTime();
            for (Call call : underWay) {
                long left = call.endNanos - now;
                if (left > 0) {
                    next = Math.min(next, left);
                } else {
                    call.end(null, Failures.silence(call.script.name(), limit));
                }
            }
        } finally {
            if (underWay.isEmpty()) {
                looks.set(false);
                if (!underWay.isEmpty()) {
                    armLook();
                }
            } else {
                lookAfter(next);
            }
        }
    }

    /**
     * Has Redis close a connection to a former master, so that Lettuce reconnects to what has its address now. Not
     * repeated at once: the application uses the connection, too, and the address may move later. Returns whether this
     * connection will end.
     */
    private boolean leave(SharedConnection left) {
        long now = System.nanoTime();
        long last = leftNanos.get();
        boolean isDue = !shares || (now - last >= LEAST_STAY_NANOS && leftNanos.compareAndSet(last, now));
        boolean ends = isDue && left.isRestored();
        if (ends) {
            left.quit();
        }
        return ends;
    }

    @Override
    public void leave(RedisConnection connection) {
        SharedConnection used = of(connection);
        if (used != null) {
            leave(used);
        }
    }

    @SuppressWarnings("unchecked") // What Lettuce is given and gives are byte arrays.
    private static @Nullable SharedConnection of(RedisConnection connection) {
        var used = (StatefulConnection<byte[], byte[]>) connectionOf(connection.getNativeConnection());
        return used == null ? null : new SharedConnection(used);
    }

    @SuppressWarnings("deprecation") // Spring Data gives nothing else that knows it.
    static @Nullable StatefulConnection<?, ?> connectionOf(@Nullable Object commands) {
        return commands instanceof RedisAdvancedClusterAsyncCommands<?, ?> cluster
                ? cluster.getStatefulConnection()
                : commands instanceof RedisAsyncCommands<?, ?> single ? single.getStatefulConnection() : null;
    }

    @Override
    public void used(RedisConnection connection) {
        if (shares && shared == null && !closed) {
            losses(connection);
            shared = of(connection);
        }
        if (closed) {
            shared = null;
        }
    }

    @Override
    public Object losses(RedisConnection connection) {
        // A subclass may give connections of another client, and never be started itself.
        StatefulConnection<?, ?> other = plain ? null : connectionOf(connection.getNativeConnection());
        synchronized (this) {
            if (other != null && other != foreign && !closed) {
                other.addListener(listener);
                foreign = other;
            }
            AbstractRedisClient present = factory.isRunning() ? factory.getNativeClient() : null;
            if (present != null && present != client && !closed) {
                present.addListener(listener);
                client = present;
            }
        }
        return losses.get();
    }

    @Override
    public synchronized void close() {
        closed = true;
        shared = null;
        AbstractRedisClient told = client;
        if (told != null) {
            told.removeListener(listener);
        }
        StatefulConnection<?, ?> other = foreign;
        if (other != null) {
            other.removeListener(listener);
        }
        underWay.forEach(call -> call.end(null, Failures.closed()));
    }

    /** A script under way, until its reply arrives or its time is over. */
    private final class Call extends CompletableFuture<Object> {

        private final SharedConnection open;
        private final LuaScript script;
        private final List<byte[]> keys;
        private final List<byte[]> arguments;
        private long lossesBefore;
        private final long endNanos = System.nanoTime() + limit.toNanos();
        private volatile @Nullable AsyncCommand<byte[], byte[], byte[]> command;
        private boolean wasRefused;
        private int resets;
        private boolean ends;
        private int waits;

        /** Whether a connection was lost since it was sent, so that an unanswered copy may have run. */
        private boolean mayHaveRun;

        Call(SharedConnection open, LuaScript script, List<byte[]> keys, List<byte[]> arguments) {
            this.open = open;
            this.script = script;
            this.keys = keys;
            this.arguments = arguments;
        }

        /** Sends the script's hash, or its text. */
        void send(CommandType type, String hashOrText) {
            if (resets == 0 && !mayHaveRun) {
                // A copy that was refused has not run; one that met the end of its connection may have.
                lossesBefore = losses.get();
            }
            CommandArgs<byte[], byte[]> words = new CommandArgs<>(ByteArrayCodec.INSTANCE)
                    .add(hashOrText)
                    .add(keys.size())
                    .addKeys(keys);
            arguments.forEach(words::add);
            var sent = new AsyncCommand<>(new Command<>(type, new ValueOutput<>(ByteArrayCodec.INSTANCE), words));
            command = sent;
            sent.handle(this::answered);
            open.send(sent);
            if (!underWay.contains(this)) {
                // It ended meanwhile, perhaps before there was this command to take back.
                sent.cancel(true);
            }
        }

        private boolean answered(byte @Nullable [] reply, @Nullable Throwable failure) {
            if (failure == null) {
                open.answered();
            }
            mayHaveRun |= losses.get() != lossesBefore;
            if (Failures.says(failure, "NOSCRIPT")) {
                // Refused before it ran, so it is safe to send again.
                send(CommandType.EVAL, script.source());
                return false;
            }
            if (goesOn(failure)) {
                sendLater();
                return false;
            }
            if (failure != null) {
                boolean refused = Failures.isOfReplica(failure) && !mayHaveRun && resets == 0;
                return end(
                        null,
                        refused ? Failures.notExecuted(script.name(), failure) : Failures.at(script.name(), failure));
            }
            boolean unknown = Failures.isNotHeld(reply) && mayHaveRun;
            return unknown ? end(null, Failures.mayHaveRunBefore()) : end(reply, null);
        }

        /** Returns whether it is sent again, over a new connection. */
        private boolean goesOn(@Nullable Throwable failure) {
            if (Failures.isOfReplica(failure)) {
                ends = leave(open);
                // Refused before it wrote anything.
                boolean first = !wasRefused;
                wasRefused = true;
                return first && open.isRestored();
            }
            // Redis resets a connection that it was asked to end where more was sent behind that. Lettuce sends again
            // what is under way then, but for the first; and fails what comes before there is another connection.
            return failure instanceof IOException && resets++ < MOST_RESETS && open.isRestored() && !closed;
        }

        /** Sends it again after a pause, so that the failed connection is closed first. */
        private void sendLater() {
            try {
                timer.schedule(this::resend, RESEND_MILLIS, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException afterClose) {
                end(null, Failures.closed());
            }
        }

        private void resend() {
            // Over by now, its caller has heard that it may have run: a copy would come late.
            if (underWay.contains(this) && ends && losses.get() == lossesBefore && waits++ < MOST_RESETS) {
                sendLater();
            } else if (underWay.contains(this)) {
                send(CommandType.EVALSHA, script.sha1());
            }
        }

        /** Completes it once. A failed connection is dropped before, since the caller may ask again at once. */
        @SuppressWarnings("NullAway") // A null reply is as good as any where it is not read.
        boolean end(byte @Nullable [] reply, @Nullable StoreException failure) {
            if (!underWay.remove(this)) {
                return false;
            }
            if (failure == null) {
                return complete(reply);
            }
            if (!(failure.getCause() instanceof RedisCommandExecutionException)) {
                shared = null;
            }
            AsyncCommand<byte[], byte[], byte[]> sent = command;
            if (sent != null) {
                // Takes it back where Lettuce still keeps it for a connection to come.
                sent.cancel(true);
            }
            return completeExceptionally(failure);
        }
    }
}
