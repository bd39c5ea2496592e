/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A script of the store: the shared part {@code record.lua} and a file of its own. Those that every acquisition needs begin
 * with their usual cases, because the rest costs Redis two or three times as much.
 *
 * @param name the file's name
 * @param source the text that Redis runs
 * @param sha1 the hash under which Redis knows it
 * @param brief whether it may answer with one number, if it is told so by a last argument of 1
 */
record LuaScript(String name, String source, String sha1, boolean brief) {

    private static final byte[] BRIEFLY = RedisNames.bytes("1");

    static final LuaScript ACQUIRE = load("acquire", true, "acquire-usual");
    static final LuaScript RELEASE = load("release", true, "grant-next", "release-usual");
    static final LuaScript HANDOVER = load("handover", false, "grant-next", "handover-usual");
    static final LuaScript RENEW = load("renew", false, "renew-usual");
    static final LuaScript INSPECT = load("inspect");
    static final LuaScript REVOKE = load("revoke");
    static final LuaScript SCAN = load("scan");

    /** Needs nothing of the record. */
    static final LuaScript RIGHTS = of("rights", read("rights"), false);

    /** Is sent as its text: it is short. */
    static final LuaScript REPLICAS = of("replicas", read("replicas"), false);

    static final List<LuaScript> ALL = List.of(ACQUIRE, RELEASE, HANDOVER, RENEW, INSPECT, REVOKE);

    /** Returns arguments that ask for the brief reply where there is one: one number for the usual case. */
    byte[][] briefly(List<byte[]> arguments) {
        byte[][] all = arguments.toArray(new byte[arguments.size() + (brief ? 1 : 0)][]);
        if (brief) {
            all[arguments.size()] = BRIEFLY;
        }
        return all;
    }

    private static LuaScript load(String name) {
        return load(name, false);
    }

    /** Returns a script that begins with its usual cases, and goes on with what it shares with the others. */
    private static LuaScript load(String name, boolean brief, String... usualCases) {
        String source = Stream.concat(Stream.of(usualCases), Stream.of("record", name))
                .map(LuaScript::read)
                .collect(Collectors.joining("\n"));
        return of(name, source, brief);
    }

    private static LuaScript of(String name, String source, boolean brief) {
        return new LuaScript(name, source, sha1(source), brief);
    }

    private static String read(String name) {
        String file = name + ".lua";
        try (InputStream script = LuaScript.class.getResourceAsStream(file)) {
            if (script == null) {
                throw new IllegalStateException(
                        "The script io/lockkeeper/redis/" + file + " is missing from the class path");
            }
            return new String(script.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException failure) {
            throw new UncheckedIOException("The script " + file + " cannot be read", failure);
        }
    }

    private static String sha1(String source) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-1").digest(source.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(hash);
        } catch (NoSuchAlgorithmException absent) {
            throw new IllegalStateException("Every Java platform has SHA-1", absent);
        }
    }
}
