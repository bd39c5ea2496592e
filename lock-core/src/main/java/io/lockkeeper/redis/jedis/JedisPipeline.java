/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import io.lockkeeper.redis.Failures;
import io.lockkeeper.redis.LuaScript;
import io.lockkeeper.redis.RedisNames;
import io.lockkeeper.redis.ScriptRunner;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisSocketFactory;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisSocketFactory;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.IOUtils;

/**
 * One connection to a server for all threads. A caller that finds it free leads: it writes the commands that wait,
 * reads the replies and goes; callers that come meanwhile wait, and one of them leads next. So an uncontended caller
 * does its own I/O, and concurrent callers share system calls (flat combining: Hendler, Incze, Shavit and Tzafrir, SPAA
 * 2010).
 *
 * <p>Where no caller waits a helper thread leads. It also makes the connection, which may take longer than a caller may
 * wait. After a failure the next leader sends again what had no answer. A timer ends what takes too long, and frees a
 * leader that was interrupted, by cutting the connection.
 */
final class JedisPipeline implements ScriptRunner {

    private static final Object NOTHING = new Object();
    private static final byte[] TIME = RedisNames.bytes("TIME");
    private static final int ANSWERING_THREADS = 2;
    private static final int MAX_SENDS = 3;
    private static final int LARGEST_BATCH = 128;
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long SOON_NANOS = TimeUnit.MILLISECONDS.toNanos(25);
    private static final AtomicIntegerFieldUpdater<JedisPipeline> LED =
            AtomicIntegerFieldUpdater.newUpdater(JedisPipeline.class, "led");
    private static final AtomicIntegerFieldUpdater<JedisPipeline> WATCHED =
            AtomicIntegerFieldUpdater.newUpdater(JedisPipeline.class, "watched");

    /** A caller with less time does not lead: if it left before a slow server's reply, the connection would be lost. */
    private static final long SHORTEST_LEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final Duration limit;
    private final long shortestLead;
    private final Supplier<Link> connect;
    private final ScheduledExecutorService timer;
    private final ExecutorService helper = DaemonThreads.limited("lockkeeper-redis", 1);
    private final ExecutorService answering = DaemonThreads.limited("lockkeeper-redis-answers", ANSWERING_THREADS);
    private final Queue<Command> waiting = new ConcurrentLinkedQueue<>();

    /** 1: there is a leader. A plain field, which can be written when an error has left no room for a call. */
    private volatile int led;

    /** 1: a look is scheduled. */
    private volatile int watched;

    private volatile @Nullable Link link;

    private final Reconnects reconnects;

    /** The count of useless connections when this one was made: if it has grown since, this one is useless, too. */
    private volatile int foundBefore;

    /** The batch under way. Without a leader, an error has interrupted it, and the next leader recovers it first. */
    private volatile @Nullable Batch batch;

    private volatile boolean closed;

    /** Creates a pipeline whose connection is made when it is needed. */
    JedisPipeline(Duration limit, Supplier<Link> connect, Reconnects reconnects, ScheduledExecutorService timer) {
        this.limit = limit;
        this.shortestLead = Math.min(SHORTEST_LEAD_NANOS, limit.toNanos() / 2);
        this.connect = connect;
        this.reconnects = reconnects;
        this.timer = timer;
    }

    @Override
    public CompletableFuture<Object> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments, long waitNanos) {
        return call(new Command(waitNanos, script.name(), script, ScriptRunner.words(script, keys, arguments)));
    }

    @Override
    public CompletableFuture<?> keepAlive() {
        return call(new Command(0, "time", null, TIME));
    }

    /** Returns whether a caller would lead now, given a connection. */
    boolean isFree() {
        return led == 0 && waiting.isEmpty();
    }

    /** Returns whether there is a connection, perhaps one that leads to a replica. */
    boolean isConnected() {
        return link != null;
    }

    boolean isOpen() {
        return link != null && foundBefore == reconnects.found.get();
    }

    /** Sends a command. If its caller waits, this returns with the answer, or when the caller's time is over. */
    CompletableFuture<Object> call(Command command) {
        // Asked before queueing: from then on another thread may answer the command and clear its caller.
        boolean waits = command.caller.get() != null;
        waiting.add(command);
        watch();
        if (closed) {
            refuse();
            // Another leader may have answered it, and left the completion to the caller.
            command.caller.set(null);
            command.complete();
        } else if (waits) {
            await(command);
        } else if (led == 0) {
            help();
        }
        return command.result;
    }

    private void await(Command own) {
        while (!own.isOver() && own.callerNanos() > 0 && !Thread.currentThread().isInterrupted()) {
            boolean mayLead = isOpen() && own.callerNanos() >= shortestLead;
            if (mayLead && LED.compareAndSet(this, 0, 1)) {
                lead(own);
            } else if (!mayLead && led == 0) {
                help();
            }
            if (!own.isOver()) {
                LockSupport.parkNanos(this, own.callerNanos());
            }
        }
        boolean goes = !own.isOver();
        if (!own.expire()) {
            own.caller.set(null);
        }
        if (goes) {
            // It may have been chosen as the next leader.
            handOn();
        }
        own.complete();
    }

    /** As the leader, sends the waiting commands and reads their replies; then gives up the lead. */
    private void lead(@Nullable Command own) {
        try {
            if (batch != null) {
                recover(new StoreException("an error came while Redis answered", null));
            }
            exchange(own);
        } catch (Throwable failure) {
            recover(failure);
        } finally {
            led = 0;
            handOn();
        }
    }

    private void exchange(@Nullable Command own) {
        if (!isOpen()) {
            drop();
        }
        Link open = link;
        if (open == null && own != null) {
            // The helper connects.
            return;
        }
        if (open == null) {
            open = connect();
        }
        Batch current = new Batch(own);
        batch = current;
        // At any moment each command is in the queue or in the batch, so that an error loses none.
        Iterator<Command> queue = waiting.iterator();
        while (queue.hasNext() && current.commands.size() < LARGEST_BATCH) {
            Command next = queue.next();
            if (!next.expire()) {
                current.commands.add(next);
            }
            queue.remove();
        }
        current.begun = System.nanoTime();
        // The last look may have run before the batch began, and scheduled no further one.
        watch();
        for (Command command : current.commands) {
            open.send(command.send());
        }
        readReplies(open, current);
        batch = null;
    }

    private void readReplies(Link open, Batch current) {
        boolean isOfNoUse = false;
        for (Command command = current.next(); command != null; command = current.next()) {
            Object reply = open.read();
            if (!open.hasWorked && !(reply instanceof RuntimeException)) {
                open.hasWorked = true;
                reconnects.worked();
            }
            boolean isRefused = Failures.isOfReplica(reply) || Failures.isOfPassword(reply);
            isOfNoUse |= isRefused;
            if (isRefused && command.mayGoElsewhere()) {
                waiting.add(command);
            } else {
                answered(command, reply);
            }
            // After the answer: a command that an error leaves unanswered is sent again.
            current.answered++;
        }
        if (isOfNoUse) {
            // This connection leads to a former master, or lacks the password, whatever server has the address now. So
            // do all connections of the same age.
            reconnects.found.compareAndSet(foundBefore, foundBefore + 1);
            end(open);
        }
    }

    private void answered(Command command, @Nullable Object reply) {
        if (Failures.says(reply, "NOSCRIPT") && command.toText()) {
            // Refused before it ran, so it is safe to send again.
            waiting.add(command);
        } else if (reply instanceof RuntimeException error) {
            command.fail(error);
        } else if (command.mayHaveRun && Failures.isNotHeld(reply)) {
            command.fail(Failures.mayHaveRunBefore());
        } else {
            command.answer(reply);
        }
    }

    /** Connects; if that fails, fails the waiting commands, so that they are not tried again at once. */
    private Link connect() {
        reconnects.await(() -> closed);
        try {
            int before = reconnects.found.get();
            Link made = connect.get();
            foundBefore = before;
            link = made;
            if (closed) {
                drop();
                throw Failures.closed();
            }
            return made;
        } catch (RuntimeException | Error failure) {
            reconnects.failed();
            for (Command next = waiting.poll(); next != null; next = waiting.poll()) {
                next.fail(failure);
            }
            throw failure;
        }
    }

    /** Ends the connection of a failed batch, whose next reply may belong to any command, and requeues the commands. */
    private void recover(Throwable failure) {
        Batch left = batch;
        if (left == null) {
            return;
        }
        Link open = link;
        if (open == null || left.wasAbandoned()) {
            drop();
        } else {
            end(open);
        }
        for (Command command = left.next(); command != null; command = left.next()) {
            if (left.wasAbandoned()) {
                command.notAwaited();
            }
            if (open != null && !closed && command.maySend()) {
                waiting.add(command);
            } else if (!command.expire()) {
                command.fail(closed ? Failures.closed() : failure);
            }
            left.answered++;
        }
        batch = null;
    }

    /** Ends a failed connection. The next one is made at once, unless this one has never worked. */
    private void end(Link failed) {
        drop();
        if (!failed.hasWorked) {
            reconnects.failed();
        }
    }

    private void drop() {
        Link open = link;
        link = null;
        if (open != null) {
            open.cut();
        }
    }

    /** Makes the first waiting caller the leader. */
    private void handOn() {
        Command next = waiting.peek();
        while (next != null && next.isOver()) {
            waiting.remove(next);
            next = waiting.peek();
        }
        Thread caller = next == null ? null : next.caller.get();
        if (led == 0 && caller != null && isOpen() && batch == null) {
            LockSupport.unpark(caller);
        } else if (led == 0 && (next != null || batch != null)) {
            help();
        }
    }

    private void help() {
        try {
            helper.execute(() -> {
                if ((!waiting.isEmpty() || batch != null) && LED.compareAndSet(this, 0, 1)) {
                    lead(null);
                }
            });
        } catch (RejectedExecutionException afterClose) {
            refuse();
        } catch (Error noThread) {
            // The periodic look tries again.
            watch();
        }
    }

    private void watch() {
        if (watched == 0 && WATCHED.compareAndSet(this, 0, 1)) {
            boolean scheduled = false;
            try {
                timer.schedule(this::look, LOOK_NANOS, TimeUnit.NANOSECONDS);
                scheduled = true;
            } catch (RejectedExecutionException afterClose) {
                // The timer ends after the pipeline, whose end refuses waiting commands.
            } finally {
                if (!scheduled) {
                    watched = 0;
                }
            }
        }
    }

    private void look() {
        try {
            waiting.forEach(command -> command.expire());
            Batch current = batch;
            if (current != null && current.begun != 0) {
                current.commands.forEach(command -> command.expire());
                Link open = link;
                if (current.isStuck(limit.toNanos()) && open != null && batch == current) {
                    open.cut();
                }
            }
            // The last leader may have had no room to hand the lead on.
            handOn();
        } finally {
            watched = 0;
            // A command that came meanwhile may have relied on this look.
            if (batch != null || !waiting.isEmpty()) {
                watch();
            }
        }
    }

    private void refuse() {
        for (Command next = waiting.poll(); next != null; next = waiting.poll()) {
            // A leader may be sending it at this moment.
            next.answer(Failures.closed());
            next.complete();
        }
    }

    @Override
    public void close() {
        closed = true;
        helper.shutdown();
        drop();
        refuse();
        answering.shutdown();
    }

    /**
     * A command that waits for its answer. The thread that reads the answer leaves it here; a caller that waits
     * completes the future itself, another thread does it where none waits.
     */
    final class Command {

        final CompletableFuture<Object> result = new CompletableFuture<>();
        private final String name;
        private final long deadline;

        /** When the caller goes on without the answer. */
        private final long leaves;

        private final AtomicReference<@Nullable Object> outcome = new AtomicReference<>();
        private final AtomicReference<@Nullable Thread> caller = new AtomicReference<>();

        /** The script whose hash is in the words; null: there is none. */
        private @Nullable LuaScript script;

        /** The command and its arguments. Like the number of sends, changed only by the thread that sends it. */
        private byte[][] words;

        private int sends;
        private boolean goesElsewhere;

        /** Whether it was sent before without an answer, and may have run then. */
        boolean mayHaveRun;

        /** Creates a command of the present thread, which does its own I/O if it waits. */
        Command(long waitNanos, String name, @Nullable LuaScript script, byte[]... words) {
            this.name = name;
            this.script = script;
            this.words = words;
            long now = System.nanoTime();
            this.deadline = now + limit.toNanos();
            this.leaves = now + Math.min(waitNanos, limit.toNanos());
            Thread self = Thread.currentThread();
            caller.set(waitNanos > 0 && !self.isInterrupted() ? self : null);
        }

        byte[][] send() {
            mayHaveRun |= sends > 0;
            sends++;
            return words;
        }

        /** Replaces the hash, which the server does not know, by the script's text; false: the text was sent before. */
        private boolean toText() {
            LuaScript unknown = script;
            if (unknown == null) {
                return false;
            }
            script = null;
            words = ScriptRunner.toText(unknown, words);
            sends = 0;
            return true;
        }

        /** Permits one send over a new connection after a refusal before execution; false: it was permitted before. */
        private boolean mayGoElsewhere() {
            boolean first = !goesElsewhere;
            goesElsewhere = true;
            sends = 0;
            return first && !closed && maySend();
        }

        /** Returns whether it may be sent once more: the number of sends and the time are limited. */
        boolean maySend() {
            return sends < MAX_SENDS && !isOver() && System.nanoTime() - deadline < 0;
        }

        /** Does not count the last send, because its caller did not wait for the answer; but it may have run. */
        void notAwaited() {
            if (sends > 0) {
                mayHaveRun = true;
                sends--;
            }
        }

        /** Returns how long the caller still waits, at most the command's own time. */
        private long callerNanos() {
            return leaves - System.nanoTime();
        }

        private boolean isOver() {
            return outcome.get() != null;
        }

        /** Fails the command if its time is up; returns whether it is over. */
        private boolean expire() {
            if (System.nanoTime() - deadline >= 0) {
                answer(Failures.silence(name, limit));
            }
            return isOver();
        }

        /** Fails it, on the thread that sends it. The failure says so if no copy can have run. */
        private void fail(Throwable failure) {
            boolean mayRun = mayHaveRun || sends > 0;
            answer(mayRun ? Failures.at(name, failure) : Failures.notExecuted(name, failure));
        }

        /** Takes the reply of the server, or a {@link StoreException}; only the first one counts. */
        private void answer(@Nullable Object reply) {
            if (!outcome.compareAndSet(null, reply == null ? NOTHING : reply)) {
                return;
            }
            Thread waiting = caller.getAndSet(null);
            if (waiting == null) {
                completeElsewhere();
            } else if (waiting != Thread.currentThread()) {
                LockSupport.unpark(waiting);
            }
        }

        /** Completes the future on another thread, on the timer if none is available, or else on this thread. */
        private void completeElsewhere() {
            try {
                answering.execute(this::complete);
            } catch (RejectedExecutionException | Error noThread) {
                try {
                    timer.execute(this::complete);
                } catch (RejectedExecutionException afterClose) {
                    complete();
                }
            }
        }

        private void complete() {
            Object answer = outcome.get();
            if (answer instanceof StoreException failure) {
                result.completeExceptionally(failure);
            } else if (answer != null) {
                result.complete(answer);
            }
        }
    }

    /** The commands that are under way together, and the command of the leading caller; null: the helper leads. */
    private static final class Batch {

        final List<Command> commands = new ArrayList<>(1);
        private final @Nullable Command own;
        private final Thread leader = Thread.currentThread();
        int answered;

        /** When the commands were sent; 0: the leader is still collecting them. */
        volatile long begun;

        Batch(@Nullable Command own) {
            this.own = own;
        }

        /** Returns the command to which the next reply belongs; null: all are answered. */
        @Nullable
        Command next() {
            return answered < commands.size() ? commands.get(answered) : null;
        }

        /** Returns whether the leader's own time is up, in which case the server may be healthy. */
        boolean wasAbandoned() {
            return own != null && own.callerNanos() <= 0;
        }

        /** Returns whether the server takes so long that the connection should be cut. */
        boolean isStuck(long limitNanos) {
            long age = System.nanoTime() - begun;
            return own == null ? age > limitNanos : age > SOON_NANOS && (leader.isInterrupted() || wasAbandoned());
        }
    }

    /**
     * One connection of Jedis, used by one thread at a time; any thread may cut it, and then it is over: Jedis would
     * make a new socket by itself, without the password and the database, and forget what was written before.
     */
    static final class Link {

        private final Connection connection;
        private volatile @Nullable Socket socket;

        /** Whether it has given a reply that is no error: a server may refuse a client by its first reply. */
        boolean hasWorked;

        /** Connects, and throws the exceptions of Jedis. */
        Link(HostAndPort server, JedisClientConfig config) {
            JedisSocketFactory sockets = new DefaultJedisSocketFactory(server, config);
            this.connection = new Connection(
                    () -> {
                        if (socket != null) {
                            throw new JedisConnectionException("The connection was cut");
                        }
                        Socket made = sockets.createSocket();
                        socket = made;
                        return made;
                    },
                    config);
        }

        /** Writes a command into the buffer, which is sent before the next read. */
        void send(byte[][] words) {
            connection.sendCommand(() -> words[0], Arrays.copyOfRange(words, 1, words.length));
        }

        /** Returns the next reply, which may be an error of the server. */
        @Nullable
        Object read() {
            try {
                return connection.getOne();
            } catch (JedisDataException error) {
                return error;
            }
        }

        /** Closes the socket: a thread that reads or writes fails at once. */
        void cut() {
            IOUtils.closeQuietly(socket);
        }
    }
}
