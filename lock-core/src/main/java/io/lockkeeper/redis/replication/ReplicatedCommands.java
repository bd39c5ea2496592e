/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.replication;

import io.lockkeeper.redis.Failures;
import io.lockkeeper.redis.LuaScript;
import io.lockkeeper.redis.RedisNames;
import io.lockkeeper.redis.ScriptRunner;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Runs scripts whose writes must be on replicas, on the master of their keys. */
public final class ReplicatedCommands implements ScriptRunner {

    /**
     * What a holder believes in. The end of a hold may be lost: it ends by itself then. But it goes the same way: while
     * one master takes the place of another, two connections may lead to different ones.
     */
    private static final Set<String> COUNTED = Set.of("acquire", "handover", "renew");

    private static final Pattern REDIRECTION = Pattern.compile("\\b(MOVED|ASK) \\d+ (\\S*:\\d+)");
    private static final String REPLICAS = LuaScript.read("replicas");
    private static final int MOST_SENDS = 8;

    private final Acks acks;
    private final Duration limit;
    private final ScheduledExecutorService timer;
    private final Function<byte[], CompletableFuture<String>> masterOf;
    private final Function<String, DedicatedConnection> connectionTo;
    private final Runnable refresh;
    private final Map<String, Master> servers = new ConcurrentHashMap<>();
    private volatile boolean closed;

    /**
     * Creates it without a connection yet.
     *
     * @param masterOf gives the name of the server that has a key
     * @param connectionTo connects to a server by its name
     * @param refresh is run where a server does not answer, or lacks replicas: another one may have its place
     */
    public ReplicatedCommands(
            Acks acks,
            Duration limit,
            ScheduledExecutorService timer,
            Function<byte[], CompletableFuture<String>> masterOf,
            Function<String, DedicatedConnection> connectionTo,
            Runnable refresh) {
        this.acks = acks;
        this.limit = limit;
        this.timer = timer;
        this.masterOf = masterOf;
        this.connectionTo = connectionTo;
        this.refresh = refresh;
    }

    @Override
    public CompletableFuture<Object> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments, long waitNanos) {
        Command command = new Command(script, ScriptRunner.words(script, keys, arguments));
        // Before the master is known: to ask for it takes time, too.
        Failures.after(limit, timer, command.result, script.name());
        masterOf.apply(keys.get(0))
                .thenAccept(server -> server(server).add(command))
                .whenComplete((added, failure) -> {
                    if (failure != null) {
                        command.fail(failure);
                    }
                });
        return command.result;
    }

    /** Uses the connection to each known master, or to that of some key if none is known. Does not block. */
    @Override
    public CompletableFuture<?> keepAlive() {
        CompletableFuture<?> known = servers.isEmpty()
                ? masterOf.apply(new byte[0]).thenAccept(this::server)
                : CompletableFuture.completedFuture(null);
        known.thenRun(() -> servers.values().forEach(Master::keepAlive));
        return CompletableFuture.completedFuture(null);
    }

    private Master server(String name) {
        return servers.computeIfAbsent(name, Master::new);
    }

    @Override
    public void retain(Set<String> masters) {
        List<Master> former = servers.values().stream()
                .filter(server -> !masters.contains(server.name))
                .toList();
        // A command that comes too late for one that is closed must not find it again.
        servers.values().removeAll(former);
        former.forEach(Master::close);
    }

    @Override
    public void close() {
        closed = true;
        servers.values().forEach(Master::close);
    }

    private static byte[][] bytes(String... words) {
        return Stream.of(words).map(RedisNames::bytes).toArray(byte[][]::new);
    }

    private static long acked(@Nullable Object reply) {
        if (reply instanceof Long count) {
            return count;
        }
        throw refused("Redis does not wait for replicas (WAIT), which replica acks need: ", reply);
    }

    private static StoreException refused(String what, @Nullable Object reply) {
        return reply instanceof Throwable refusal
                ? new StoreException(what + Failures.rootMessage(refusal), refusal)
                : new StoreException(what + reply, null);
    }

    /**
     * One connection to a master, over which commands go together with one WAIT behind them: those that come while the
     * replicas are waited for make up the next batch. So one slow replica costs each of them at most two waits.
     */
    private final class Master {

        private final String name;
        private final DedicatedConnection connection;
        private final Queue<Command> waiting = new ConcurrentLinkedQueue<>();
        private final ExecutorService thread;

        /** The master's replication id, which changes with each new master. */
        private String history = "";

        /** How many replicas must have a write: the most that were online at once under this id, gone ones included. */
        private int wanted = acks.least();

        Master(String name) {
            this.name = name;
            this.connection = connectionTo.apply(name);
            this.thread = DaemonThreads.limited(("lockkeeper-redis-acks " + name).strip(), 1);
        }

        void add(Command command) {
            waiting.add(command);
            try {
                thread.execute(this::work);
            } catch (RejectedExecutionException refusal) {
                if (closed) {
                    command.fail(Failures.closed());
                } else {
                    // It was no master meanwhile, and may be one again.
                    server(name).add(command);
                }
            }
        }

        void keepAlive() {
            thread.execute(() -> {
                try {
                    connect();
                    connection.exchange(List.<byte[][]>of(bytes("TIME")));
                } catch (RuntimeException failure) {
                    leave();
                }
            });
        }

        private void connect() {
            // One that is made after the end, to a master that was not known before, would stay.
            if (closed) {
                throw Failures.closed();
            }
            connection.connect();
        }

        private void work() {
            List<Command> batch = new ArrayList<>();
            for (Command next = waiting.poll(); next != null; next = waiting.poll()) {
                if (!next.result.isDone()) {
                    batch.add(next);
                }
            }
            if (batch.isEmpty()) {
                return;
            }
            boolean connected = false;
            try {
                connect();
                connected = true;
                run(batch);
            } catch (RuntimeException | Error failure) {
                connectionFailed(batch, failure, connected);
            }
        }

        /** Sends commands again, of which a first copy may have run on some server. */
        private void connectionFailed(List<Command> batch, Throwable failure, boolean mayHaveRun) {
            leave();
            if (Failures.isOfPassword(failure)) {
                // The next factory has the password of now.
                connection.close();
            }
            for (Command command : batch) {
                command.mayHaveRun |= mayHaveRun;
                if (failure instanceof StoreException || command.retried) {
                    command.fail(command.mayHaveRun ? failure : Failures.notExecuted(command.script.name(), failure));
                } else if (command.maySend(failure)) {
                    // The connection may have been lost long before. A script that ran already does no harm a second
                    // time.
                    command.retried = true;
                    add(command);
                }
            }
        }

        /** Looks up the master again, which may be another server now. */
        private void leave() {
            connection.disconnect();
            refresh.run();
        }

        private void run(List<Command> batch) {
            int awaited = batch.stream().anyMatch(command -> command.counts) ? wanted : 0;
            List<? extends @Nullable Object> replies = send(batch, awaited);
            Map<Command, Object> written = takeReplies(batch, replies);
            if (written.isEmpty()) {
                return;
            }
            if (acks.all()) {
                count(replies.get(replies.size() - 2));
            }
            long count = acked(replies.get(replies.size() - 1));
            if (count < wanted && awaited < wanted) {
                count = acked(
                        connection.exchange(List.<byte[][]>of(waitFor(wanted))).get(0));
            }
            if (count >= wanted) {
                written.forEach((command, reply) -> command.result.complete(reply));
            } else {
                leave();
                StoreException few = new StoreException(
                        "only " + count + " of " + wanted + " replicas had the lock within "
                                + acks.timeout().toMillis() + " ms",
                        null);
                written.keySet().forEach(command -> command.fail(few));
            }
        }

        private List<? extends @Nullable Object> send(List<Command> batch, int awaited) {
            List<byte[][]> requests = new ArrayList<>();
            for (Command command : batch) {
                if (command.asking) {
                    requests.add(bytes("ASKING"));
                }
                requests.add(command.words);
            }
            if (awaited > 0) {
                if (acks.all()) {
                    requests.add(bytes("EVAL", REPLICAS, "0"));
                }
                requests.add(waitFor(awaited));
            }
            return connection.exchange(requests);
        }

        private byte[][] waitFor(int count) {
            return bytes("WAIT", "" + count, "" + acks.timeout().toMillis());
        }

        /** Answers the commands that need no replicas, and returns the replies to the others. */
        private Map<Command, Object> takeReplies(List<Command> batch, List<? extends @Nullable Object> replies) {
            int position = 0;
            Map<Command, Object> written = new LinkedHashMap<>();
            for (Command command : batch) {
                position += command.asking ? 1 : 0;
                @Nullable Object reply = replies.get(position++);
                if (reply instanceof Throwable refusal) {
                    refused(command, refusal);
                } else if (command.mayHaveRun && Failures.isNotHeld(reply)) {
                    command.fail(Failures.mayHaveRunBefore());
                } else if (command.counts && reply != null) {
                    written.put(command, reply);
                } else {
                    command.result.complete(reply);
                }
            }
            return written;
        }

        /** Handles a refusal before execution: sends the command again if that can help. */
        private void refused(Command command, Throwable refusal) {
            Matcher redirection = REDIRECTION.matcher(Failures.rootMessage(refusal));
            if (Failures.isOfReplica(refusal) || Failures.isOfPassword(refusal)) {
                // It was the master once, or the connection was made without a password.
                connectionFailed(List.of(command), refusal, false);
            } else if (Failures.says(refusal, "NOSCRIPT")) {
                command.words = ScriptRunner.toText(command.script, command.words);
                if (command.maySend(refusal)) {
                    add(command);
                }
            } else if (redirection.find()) {
                command.asking = redirection.group(1).equals("ASK");
                if (command.maySend(refusal)) {
                    server(target(redirection.group(2))).add(command);
                }
                if (!command.asking) {
                    refresh.run();
                }
            } else {
                refresh.run();
                command.fail(refusal);
            }
        }

        /** Returns the server of a redirection; without a host it is on the host of this one. */
        private String target(String told) {
            int colon = told.lastIndexOf(':');
            String host = told.substring(0, colon);
            boolean same = host.isEmpty() || host.equals("?");
            return same ? name.substring(0, name.lastIndexOf(':')) + told.substring(colon) : told;
        }

        private void count(@Nullable Object reply) {
            if (!(reply instanceof byte[] text)) {
                throw ReplicatedCommands.refused(
                        "Redis does not tell how many replicas it has: permit its user to run INFO (ACL +info), or set"
                                + " replica acks to a number. ",
                        reply);
            }
            String[] told = new String(text, StandardCharsets.US_ASCII).split(" ", -1);
            int online = Math.max(acks.least(), Integer.parseInt(told[1]));
            wanted = told[0].equals(history) ? Math.max(wanted, online) : online;
            history = told[0];
        }

        void close() {
            thread.execute(connection::close);
            thread.shutdown();
        }
    }

    /** A script that runs on a master; most count only when replicas have their writes. */
    private static final class Command {

        final CompletableFuture<Object> result = new CompletableFuture<>();
        final LuaScript script;

        /** Whether it counts only when replicas have its writes. */
        final boolean counts;

        /** The command: with the script's hash, or with its text after a server did not know the hash. */
        byte[][] words;

        /** Whether the slot of the keys is moving to the server, which needs ASKING. */
        boolean asking;

        /** Whether to try a new connection once: the lost one may have been dead before the command was sent. */
        boolean retried;

        /** Whether it was sent before without an answer, so that it may have run. */
        boolean mayHaveRun;

        private int sends;

        Command(LuaScript script, byte[][] words) {
            this.script = script;
            this.words = words;
            this.counts = COUNTED.contains(script.name());
        }

        /** Returns whether the command may be sent again; if not, fails it. */
        boolean maySend(Throwable reason) {
            sends++;
            if (sends > MOST_SENDS) {
                fail(reason);
            }
            return !result.isDone();
        }

        void fail(Throwable failure) {
            result.completeExceptionally(Failures.at(script.name(), failure));
        }
    }

    /** How many replicas must have a hold before it counts. */
    public record Acks(int least, boolean all, Duration timeout) {

        private static final int MOST_DIGITS = 4;

        /** Reads a number, or the word all. */
        public static Acks of(String acks, Duration timeout) {
            String wanted = acks.strip().toLowerCase(Locale.ROOT);
            if (wanted.equals("all")) {
                // A master whose replicas are all gone still needs one: it may have been cut off.
                return new Acks(1, true, timeout);
            }
            if (!wanted.matches("\\d{1," + MOST_DIGITS + "}")) {
                throw new IllegalArgumentException(
                        "The replica acks must be a number of replicas or 'all', but are '" + acks + "'");
            }
            return new Acks(Integer.parseInt(wanted), false, timeout);
        }

        /** Returns whether anything must be waited for. */
        public boolean isWanted() {
            return least > 0;
        }
    }

    /**
     * A connection to one server, used by one thread at a time. What is sent over it runs in this order, and is never
     * sent again by the client. So an answer to WAIT is about the commands before it, which it would not be on another
     * connection: that has written nothing, and waits for nothing.
     */
    public abstract static class DedicatedConnection {

        private final Supplier<? extends RedisConnectionFactory> factories;
        private @Nullable RedisConnectionFactory factory;
        private @Nullable RedisConnection open;

        /** Creates it without a connection yet, of a factory that has no other user. */
        protected DedicatedConnection(Supplier<? extends RedisConnectionFactory> factories) {
            this.factories = factories;
        }

        /**
         * Sends EVALSHA, EVAL, WAIT, ASKING and TIME together, in this order, and waits for all replies; one may be the
         * exception of a command that was refused. Throws where the connection failed: nothing is known of the commands
         * then.
         */
        protected abstract List<? extends @Nullable Object> exchange(
                RedisConnection connection, List<byte[][]> commands);

        /** Closes a connection for good: it may lead to a former master, and no pool may reuse it. */
        protected void end(RedisConnection connection) {
            connection.close();
        }

        /** Returns whether a connection is not known to be lost. */
        protected boolean isAlive(RedisConnection connection) {
            return true;
        }

        /** Connects if there is no connection. */
        final void connect() {
            if (open != null && !isAlive(open)) {
                disconnect();
            }
            factory = factory == null ? factories.get() : factory;
            if (open == null) {
                open = factory.getConnection();
                // Before this, Lettuce has not connected.
                open.getNativeConnection();
            }
        }

        /** Sends commands over the present connection; never over a new one, on which a WAIT would count no writes. */
        final List<? extends @Nullable Object> exchange(List<byte[][]> commands) {
            RedisConnection connection = open;
            if (connection == null) {
                throw new IllegalStateException("The connection was left meanwhile");
            }
            return exchange(connection, commands);
        }

        /** Ends the connection; the next command makes another one. */
        final void disconnect() {
            RedisConnection connection = open;
            open = null;
            if (connection != null) {
                try {
                    end(connection);
                } catch (RuntimeException ignored) {
                    // It is as good as closed.
                }
            }
        }

        final void close() {
            disconnect();
            try {
                if (factory instanceof DisposableBean made) {
                    made.destroy();
                }
            } catch (Exception ignored) {
                // It is as good as closed.
            }
            factory = null;
        }
    }
}
