/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.UnaryOperator;

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

    /** A key that is used again lives so much longer than it must, so that it need not get another end each time. */
    private static final long MOST_SPARE_MILLIS = 60_000;

    /** Returns the scripts of a store that keeps places for so long; client ids follow the channels' names. */
    static LockScripts of(long leaseMillis, long tombstoneMillis, long aliveMillis, long grantMillis, byte[] channels) {
        long lifeMillis = Math.min(leaseMillis, LATEST_MILLIS) + tombstoneMillis;
        long spareMillis = Math.min(leaseMillis, MOST_SPARE_MILLIS);
        String lives = new String(digits(lifeMillis), StandardCharsets.US_ASCII) + " ";
        Map<String, String> constants = Map.ofEntries(
                Map.entry("${lease}", quoted(digits(leaseMillis))),
                Map.entry("${grant}", quoted(digits(grantMillis))),
                Map.entry("${tombstone}", Long.toString(tombstoneMillis)),
                Map.entry("${alive}", Long.toString(aliveMillis)),
                Map.entry("${life}", "'" + lifeMillis + "'"),
                Map.entry("${longer}", "'" + (lifeMillis + spareMillis) + "'"),
                Map.entry("${spare}", Long.toString(spareMillis / 1_000)),
                Map.entry("${free}", "'3--" + lives + "'"),
                Map.entry("${held}", "'3H-" + lives + "'"),
                Map.entry("${lives}", "'" + lives + "'"),
                Map.entry("${channels}", quoted(channels)));
        // All scripts begin with it, and only it has constants.
        Map<String, String> read = new HashMap<>(Map.of("clock", replace(LuaScript.read("clock"), constants)));
        UnaryOperator<String> parts = part -> read.computeIfAbsent(part, LuaScript::read);
        return new LockScripts(
                LuaScript.join("acquire", parts, "acquire-fast", "key-life", "acquire-usual"),
                LuaScript.join("release", parts, "release-fast", "grant-next", "release-usual"),
                LuaScript.join("handover", parts, "handover-fast", "grant-next", "key-life", "handover-usual"),
                LuaScript.join("renew", parts, "key-life", "renew-fast"),
                LuaScript.join("inspect", parts),
                LuaScript.join("revoke", parts));
    }

    private static String replace(String source, Map<String, String> constants) {
        String replaced = source;
        for (Map.Entry<String, String> constant : constants.entrySet()) {
            replaced = replaced.replace(constant.getKey(), constant.getValue());
        }
        return replaced;
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
