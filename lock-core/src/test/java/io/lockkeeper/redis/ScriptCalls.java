/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.testing.LockRecord;
import io.lockkeeper.testing.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Scripts that are called without a driver, for one lock.
 *
 * @param server the server
 * @param key the lock's key
 */
record ScriptCalls(RedisServer server, String key) {

    static final String CHANNELS = "ch:";
    static final long TOMBSTONE = 30_000;
    static final long TIMEOUT = 2_000;
    private static final long LEASE = 20_000;

    /** Returns the last argument of all scripts. */
    static String settings(long aliveMillis, long grantMillis) {
        return String.format("%013d %013d %013d %013d ", LEASE, TOMBSTONE, aliveMillis, grantMillis) + CHANNELS;
    }

    /** Returns the arguments of one who asks; 0 for one that does not wait. */
    static List<Object> acquisition(
            String attempt, String mode, long lease, long alive, long grant, int tokens, long sent) {
        return List.of(
                attempt,
                mode,
                String.format("%013d", lease),
                String.format("%05d", tokens),
                String.format("%016d", sent),
                String.format("%016d", sent + 1_000 * TIMEOUT),
                alive > 0 ? 1 : 0,
                lease + TOMBSTONE,
                0,
                settings(alive, grant));
    }

    @Nullable
    Object acquire(String attempt, String mode, long lease, long alive, long grant, int tokens, long sent) {
        return run(
                LuaScript.ACQUIRE,
                acquisition(attempt, mode, lease, alive, grant, tokens, sent).toArray());
    }

    @Nullable
    Object release(String attempt, long lastToken, long keep) {
        return run(LuaScript.RELEASE, attempt, lastToken, keep, settings(0, 0));
    }

    @Nullable
    Object handOver(String attempt, long lastToken, String next, long lease, int tokens) {
        return run(
                LuaScript.HANDOVER,
                attempt,
                lastToken,
                next,
                "X",
                String.format("%013d", lease),
                String.format("%05d", tokens),
                String.format("%016d", micros() + 1_000 * TIMEOUT),
                0,
                lease + TOMBSTONE,
                settings(lease, lease));
    }

    @Nullable
    Object renew(String attempt, long lease, boolean exact) {
        return run(LuaScript.RENEW, attempt, String.format("%013d", lease), exact ? 1 : 0, 0, settings(0, 0));
    }

    /** Returns the reply as the server gives it, a List. */
    @Nullable
    Object run(LuaScript script, Object... arguments) {
        List<String> command = new ArrayList<>(List.of("EVAL", script.source(), "1", key));
        for (Object argument : arguments) {
            command.add(argument.toString());
        }
        return server.command(command.toArray(String[]::new));
    }

    /** Returns the reply as texts. */
    static List<String> texts(@Nullable Object reply) {
        return ((List<?>) Objects.requireNonNull(reply))
                .stream().map(String::valueOf).toList();
    }

    LockRecord record() {
        return Objects.requireNonNull(LockRecord.of(server, key));
    }

    /** Returns the server's time in us. */
    long micros() {
        List<?> time = (List<?>) Objects.requireNonNull(server.command("TIME"));
        return Long.parseLong(time.get(0).toString()) * 1_000_000
                + Long.parseLong(time.get(1).toString());
    }
}
