/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.replication;

import io.lockkeeper.redis.Failures;
import io.lockkeeper.redis.LuaScript;
import io.lockkeeper.redis.ScriptRunner;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs scripts whose writes must be on replicas, on the master of their keys. Scripts that are not of the protocol run where
 * all others do.
 *
 * <p>Internal: public for the package of the store alone, and may change in any release.
 */
public final class ReplicatedCommands implements ScriptRunner {

    /**
     * What a holder believes in. The end of a hold may be lost: it ends by itself then. But it goes the same way: while one
     * master takes the place of another, two connections may lead to different ones.
     */
    private static final Set<String> COUNTED = Set.of("acquire", "handover", "renew");

    private static final Pattern REDIRECTION = Pattern.compile("\\b(MOVED|ASK) \\d+ (\\S*:\\d+)");

    private final ReplicaAcks acks;
    private final Duration limit;
    private final ScheduledExecutorService timer;
    private final ScriptRunner general;
    final Masters masters;
    private final Map<String, ReplicatedMaster> servers = new ConcurrentHashMap<>();

    /** What is known of the masters. */
    public interface Masters {

        /** Returns the name of the server that has a key, which may have to be asked for. */
        CompletableFuture<String> masterOf(byte[] key);

        /** Connects to a server by its name. */
        DedicatedConnection connectionTo(String server);

        /** A server does not answer, or lacks replicas: another one may have its place. */
        void failed();
    }

    /**
     * Creates it without a connection yet.
     *
     * @param acks how many replicas must have what is written
     * @param limit after which an answer has failed
     * @param timer ends what lasts too long
     * @param general runs other scripts
     * @param masters what is known of them
     */
    public ReplicatedCommands(
            ReplicaAcks acks, Duration limit, ScheduledExecutorService timer, ScriptRunner general, Masters masters) {
        this.acks = acks;
        this.limit = limit;
        this.timer = timer;
        this.general = general;
        this.masters = masters;
    }

    @Override
    public CompletableFuture<List<Object>> eval(
            LuaScript script, List<byte[]> keys, List<byte[]> arguments, long waitNanos) {
        if (!script.isOverLocks()) {
            return general.eval(script, keys, arguments, waitNanos);
        }
        Command command =
                new Command(script, ScriptRunner.words(script, keys, arguments), COUNTED.contains(script.name()));
        return masters.masterOf(keys.get(0)).thenCompose(server -> {
            Failures.after(limit, timer, command.result, script.name(), () -> {});
            server(server).add(command);
            return command.result;
        });
    }

    private ReplicatedMaster server(String name) {
        return servers.computeIfAbsent(
                name, unknown -> new ReplicatedMaster(unknown, this, masters.connectionTo(unknown), acks));
    }

    /** A server has refused a command before it ran: it is sent again where that helps. */
    void refused(Command command, Throwable refusal, ReplicatedMaster server) {
        Matcher redirection = REDIRECTION.matcher(Failures.rootMessage(refusal));
        if (Failures.says(refusal, "NOSCRIPT")) {
            command.words = ScriptRunner.toText(command.script, command.words);
            if (command.maySend(refusal)) {
                server.add(command);
            }
        } else if (redirection.find()) {
            command.asking = redirection.group(1).equals("ASK");
            if (command.maySend(refusal)) {
                server(target(redirection.group(2), server.name)).add(command);
            }
            if (!command.asking) {
                masters.failed();
            }
        } else {
            masters.failed();
            command.fail(refusal);
        }
    }

    /** Returns the name of the server to which another one sends its callers; without a host it is on the same one. */
    private static String target(String told, String teller) {
        int colon = told.lastIndexOf(':');
        String host = told.substring(0, colon);
        boolean same = host.isEmpty() || host.equals("?");
        return same ? teller.substring(0, teller.lastIndexOf(':')) + told.substring(colon) : told;
    }

    @Override
    public void close() {
        servers.values().forEach(ReplicatedMaster::close);
    }

    /** A script that runs on a master; most count only when replicas have what they wrote. */
    static final class Command {

        private static final int MOST_SENDS = 8;

        final CompletableFuture<List<Object>> result = new CompletableFuture<>();
        final LuaScript script;

        /** Whether it counts only when replicas have what it wrote. */
        final boolean counts;

        /** What is sent: the script's hash, or its text once a server did not know that. */
        byte[][] words;

        /** Whether the slot of the keys is on its way to the server. */
        boolean asking;

        /** Whether a lost connection may have been there before the command was: a new one is worth a try. */
        boolean retried;

        private int sends;

        Command(LuaScript script, byte[][] words, boolean counts) {
            this.script = script;
            this.words = words;
            this.counts = counts;
        }

        /** Returns whether the command may be sent once more; where not, it has failed. */
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
}
