/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.List;
import java.util.Locale;
import java.util.StringJoiner;

/**
 * The scripts over locks. What is the same in all calls of a store stands in their text, because Redis takes time for
 * each argument. Those that every acquisition needs begin with fast paths, because the rest costs Redis two or three
 * times as much.
 */
record LockScripts(
        LuaScript acquire,
        LuaScript release,
        LuaScript handOver,
        LuaScript renew,
        LuaScript inspect,
        LuaScript revoke) {

    private static final long LATEST_MILLIS = 9_999_999_999_999L;

    /** Records tell the last nine digits of a key's end. */
    private static final long LATEST_LIFE_SECONDS = 500_000_000;

    /** A key that is used again lives up to this much longer than it must: its time to live is set less often. */
    private static final long MOST_SPARE_MILLIS = 60_000;

    /** Returns the scripts of a store with these times; a channel is the given prefix and a client id. */
    static LockScripts of(long leaseMillis, long tombstoneMillis, long aliveMillis, long grantMillis, byte[] channels) {
        long lifeMillis = Math.min(leaseMillis, LATEST_MILLIS) + tombstoneMillis;
        long longerMillis = lifeMillis + Math.min(leaseMillis, MOST_SPARE_MILLIS);
        // All scripts begin with it, and only it has constants.
        String clock = LuaScript.read("clock")
                .replace("${lease}", quoted(digits(leaseMillis)))
                .replace("${grant}", quoted(digits(grantMillis)))
                .replace("${tombstone}", Long.toString(tombstoneMillis))
                .replace("${alive}", Long.toString(aliveMillis))
                .replace("${life}", "'" + lifeMillis + "'")
                .replace("${longer}", "'" + longerMillis + "'")
                // In whole seconds, of which the moment has begun already.
                .replace("${needed}", Long.toString(Math.min((lifeMillis + 1_998) / 1_000, LATEST_LIFE_SECONDS + 1)))
                .replace("${given}", Long.toString(Math.min(longerMillis / 1_000, LATEST_LIFE_SECONDS)))
                .replace("${channels}", quoted(channels));
        String record = LuaScript.read("record");
        return new LockScripts(
                script(clock, record, "acquire", "acquire-fast", "key-life", "acquire-usual"),
                script(clock, record, "release", "release-fast", "grant-next", "release-usual"),
                script(clock, record, "handover", "handover-fast", "grant-next", "key-life", "handover-usual"),
                script(clock, record, "renew", "key-life", "renew-fast"),
                script(clock, record, "inspect"),
                script(clock, record, "revoke"));
    }

    private static LuaScript script(String clock, String record, String name, String... fastPaths) {
        StringJoiner source = new StringJoiner("\n").add(clock);
        for (String fastPath : fastPaths) {
            source.add(LuaScript.read(fastPath));
        }
        return new LuaScript(name, source.add(record).add(LuaScript.read(name)).toString(), null);
    }

    List<LuaScript> all() {
        return List.of(acquire, release, handOver, renew, inspect, revoke);
    }

    private static byte[] digits(long millis) {
        return RedisNames.bytes(String.format(Locale.ROOT, "%013d", Math.min(millis, LATEST_MILLIS)));
    }

    /** Returns bytes as a Lua text in which none of them can mean anything else. */
    private static String quoted(byte[] bytes) {
        StringBuilder text = new StringBuilder("'");
        for (byte each : bytes) {
            char c = (char) (each & 0xff);
            boolean plain = c < 128 && (Character.isLetterOrDigit(c) || c == ':' || c == '-' || c == '.');
            text.append(plain ? String.valueOf(c) : String.format(Locale.ROOT, "\\%03d", (int) c));
        }
        return text.append('\'').toString();
    }
}
