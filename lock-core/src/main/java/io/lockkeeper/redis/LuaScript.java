/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.ClassPathResource;
import org.springframework.data.redis.core.script.DigestUtils;

/**
 * A script in Redis, most often over locks.
 *
 * <p>Internal: public for the packages of the drivers alone, and may change in any release.
 */
public final class LuaScript {

    private static final int HASH_LENGTH = 40;

    private final String name;
    private final String source;
    private volatile @Nullable String sha1;

    /** Creates a script; its hash is computed when it is needed, unless it is given or told. */
    LuaScript(String name, String source, @Nullable String sha1) {
        this.name = name;
        this.source = source;
        this.sha1 = sha1;
    }

    /** Returns the name of the file. */
    public String name() {
        return name;
    }

    /** Returns the text that Redis runs. */
    public String source() {
        return source;
    }

    /** Returns the hash under which Redis knows the script. */
    public String sha1() {
        String known = sha1;
        if (known == null) {
            known = DigestUtils.sha1DigestAsHex(source);
            sha1 = known;
        }
        return known;
    }

    /** Tells the hash that a server has given the script: to compute it is most of what a fresh JVM does here. */
    void loadedAs(String hash) {
        if (hash.length() == HASH_LENGTH) {
            sha1 = hash;
        }
    }

    /** Returns a script that stands in one file, and is no script over locks. */
    static LuaScript of(String name) {
        return new LuaScript(name, read(name), null);
    }

    /** Returns the text of a file without its comments, a third of it: the text is hashed, sent and kept. */
    public static String read(String name) {
        String text;
        try {
            byte[] bytes = new ClassPathResource(name + ".lua", LuaScript.class).getContentAsByteArray();
            text = new String(bytes, StandardCharsets.UTF_8);
        } catch (IOException missing) {
            throw new UncheckedIOException("A script of the locks is missing from the class path", missing);
        }
        return text.lines()
                .map(String::strip)
                .filter(line -> !line.isEmpty() && !line.startsWith("--"))
                .collect(Collectors.joining("\n"));
    }
}
