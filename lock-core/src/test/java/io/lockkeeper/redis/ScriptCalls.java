/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.testing.LockRecord;
import io.lockkeeper.testing.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Scripts that are called without a driver, for one lock.
 *
 * @param server the server
 * @param key the lock's key
 * @param commands sends commands to the server
 */
record ScriptCalls(RedisServer server, String key, Commands commands) {

    /** Sends a command, and returns the reply. */
    interface Commands {
        @Nullable
        Object send(String... arguments);
    }

    static final String CHANNELS = "ch:";
    static final long TOMBSTONE = 30_000;
    static final long TIMEOUT = 2_000;
    private static final long LEASE = 20_000;
    private static final Map<List<Long>, LockScripts> SCRIPTS = new ConcurrentHashMap<>();

    /** Calls scripts over a connection for each. */
    ScriptCalls(RedisServer server, String key) {
        this(server, key, server::command);
    }

    /** Returns the scripts of a store that keeps places, and grants locks, for so long. */
    static LockScripts scripts(long aliveMillis, long grantMillis) {
        return SCRIPTS.computeIfAbsent(
                List.of(aliveMillis, grantMillis),
                times -> LockScripts.of(LEASE, TOMBSTONE, aliveMillis, grantMillis, RedisNames.bytes(CHANNELS)));
    }

    /** Returns what one asks for. */
    static String acquisition(String attempt, String mode, long lease, boolean waits, int tokens, long sent) {
        return String.format("%016d%016d", sent + 1_000 * TIMEOUT, sent)
                + mode
                + (waits ? 1 : 0)
                + attempt
                + String.format(" %05d %013d", tokens, lease);
    }

    /** Returns what one ends. */
    static String ending(String attempt, long lastToken) {
        return attempt + String.format("%016d", lastToken);
    }

    /** Returns a hold that is to be renewed. */
    static Object[] renewal(String attempt, long lease, boolean exact) {
        return new Object[] {attempt, String.format("%013d%d%016d", lease, exact ? 1 : 0, 0)};
    }

    /** 0 alive for one that does not wait. */
    @Nullable
    Object acquire(String attempt, String mode, long lease, long alive, long grant, int tokens, long sent) {
        return run(scripts(alive, grant).acquire(), acquisition(attempt, mode, lease, alive > 0, tokens, sent));
    }

    @Nullable
    Object release(String attempt, long lastToken, long keep) {
        LuaScript release = scripts(0, 0).release();
        return keep == 0 ? run(release, ending(attempt, lastToken)) : run(release, ending(attempt, lastToken), keep);
    }

    /** Returns what one hands over, behind all who wait. */
    static String handOver(String attempt, long lastToken, String next, long lease, int tokens, long sent) {
        return acquisition(next, "X", lease, true, tokens, sent) + attempt + String.format("%016d0", lastToken);
    }

    @Nullable
    Object handOver(String attempt, long lastToken, String next, long lease, int tokens) {
        return run(scripts(lease, lease).handOver(), handOver(attempt, lastToken, next, lease, tokens, micros()));
    }

    @Nullable
    Object renew(String attempt, long lease, boolean exact) {
        return run(scripts(0, 0).renew(), renewal(attempt, lease, exact));
    }

    /** Returns the reply as the server gives it, a text. */
    @Nullable
    Object run(LuaScript script, Object... arguments) {
        List<String> command = new ArrayList<>(List.of("EVAL", script.source(), "1", key));
        for (Object argument : arguments) {
            command.add(argument.toString());
        }
        return commands.send(command.toArray(String[]::new));
    }

    /** Returns the parts of the reply; scripts of version 1 give a list. */
    static List<String> texts(@Nullable Object reply) {
        if (reply instanceof List<?> parts) {
            return parts.stream().map(String::valueOf).toList();
        }
        return reply == null ? List.of() : List.of(reply.toString().split(" ", -1));
    }

    LockRecord record() {
        return Objects.requireNonNull(LockRecord.of(server, key));
    }

    /** Returns the server's time in us. */
    long micros() {
        List<?> time = (List<?>) Objects.requireNonNull(commands.send("TIME"));
        return Long.parseLong(time.get(0).toString()) * 1_000_000
                + Long.parseLong(time.get(1).toString());
    }
}
