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
 * A script of the store: the parts that all have in common, and a file of its own. Those that every acquisition needs begin
 * with fast paths, because the rest costs Redis two or three times as much.
 *
 * <p>Internal: public for the packages of the drivers alone, and may change in any release.
 *
 * @param name the file's name
 * @param source the text that Redis runs
 * @param sha1 the hash under which Redis knows it
 */
public record LuaScript(String name, String source, String sha1) {

    public static final LuaScript ACQUIRE = load("acquire", "acquire-fast");
    static final LuaScript RELEASE = load("release", "grant-next", "release-fast");
    public static final LuaScript HANDOVER = load("handover", "grant-next", "handover-fast");
    public static final LuaScript RENEW = load("renew", "renew-fast");
    static final LuaScript INSPECT = load("inspect");
    static final LuaScript REVOKE = load("revoke");
    /** Need nothing of the record. */
    static final LuaScript SCAN = of("scan", read("scan"));

    static final LuaScript RIGHTS = of("rights", read("rights"));
    /** Is sent as its text: it is short. */
    public static final LuaScript REPLICAS = of("replicas", read("replicas"));

    public static final List<LuaScript> ALL = List.of(ACQUIRE, RELEASE, HANDOVER, RENEW, INSPECT, REVOKE);

    /** Returns a script that begins with its fast paths, and goes on with what it shares with the others. */
    private static LuaScript load(String name, String... fastPaths) {
        String source = Stream.of(Stream.of("clock"), Stream.of(fastPaths), Stream.of("record", name))
                .flatMap(part -> part)
                .map(LuaScript::read)
                .collect(Collectors.joining("\n"));
        return of(name, source);
    }

    private static LuaScript of(String name, String source) {
        return new LuaScript(name, source, sha1(source));
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
