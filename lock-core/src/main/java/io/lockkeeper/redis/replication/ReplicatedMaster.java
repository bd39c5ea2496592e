/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.replication;

import io.lockkeeper.redis.Failures;
import io.lockkeeper.redis.LuaScript;
import io.lockkeeper.redis.RedisNames;
import io.lockkeeper.redis.replication.ReplicatedCommands.Command;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One connection to a master, over which commands go together with one WAIT behind them: those that come while the
 * replicas are waited for make up the next batch. So one slow replica costs each of them at most two waits.
 */
final class ReplicatedMaster {

    /** A master whose replicas are all gone still needs one: it may have been cut off. */
    private static final int LEAST_OF_ALL = 1;

    final String name;
    private final ReplicatedCommands commands;
    private final DedicatedConnection connection;
    private final ReplicaAcks acks;
    private final Queue<Command> waiting = new ConcurrentLinkedQueue<>();
    private final ExecutorService thread;

    /** The id of the master's history of writes, which begins anew with another master. */
    private String history = "";

    /** How many replicas must have a write: all that it had at once in this history, also those that are missing now. */
    private int wanted;

    ReplicatedMaster(String name, ReplicatedCommands commands, DedicatedConnection connection, ReplicaAcks acks) {
        this.name = name;
        this.commands = commands;
        this.connection = connection;
        this.acks = acks;
        this.wanted = acks.least();
        this.thread = DaemonThreads.limited(("lockkeeper-redis-acks " + name).strip(), 1);
    }

    void add(Command command) {
        waiting.add(command);
        try {
            thread.execute(this::work);
        } catch (RejectedExecutionException refusal) {
            command.fail(Failures.closed());
        }
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
        try {
            run(batch);
        } catch (RuntimeException | Error failure) {
            connection.disconnect();
            commands.masters.failed();
            batch.forEach(command -> connectionFailed(command, failure));
        }
    }

    private void connectionFailed(Command command, Throwable failure) {
        if (failure instanceof StoreException || command.retried) {
            command.fail(failure);
        } else if (command.maySend(failure)) {
            // The connection may have been lost long before. A script that ran already does no harm a second time.
            command.retried = true;
            add(command);
        }
    }

    private void run(List<Command> batch) {
        int awaited = batch.stream().anyMatch(command -> command.counts) ? wanted : 0;
        List<@Nullable Object> replies = send(batch, awaited);
        List<Answer> written = takeReplies(batch, replies);
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
            written.forEach(answer -> answer.command.result.complete(answer.reply));
        } else {
            tooFew(written, count);
        }
    }

    /** Answers those that need no replicas, and returns the answers of the others. */
    private List<Answer> takeReplies(List<Command> batch, List<@Nullable Object> replies) {
        int position = 0;
        List<Answer> written = new ArrayList<>();
        for (Command command : batch) {
            position += command.asking ? 1 : 0;
            Object reply = replies.get(position++);
            if (reply instanceof Throwable refusal && Failures.says(refusal, "READONLY")) {
                // It was the master once, and did not run the command.
                connection.disconnect();
                connectionFailed(command, refusal);
            } else if (reply instanceof Throwable refusal) {
                commands.refused(command, refusal, this);
            } else {
                List<Object> answer = command.script.toList(reply);
                if (command.retried && !answer.isEmpty() && Failures.isNotHeld(answer.get(0))) {
                    command.fail(Failures.mayHaveRunBefore());
                } else if (command.counts) {
                    written.add(new Answer(command, answer));
                } else {
                    command.result.complete(answer);
                }
            }
        }
        return written;
    }

    private void tooFew(List<Answer> written, long count) {
        // This may be a master that was cut off: those that know of another one are asked again.
        connection.disconnect();
        commands.masters.failed();
        StoreException few = new StoreException(
                "only " + count + " of " + wanted + " replicas had the lock within "
                        + acks.timeout().toMillis() + " ms",
                null);
        written.forEach(answer -> answer.command.fail(few));
    }

    private List<@Nullable Object> send(List<Command> batch, int awaited) {
        List<byte[][]> requests = new ArrayList<>();
        for (Command command : batch) {
            if (command.asking) {
                requests.add(bytes("ASKING"));
            }
            requests.add(command.words);
        }
        if (awaited > 0) {
            if (acks.all()) {
                requests.add(bytes("EVAL", LuaScript.REPLICAS.source(), "0"));
            }
            requests.add(waitFor(awaited));
        }
        return connection.exchange(requests);
    }

    private byte[][] waitFor(int count) {
        return bytes("WAIT", "" + count, "" + acks.timeout().toMillis());
    }

    private static byte[][] bytes(String... words) {
        return Stream.of(words).map(RedisNames::bytes).toArray(byte[][]::new);
    }

    private void count(@Nullable Object reply) {
        if (!(reply instanceof List<?> list)) {
            throw refused(
                    "Redis does not tell how many replicas it has: permit its user to run INFO (ACL +info), or set"
                            + " replica acks to a number. ",
                    reply);
        }
        String current = new String((byte[]) list.get(0), StandardCharsets.UTF_8);
        int online = Math.max(LEAST_OF_ALL, ((Long) list.get(1)).intValue());
        wanted = current.equals(history) ? Math.max(wanted, online) : online;
        history = current;
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

    void close() {
        thread.execute(connection::close);
        thread.shutdown();
    }

    private record Answer(Command command, List<Object> reply) {}
}
