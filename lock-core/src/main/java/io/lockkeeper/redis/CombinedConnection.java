/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.CallerThread;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One connection to a server for all threads. A caller who finds it free leads: it writes what waits, reads the replies
 * and goes; those who come meanwhile wait, and one of them leads next. So a lonely caller does its own input and output,
 * and a crowd shares system calls (flat combining: Hendler, Incze, Shavit and Tzafrir, SPAA 2010).
 *
 * <p>Where nobody waits a helper leads. It also makes the connection, which may take longer than a caller may wait, and
 * takes over after a failure. A timer ends what takes too long, and frees a leader who was interrupted, by cutting the
 * connection: what others have sent over it is sent again.
 */
final class CombinedConnection {

    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final AtomicIntegerFieldUpdater<CombinedConnection> LED =
            AtomicIntegerFieldUpdater.newUpdater(CombinedConnection.class, "led");

    /** A caller who must go sooner leaves the reading to the helper: a server that is well but slow must not cost connections. */
    private static final long SHORTEST_LEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final long shortestLead;

    private final Duration limit;
    private final Supplier<JedisLink> connect;
    private final ScheduledExecutorService timer;
    private final Executor answers;
    private final ConnectionOwner owner;
    private final ExecutorService helper;
    private final WaitingCommands waiting;
    private final AtomicBoolean watched = new AtomicBoolean();
    /** 1: there is a leader. That its turn ends is written without a call, for which there may be no room after an error. */
    private volatile int led;

    private volatile @Nullable JedisLink link;

    /** What an error left undone, where there was no room even to fail it: the next leader does that. */
    private volatile @Nullable List<PendingCommand> stranded;

    private volatile @Nullable JedisLink strandedLink;
    private volatile @Nullable Flight flight;
    private volatile boolean closed;

    /**
     * Creates a connection that is made when it is needed.
     *
     * @param name of the helper's thread
     * @param limit within which every command is answered, or fails
     * @param connect makes a connection
     * @param timer looks after commands that are under way
     * @param answers completes what nobody waits for on a thread of its own
     * @param owner told what may concern the other connections, too
     */
    CombinedConnection(
            String name,
            Duration limit,
            Supplier<JedisLink> connect,
            ScheduledExecutorService timer,
            Executor answers,
            ConnectionOwner owner) {
        this.limit = limit;
        this.shortestLead = Math.min(SHORTEST_LEAD_NANOS, limit.toNanos() / 2);
        this.connect = connect;
        this.timer = timer;
        this.answers = answers;
        this.owner = owner;
        this.waiting = new WaitingCommands(answers);
        this.helper = DaemonThreads.limited(name, 1);
    }

    /**
     * Sends a command; where the {@linkplain CallerThread caller waits}, the answer is there when this returns, or the time
     * of the caller is over.
     */
    CompletableFuture<@Nullable Object> call(Request request) {
        Thread self = Thread.currentThread();
        boolean waits = CallerThread.waits() && !self.isInterrupted();
        PendingCommand pending = new PendingCommand(request, limit, waits ? self : null, CallerThread.nanosLeft());
        waiting.add(pending);
        watch();
        if (closed) {
            waiting.refuse();
        } else if (waits) {
            await(pending);
        } else if (led == 0) {
            help();
        }
        return pending.result;
    }

    /** Returns whether there is a connection, as far as is known. */
    boolean isOpen() {
        return link != null;
    }

    /** Returns whether a caller would be served at once. */
    boolean isFree() {
        return led == 0 && waiting.isEmpty();
    }

    /** Returns whether something is under way, or waits to be; one that is not free may be about to be. */
    boolean isBusy() {
        return flight != null || !waiting.isEmpty();
    }

    /** Returns whether the one who has it waits for longer than a server needs that is well. */
    boolean isSlow() {
        Flight current = flight;
        return current != null && current.isOlderThan(LOOK_NANOS);
    }

    /** Lets the connection fail, and be made anew when it is needed: what was sent over it is sent again. */
    void cutIf(Predicate<JedisLink> concerned) {
        JedisLink open = link;
        if (open != null && concerned.test(open)) {
            open.cut();
        }
    }

    private void await(PendingCommand own) {
        while (!own.isOver()) {
            if (link == null || (own.callerNanos() < shortestLead && led == 0)) {
                help();
            } else if (own.callerNanos() >= shortestLead && LED.compareAndSet(this, 0, 1)) {
                lead(own);
            }
            if (!own.isOver() && own.callerNanos() > 0) {
                LockSupport.parkNanos(this, own.callerNanos());
            }
            own.expire(answers);
            if (!own.isOver()
                    && (own.callerNanos() <= 0 || Thread.currentThread().isInterrupted())) {
                own.leave();
                handOn();
                break;
            }
        }
        if (own.callerNanos() <= 0) {
            // It may have been this caller's turn to lead.
            handOn();
        }
        own.complete();
    }

    /** Does what is needed for some of the commands that wait. The caller leads, and does not any more afterwards. */
    private void lead(@Nullable PendingCommand own) {
        try {
            fly(own);
        } finally {
            led = 0;
            handOn();
        }
    }

    private void fly(@Nullable PendingCommand own) {
        takeUpStranded();
        List<PendingCommand> batch = waiting.take();
        int read = 0;
        try {
            JedisLink open = link;
            if (open == null) {
                if (own != null || batch.isEmpty()) {
                    batch.forEach(waiting::add);
                    return;
                }
                begin(batch, null);
                open = connect(batch);
                // That may have taken longer than they can wait.
                batch = batch.stream().filter(command -> !command.isOver()).toList();
            }
            begin(batch, own);
            batch.forEach(open::send);
            boolean demoted = false;
            while (read < batch.size()) {
                Object reply = open.read();
                if (read == batch.size() - 1) {
                    // Before the last caller is answered, who may be back at once: this one is as good as free.
                    flight = null;
                }
                demoted |= ServerError.isFromReplica(reply);
                answered(batch.get(read++), reply);
            }
            if (demoted) {
                leaveDemoted();
            }
        } catch (Throwable failure) {
            // Before any call: the next one to read from it would get the answer to another command.
            JedisLink open = link;
            link = null;
            strandedLink = open;
            stranded = batch;
            broken(own, batch.subList(read, batch.size()), failure, open);
            stranded = null;
            strandedLink = null;
        } finally {
            flight = null;
        }
    }

    /** Whatever has this address now, this connection leads to a server that was a master once. */
    private void leaveDemoted() {
        drop();
        owner.demoted();
    }

    private void begin(List<PendingCommand> batch, @Nullable PendingCommand own) {
        flight = new Flight(batch, own, own == null ? null : Thread.currentThread(), System.nanoTime());
        // A look that came just before this has seen nothing to look after.
        watch();
    }

    private JedisLink connect(List<PendingCommand> batch) {
        JedisLink made = connect.get();
        // Until now there was nothing to cut, however long it took.
        begin(batch, null);
        link = made;
        try {
            if (closed) {
                throw new StoreException("the lock store is closed", null);
            }
            owner.connected(this, made);
        } catch (RuntimeException failure) {
            // Like a connection that could not be made: what waits for it fails, and is not tried again at once.
            drop();
            throw failure;
        }
        return made;
    }

    private void answered(PendingCommand command, @Nullable Object reply) {
        if (ServerError.isUnknownScript(reply) && command.toText()) {
            // Refused before it ran, so it is safe to send again.
            waiting.add(command);
        } else if (reply instanceof RuntimeException error) {
            command.fail(error, answers);
        } else if (command.mayHaveRun() && ScriptReply.isNotHeld(reply)) {
            command.fail(ScriptReply.mayHaveRunBefore(), answers);
        } else {
            command.answer(reply, answers);
        }
    }

    /** The helper goes on: it makes a new connection, and has more patience than a caller. */
    private void broken(
            @Nullable PendingCommand own,
            List<PendingCommand> unanswered,
            Throwable failure,
            @Nullable JedisLink open) {
        if (own != null && own.callerNanos() <= 0) {
            // The server may be well: it was this caller who did not wait for it.
            unanswered.forEach(PendingCommand::notAwaited);
        }
        if (open != null) {
            open.cut();
        }
        for (PendingCommand command : unanswered) {
            if (open != null && command.maySend()) {
                waiting.add(command);
            } else if (!command.expire(answers)) {
                command.fail(failure, answers);
            }
        }
    }

    private void takeUpStranded() {
        List<PendingCommand> left = stranded;
        if (left != null) {
            JedisLink open = strandedLink;
            stranded = null;
            strandedLink = null;
            broken(null, left, new StoreException("an error came while Redis answered", null), open);
        }
    }

    private void drop() {
        JedisLink open = link;
        link = null;
        if (open != null) {
            open.cut();
        }
    }

    /** Lets somebody lead who waits. */
    private void handOn() {
        PendingCommand next = waiting.first();
        if (stranded != null) {
            help();
        } else if (next != null) {
            Thread caller = next.caller();
            if (caller != null && link != null) {
                LockSupport.unpark(caller);
            } else {
                help();
            }
        }
    }

    private void help() {
        try {
            helper.execute(() -> {
                if ((!waiting.isEmpty() || stranded != null) && LED.compareAndSet(this, 0, 1)) {
                    lead(null);
                }
            });
        } catch (RejectedExecutionException afterClose) {
            waiting.refuse();
        } catch (Error noThread) {
            // What waits is looked after until there is one.
            watch();
        }
    }

    private void watch() {
        if (!watched.get() && watched.compareAndSet(false, true)) {
            try {
                timer.schedule(this::look, LOOK_NANOS, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException afterClose) {
                closed = true;
            }
        }
    }

    private void look() {
        try {
            waiting.expire();
            Flight current = flight;
            if (current != null) {
                current.commands().forEach(command -> command.expire(answers));
                if (current.isStuck(limit.toNanos())) {
                    cutIf(open -> true);
                }
            }
            if (led == 0) {
                // The last leader may have had no room to hand on.
                handOn();
            }
        } finally {
            watched.set(false);
            // What has begun meanwhile may have taken this look for its own.
            if (flight != null || stranded != null || !waiting.isEmpty()) {
                watch();
            }
        }
    }

    /** Refuses further commands and cuts the connection. */
    void close() {
        closed = true;
        helper.shutdown();
        drop();
        waiting.refuse();
    }
}
